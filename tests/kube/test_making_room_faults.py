"""What goes wrong while room is made: a victim stays, the scheduler dies. No place is lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from phalanx.testing.control_plane import need_binaries
from phalanx.testing.objects import Manifest, list_all, pod_manifest
from tests.faults.mishaps import Gate, answer_lost, answered, never_sent
from tests.faults.proxy import Fault, FaultyProxy, Passage, binds
from tests.faults.rig import Rig
from tests.faults.verdict import binds as binds_of
from tests.kube.queue_cluster import EVENTS

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fresh_control_plane")]

POLICY = "extends: default\nactions: [{name: allocate}, {name: consolidate}, {name: reclaim}, {name: preempt}]\n"
BUDGET = "Cannot evict pod as it would violate the pod's disruption budget."


def evictions(passage: Passage) -> bool:
    return passage.request.path.endswith("/eviction")


def urgent(name: str, value: int) -> Manifest:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def gang(name: str, size: int, **options: str) -> list[Manifest]:
    return [
        pod_manifest(f"{name}-{number}", gang=name, minimum=size, requests={"nvidia.com/gpu": "1"}, **options)
        for number in range(size)
    ]


@pytest.fixture
def broken(tmp_path: Path) -> Iterator[tuple[Rig, FaultyProxy]]:
    """One node of two GPUs, taken by two unimportant pods, and a scheduler that reaches its server through a proxy."""
    need_binaries()
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    with Rig(nodes=1, gpus=2) as rig, FaultyProxy(rig.plane, rig.user("phalanx")) as proxy:
        rig.create([urgent("urgent", 1000)])
        rig.create([pod_manifest(f"low-{number}", requests={"nvidia.com/gpu": "1"}) for number in range(2)])
        rig.start("phalanx", proxy.kubeconfig, "--no-leader-election", f"--policy={policy}")
        rig.wait_bound(2)
        yield rig, proxy


def on_nodes(rig: Rig) -> list[str]:
    return sorted(pod["metadata"]["name"] for pod in rig.pods() if "nodeName" in pod["spec"])


def nominated(rig: Rig) -> dict[str, str]:
    named = {pod["metadata"]["name"]: pod["status"].get("nominatedNodeName") for pod in rig.pods()}
    return {name: node for name, node in named.items() if node}


def told(rig: Rig, reason: str) -> dict[str, str]:
    events = list_all(rig.plane.kubeconfig, EVENTS)
    return {one["regarding"]["name"]: one["note"] for one in events if one["reason"] == reason}


def test_after_a_refusal_nobody_else_leaves_and_the_gang_is_told_who_did(broken: tuple[Rig, FaultyProxy]) -> None:
    rig, proxy = broken
    first: list[str] = []

    def all_but_the_first(passage: Passage) -> bool:
        if evictions(passage) and not first:
            first.append(passage.request.path.split("/")[-2])
        return evictions(passage) and passage.request.path.split("/")[-2] not in first

    proxy.on(all_but_the_first, answered(429, BUDGET))
    rig.create(gang("high", 2, priorityClassName="urgent"))
    rig.wait(lambda: "high-0" in told(rig, "EvictionRefused"), "a word on the refusal")
    stays = ({"low-0", "low-1"} - set(first)).pop()
    note = f"default/{stays} was not evicted: 429 {BUDGET}; already evicted for it: default/{first[0]}"
    assert told(rig, "EvictionRefused") == {"high-0": note}
    rig.wait(lambda: nominated(rig) == {}, "the places to be given back")
    assert on_nodes(rig) == [stays]
    assert list(told(rig, "Preempted")) == first
    # It rests and tries again.
    proxy.calm()
    rig.wait(lambda: on_nodes(rig) == ["high-0", "high-1"], "the gang to have its places after all")
    rig.check()


@pytest.mark.parametrize(
    ("fault", "times"),
    [
        pytest.param(answer_lost, 2, id="the answer is lost"),
        pytest.param(never_sent, 2, id="the request is lost"),
        pytest.param(answered(429, "slow down", {"Retry-After": "1"}), 2, id="an overloaded server"),
        pytest.param(answered(503), 2, id="503"),
        pytest.param(answered(409), 2, id="409"),
    ],
)
def test_evictions_that_get_no_good_answer_are_asked_for_again(
    broken: tuple[Rig, FaultyProxy], fault: Fault, times: int
) -> None:
    rig, proxy = broken
    rule = proxy.on(evictions, fault, times=times)
    rig.create(gang("high", 2, priorityClassName="urgent"))
    rig.wait(lambda: on_nodes(rig) == ["high-0", "high-1"], "the gang to have its places")
    assert rule.met == times
    assert told(rig, "EvictionRefused") == {}
    rig.check()


def test_a_place_goes_to_whom_it_was_freed_for_though_the_scheduler_died_in_between(
    broken: tuple[Rig, FaultyProxy],
) -> None:
    """Meanwhile comes a pod that would go first, were the place not kept; it may evict nobody."""
    rig, proxy = broken
    rig.create([urgent("most-urgent", 2000) | {"preemptionPolicy": "Never"}])
    die_between_eviction_and_bind(rig, proxy)
    rig.wait(lambda: len(bind_order(rig)) >= 4, "two more binds")
    assert sorted(bind_order(rig)[:2]) == ["low-0", "low-1"]
    assert sorted(bind_order(rig)[2:4]) == ["high-0", "high-1"]


def test_whoever_could_evict_the_beneficiary_takes_its_place_over_though_the_scheduler_died_in_between(
    broken: tuple[Rig, FaultyProxy],
) -> None:
    """The place is not bound first and freed again later: the nomination is released, and its status cleared."""
    rig, proxy = broken
    rig.create([urgent("most-urgent", 2000)])
    die_between_eviction_and_bind(rig, proxy)
    rig.wait(lambda: on_nodes(rig) == ["newcomer"], "the newcomer to have its place")
    rig.wait(lambda: nominated(rig) == {}, "the nominations to be released")
    assert bind_order(rig)[2:] == ["newcomer"]
    # Events are written after what they tell of.
    rig.wait(lambda: told(rig, "NominationGivenUp").keys() == {"high-0"}, "a word on the nomination")


def die_between_eviction_and_bind(rig: Rig, proxy: FaultyProxy) -> None:
    """Have room made for a gang and its binds lost; a most urgent pod comes before the next scheduler starts."""
    gate = Gate()
    rule = proxy.on(binds, gate)
    rig.create(gang("high", 2, priorityClassName="urgent"))
    rig.wait(lambda: rule.met >= 2, "both victims to be gone and the binds to be on their way")
    rig.processes.kill("phalanx")
    assert nominated(rig) == {"high-0": "n0", "high-1": "n0"}
    assert on_nodes(rig) == []
    rig.create([pod_manifest("newcomer", requests={"nvidia.com/gpu": "1"}, priorityClassName="most-urgent")])
    gate.lose()
    proxy.calm()
    rig.processes.restart("phalanx")


def test_a_scheduler_that_died_before_all_victims_were_asked_goes_on(broken: tuple[Rig, FaultyProxy]) -> None:
    rig, proxy = broken
    gate = Gate(first=1)
    proxy.on(evictions, gate)
    rig.create(gang("high", 2, priorityClassName="urgent"))
    rig.wait(lambda: len(on_nodes(rig)) == 1, "one victim to be gone")
    rig.processes.kill("phalanx")
    gate.lose()
    proxy.calm()
    rig.processes.restart("phalanx")
    rig.wait(lambda: on_nodes(rig) == ["high-0", "high-1"], "the gang to have its places")
    rig.check()


def bind_order(rig: Rig) -> list[str]:
    """Return the pods in the order in which the server bound them."""
    return [one["pod"].partition("/")[2] for one in binds_of(rig.audit) if one["code"] == 201]
