"""Whatever breaks: nothing is bound twice, no gang stays split, the books are true, and scheduling goes on.

The long form is `make chaos`: more ROUNDS, and every figure printed.
"""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count

import pytest

from phalanx.testing.control_plane import need_binaries
from phalanx.testing.objects import Manifest, gang_manifests, pod_manifest
from tests.faults.mishaps import (
    EXPIRED,
    Gate,
    answer_lost,
    answered,
    changed,
    ending_after,
    late,
    muted,
    never_sent,
    silence,
    stale_again,
    twice,
)
from tests.faults.proxy import Fault, FaultyProxy, Match, binds, watches
from tests.faults.rig import RENEW, Rig, figures
from tests.faults.verdict import binds as binds_of
from tests.faults.verdict import split_gangs

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fresh_control_plane")]

ROUNDS = int(os.environ.get("ROUNDS", "5"))
SIZES = (12, 8, 8, 4)
PODS = sum(SIZES)
_NUMBERS = count()


@pytest.fixture(scope="module")
def broken_wire() -> Iterator[tuple[Rig, FaultyProxy]]:
    """A scheduler that reaches its server through a proxy only."""
    need_binaries()
    with Rig(nodes=6) as rig, FaultyProxy(rig.plane, rig.user("phalanx")) as proxy:
        rig.start("phalanx", proxy.kubeconfig)
        rig.delete(bind_all(rig, gangs()))
        yield rig, proxy


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(answer_lost, id="the answer is lost"),
        pytest.param(never_sent, id="the request is lost"),
        pytest.param(answered(409), id="409"),
        pytest.param(answered(429, "slow down", {"Retry-After": "1"}), id="429"),
        pytest.param(answered(500), id="500"),
        pytest.param(answered(503), id="503"),
        pytest.param(answered(504), id="504"),
    ],
)
def test_binds_that_get_no_good_answer_land_once(broken_wire: tuple[Rig, FaultyProxy], fault: Fault) -> None:
    rig, proxy = broken_wire
    rule = proxy.on(binds, fault, times=PODS // 2)
    pods = bind_all(rig, gangs())
    proxy.calm()

    assert rule.met == PODS // 2
    rig.check()
    rig.delete(pods)


@pytest.mark.parametrize(
    ("match", "fault"),
    [
        pytest.param(watches("pods"), changed(ending_after(3)), id="the stream ends"),
        pytest.param(watches("pods"), changed(ending_after(3, [EXPIRED])), id="410 as an event"),
        pytest.param(watches("pods"), answered(410), id="410 as a status"),
        pytest.param(watches("pods"), answered(503), id="503"),
        pytest.param(watches("pods"), changed(twice), id="every event twice"),
        pytest.param(watches("pods"), changed(stale_again), id="the past again"),
        pytest.param(watches("nodes"), changed(ending_after(0, [EXPIRED])), id="410 of nodes"),
    ],
)
def test_a_watch_that_misbehaves_loses_nothing(
    broken_wire: tuple[Rig, FaultyProxy], match: Match, fault: Fault
) -> None:
    rig, proxy = broken_wire
    rule = proxy.on(match, fault, times=4)
    rig.plane.kubectl("label", "node", "n0", f"test={next(_NUMBERS)}", "--overwrite")
    proxy.cut_all()
    pods = bind_all(rig, gangs())
    rig.delete(pods[:12])
    pods = pods[12:] + bind_all(rig, gangs((4, 8)), more=PODS - 12)
    proxy.calm()

    assert rule.met > 0
    rig.check()
    rig.delete(pods)


@pytest.mark.parametrize(
    "fault", [pytest.param(silence, id="no answer at all"), pytest.param(changed(muted), id="no event ever")]
)
def test_a_silent_watch_is_noticed(fault: Fault) -> None:
    """The connection stands, and nothing comes: pods that nobody told of are bound all the same."""
    with Rig(nodes=6) as rig, FaultyProxy(rig.plane, rig.user("phalanx")) as proxy:
        rig.start("phalanx", proxy.kubeconfig, stall=3.0)
        rig.delete(bind_all(rig, gangs()))
        rule = proxy.on(watches("pods"), fault, times=1)
        proxy.cut_all()
        rig.wait(lambda: rule.met == 1, "a watch that falls silent")
        bind_all(rig, gangs())
        rig.check()


def test_decisions_do_not_wait_for_binds(broken_wire: tuple[Rig, FaultyProxy]) -> None:
    """While not a single bind is answered, gang after gang is decided as it arrives."""
    rig, proxy = broken_wire
    gate = Gate()
    rule = proxy.on(binds, gate)
    pods, _ = one_after_the_other(rig, SIZES)

    assert rig.bound() == 0
    gate.open()
    rig.wait_bound(PODS)
    assert rule.met >= PODS
    proxy.calm()
    rig.check()
    rig.delete(pods)


def test_the_cadence_of_decisions_is_the_same_with_every_bind_two_seconds_late(
    broken_wire: tuple[Rig, FaultyProxy],
) -> None:
    rig, proxy = broken_wire
    pods, at_once = one_after_the_other(rig, (4,) * 8)
    rig.wait_bound(32)
    rig.delete(pods)

    proxy.on(binds, late(2.0))
    pods, slow = one_after_the_other(rig, (4,) * 8)
    # Had a decision waited for the binds before it, all gangs but the last would have their nodes by now.
    assert rig.bound() < 28
    rig.wait_bound(32)
    proxy.calm()
    rig.check()
    rig.delete(pods)
    figures("from a gang's arrival to its decision, binds at once:", at_once)
    figures("from a gang's arrival to its decision, binds 2 s late:", slow)


def test_a_scheduler_killed_at_any_moment_leaves_no_split_gang() -> None:
    """The binds that it had sent are lost, or arrive only when the next one is at work."""
    seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(10**6))
    chance = random.Random(seed)  # noqa: S311 (chance, not secrecy)
    recovered, split = [], 0
    with Rig(nodes=6) as rig, FaultyProxy(rig.plane, rig.user("phalanx")) as proxy:
        rig.start("phalanx", proxy.kubeconfig)
        for _ in range(ROUNDS):
            landed = chance.randrange(PODS)
            gate = Gate(first=landed)
            proxy.on(binds, gate)
            pods = rig.create(gangs())
            rig.wait(lambda landed=landed: rig.bound() == landed, f"{landed} binds")  # type: ignore[misc]
            rig.processes.kill("phalanx")
            killed = time.monotonic()
            split += bool(split_gangs(rig.pods()))
            proxy.calm()
            rig.processes.restart("phalanx")
            if chance.random() < 0.5:
                gate.lose()
            else:
                time.sleep(chance.uniform(0, 4))
                gate.open()
            rig.wait_bound(PODS)
            recovered.append(time.monotonic() - killed)
            rig.check()
            rig.delete(pods)
    figures(f"scheduler killed {ROUNDS} times (seed {seed}), {split} inside a gang: all whole after", recovered)


def test_a_gang_that_was_split_by_a_kill_and_lost_its_room_steps_back() -> None:
    with Rig(nodes=2) as rig, FaultyProxy(rig.plane, rig.user("phalanx")) as proxy:
        gate = Gate(first=5)
        proxy.on(binds, gate)
        rig.start("phalanx", proxy.kubeconfig, "--no-leader-election", "--wave-deadline=2")
        rig.create(gangs([12]))
        rig.wait_bound(5)
        rig.processes.kill("phalanx")
        gate.lose()
        taken = Counter(pod["spec"].get("nodeName") for pod in rig.pods())
        for node in ("n0", "n1"):
            rig.create(pod_manifest(f"{node}-{n}", scheduler="other", node=node) for n in range(8 - taken[node]))
        assert split_gangs(rig.pods()) != []
        proxy.calm()
        rig.processes.restart("phalanx")
        rig.wait(lambda: not split_gangs(rig.pods()), "the gang to step back")

        assert rig.bound() == 11
        rig.check()


def test_binding_goes_on_after_the_api_server_was_killed() -> None:
    with Rig(nodes=6) as rig, FaultyProxy(rig.plane, rig.user("phalanx")) as proxy:
        rig.start("phalanx", proxy.kubeconfig)
        gate = Gate(first=10)
        proxy.on(binds, gate)
        rig.create(gangs())
        rig.wait_bound(10)
        rig.plane.kill("kube-apiserver")
        gate.open()
        rig.plane.restart("kube-apiserver")
        figures("API server killed: from its return to the last bind", [rig.wait_bound(PODS)])
        rig.check()


def test_binds_that_time_out_and_land_are_not_done_again() -> None:
    """The store stands still: the server gives up and answers 504; what it had passed on lands later."""
    with Rig(nodes=6) as rig, FaultyProxy(rig.plane, rig.user("phalanx")) as proxy:
        rig.start("phalanx", proxy.kubeconfig, "--no-leader-election")
        gate = Gate()
        rule = proxy.on(binds, gate)
        rig.create(gangs())
        rig.wait(lambda: rule.met == PODS, "all binds at the gate")
        rig.plane.pause("etcd")
        gate.open()
        rig.wait(lambda: any(bind["code"] == 504 for bind in binds_of(rig.audit)), "a bind that timed out")
        rig.plane.resume("etcd")
        figures("store paused until binds timed out: from its return to the last bind", [rig.wait_bound(PODS)])
        rig.check()


def test_a_stopped_leader_is_replaced_and_writes_nothing_when_it_wakes_up() -> None:
    with Rig(nodes=6) as rig, FaultyProxy(rig.plane, rig.user("first")) as proxy:
        rig.start("first", proxy.kubeconfig)
        rig.delete(bind_all(rig, gangs()))
        rig.start("second")
        gate = Gate(first=10)
        proxy.on(binds, gate)
        pods = rig.create(gangs())
        rig.wait_bound(10)
        rig.processes.pause("first")
        took = rig.wait_bound(PODS)
        # What the first one had sent arrives late, and lands on nothing.
        gate.open()
        rig.processes.resume("first")
        rig.wait(lambda: "no-longer-leading" in rig.processes.log("first"), "the first one to notice")
        rig.delete(pods)
        bind_all(rig, gangs())

        rig.check("first", "second")
        last = binds_of(rig.audit)[-PODS:]
        assert {bind["user"] for bind in last} == {"second"}
        figures("leader stopped: all bound by the other after", [took])


def test_a_scheduler_that_slept_goes_on_with_what_it_had_decided() -> None:
    """It lost the lease to nobody: what it had not sent yet must be decided anew."""
    with Rig(nodes=12) as rig, FaultyProxy(rig.plane, rig.user("phalanx")) as proxy:
        rig.start("phalanx", proxy.kubeconfig)
        rig.delete(bind_all(rig, gangs()))
        gate = Gate()
        proxy.on(binds, gate)
        rig.create(gangs((12, 12, 12, 12, 12, 12, 12)))
        rig.wait(lambda: rig.processes.log("phalanx").count(" decided ") >= 11, "decisions")
        rig.processes.pause("phalanx")
        time.sleep(RENEW + 1.0)
        rig.processes.resume("phalanx")
        rig.wait(lambda: "no-longer-leading" in rig.processes.log("phalanx"), "it to notice")
        gate.open()
        rig.wait_bound(84)
        rig.check()


def test_a_leader_that_is_told_to_go_hands_over() -> None:
    with Rig(nodes=6) as rig:
        rig.start("first")
        rig.delete(bind_all(rig, gangs()))
        rig.start("second")
        rig.wait(lambda: "following" in rig.processes.log("second"), "the second one to be there")
        os.kill(rig.processes.pids["first"], signal.SIGTERM)
        figures("leader told to go: all bound by the other after", [timed_bind(rig)])
        rig.processes.kill("first")
        rig.check("second")


def gangs(sizes: Sequence[int] = SIZES) -> list[Manifest]:
    """Return the pods of gangs with names that were never used before."""
    return [pod for size in sizes for pod in gang_manifests(f"g{next(_NUMBERS)}", size)]


def bind_all(rig: Rig, pods: list[Manifest], more: int = 0) -> list[Manifest]:
    """Create pods and wait until they, and so many others, have a node."""
    rig.create(pods)
    rig.wait_bound(len(pods) + more)
    return pods


def one_after_the_other(rig: Rig, sizes: Sequence[int]) -> tuple[list[Manifest], list[float]]:
    """Create each gang when the one before is decided; return the pods and how long each decision took."""
    pods: list[Manifest] = []
    seconds = []
    for size in sizes:
        made = rig.create(gangs([size]))
        gang = made[0]["metadata"]["annotations"]["phalanx.dev/gang"]
        seconds.append(rig.wait(lambda gang=gang: f"gang=default/{gang} " in decided(rig), f"a decision on {gang}"))  # type: ignore[misc]
        pods += made
    return pods, seconds


def timed_bind(rig: Rig) -> float:
    start = time.monotonic()
    bind_all(rig, gangs())
    return time.monotonic() - start


def decided(rig: Rig) -> str:
    return "\n".join(line for line in rig.processes.log("phalanx").splitlines() if " decided " in line)
