"""Volcano's objects on a real API server with its own definitions: phases, counts and states where its users look."""

from collections.abc import Iterator
from typing import Any

import pytest

from phalanx.kube.local.nodes import node_manifest
from phalanx.model.axis import GPU
from phalanx.testing.objects import Manifest, delete_all, list_all, pod_manifest
from phalanx.testing.running import eventually, places
from tests.kube.queue_cluster import QueueCluster
from tests.kube.volcano_modules import definitions

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fresh_control_plane")]

API = "/apis/scheduling.volcano.sh/v1beta1"
QUEUES, GROUPS = "scheduling.volcano.sh_queues", "scheduling.volcano.sh_podgroups"
HYPER_NODES = "topology.volcano.sh_hypernodes"
NAMES = (
    "crd/queues.scheduling.volcano.sh", "crd/podgroups.scheduling.volcano.sh", "crd/hypernodes.topology.volcano.sh",
)  # fmt: skip


@pytest.fixture(name="volcano")
def volcano_cluster(cluster: QueueCluster) -> Iterator[QueueCluster]:
    """A cluster with Volcano's definitions and nothing else of it."""
    files = [word for file in definitions(QUEUES, GROUPS, HYPER_NODES) for word in ("-f", str(file))]
    cluster.plane.kubectl("apply", "--server-side", *files)
    cluster.plane.kubectl("wait", "--for=condition=Established", *NAMES)
    yield cluster
    cluster.plane.kubectl("delete", *NAMES)


def queue(name: str, **spec: Any) -> Manifest:
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def group(name: str, minimum: int, **spec: Any) -> Manifest:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"}, "spec": {"minMember": minimum, **spec},
    }  # fmt: skip


def pods(of: str, count: int) -> list[Manifest]:
    made = [pod_manifest(f"{of}-{number}", scheduler="volcano") for number in range(count)]
    for pod in made:
        pod["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": of}
    return made


def status(cluster: QueueCluster, plural: str, name: str) -> dict[str, Any]:
    where = "/namespaces/default" if plural == "podgroups" else ""
    found = list_all(cluster.plane.kubeconfig, f"{API}{where}/{plural}")
    return next((one.get("status") or {} for one in found if one["metadata"]["name"] == name), {})


def becomes(cluster: QueueCluster, name: str, **expected: Any) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        said = status(cluster, "podgroups", name)
        return said if all(said.get(key) == value for key, value in expected.items()) else None

    found: dict[str, Any] = eventually(
        f"{name} is {expected}; now {status(cluster, 'podgroups', name)}", look, cluster.log
    )
    return found


def test_a_group_is_let_in_starts_whole_and_its_phases_and_counts_are_told(volcano: QueueCluster) -> None:
    """Volcano's controllers make a Job's pods when its group is Inqueue: nobody else may have to say so."""
    volcano.make(group("train", 2), group("big", 9))
    volcano.run("--scheduler-name", "volcano")
    becomes(volcano, "train", phase="Inqueue")
    volcano.make(pods("train", 2), pods("big", 9))
    volcano.bound("train")
    started = becomes(volcano, "train", phase="Running")
    assert [(one["type"], one["status"]) for one in started["conditions"]] == [("Scheduled", "True")]
    waiting = eventually(
        "big says why", lambda: becomes(volcano, "big", phase="Inqueue").get("conditions"), volcano.log
    )
    (condition,) = waiting
    assert (condition["type"], condition["reason"]) == ("Unschedulable", "NotEnoughResources")
    assert condition["message"].startswith("9/9 tasks in gang unschedulable: ")
    for number in range(2):
        phase = '{"status":{"phase":"Running"}}'
        volcano.plane.kubectl("patch", "pod", f"train-{number}", "--subresource=status", "--type=merge", "-p", phase)
    becomes(volcano, "train", phase="Running", running=2)
    for number in range(2):
        phase = '{"status":{"phase":"Succeeded"}}'
        volcano.plane.kubectl("patch", "pod", f"train-{number}", "--subresource=status", "--type=merge", "-p", phase)
    becomes(volcano, "train", phase="Completed", succeeded=2)


def test_queues_are_opened_bound_their_work_and_a_closed_one_takes_none(volcano: QueueCluster) -> None:
    volcano.make(queue("team", capability={GPU: 2}), queue("shut"), group("in", 2, queue="team"))
    volcano.plane.kubectl(
        "patch", "queues.scheduling.volcano.sh", "shut", "--subresource=status", "--type=merge",
        "-p", '{"status":{"state":"Closed"}}',
    )  # fmt: skip
    volcano.make(pods("in", 2), group("over", 1, queue="team"), pods("over", 1), group("late", 1, queue="shut"))
    volcano.run("--scheduler-name", "volcano")
    volcano.bound("in")
    limit = f"queue team has 2 of its limit of 2 {GPU}: 1 asked, 1 too many"
    assert volcano.told("over-0") == ("Held", limit)
    becomes(volcano, "late", phase="Pending")
    volcano.make(pods("late", 1))
    closed = "Queue shut: status.state: 'Closed', and only an Open queue takes new work"
    assert volcano.told("late-0") == ("Held", closed)

    def told() -> bool:
        said = status(volcano, "queues", "team")
        return said.get("state") == "Open" and said.get("allocated", {}).get(GPU) == "2"

    eventually("the queue is open and says what it has", told, volcano.log)
    assert status(volcano, "queues", "shut")["state"] == "Closed"


def hyper_node(name: str, tier: int, *members: Manifest) -> Manifest:
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": name},
        "spec": {"tier": tier, "members": list(members)},
    }  # fmt: skip


def member(kind: str = "Node", **selector: Any) -> Manifest:
    return {"type": kind, "selector": selector}


def test_a_group_stays_in_one_hyper_node_and_one_that_cannot_be_read_stops_nobody(volcano: QueueCluster) -> None:
    """The tree is by names, patterns and labels; nodes come after the HyperNodes that choose them."""
    volcano.make(
        hyper_node("s0", 1, member(exactMatch={"name": "h1"}), member(exactMatch={"name": "h2"})),
        hyper_node("s1", 1, member(regexMatch={"pattern": "^h[34]$"})),
        hyper_node("s2", 1, member(labelMatch={"matchLabels": {"leaf": "x"}})),
        hyper_node("odd", 1, member(regexMatch={"pattern": "h("})),
        hyper_node("top", 2, *(member("HyperNode", exactMatch={"name": name}) for name in ("s0", "s1", "gone"))),
        [node_manifest(f"h{at}", gpus=1) for at in range(1, 5)],
    )  # fmt: skip
    try:
        near = {"mode": "hard", "highestTierAllowed": 1}
        volcano.make(group("one", 2, networkTopology=near), group("two", 2, networkTopology=near))
        volcano.make(group("none", 5, networkTopology={"mode": "hard", "highestTierAllowed": 2}))
        volcano.make(pods("one", 2), pods("two", 2), pods("none", 5))
        scheduler = volcano.run("--scheduler-name", "volcano")
        volcano.bound("one", "two")
        homes = [sorted(places(volcano.plane, name).values()) for name in ("one", "two")]
        assert sorted(homes) == [["h1", "h2"], ["h3", "h4"]]
        why = eventually("the third says why", lambda: volcano.told("none-0")[1], volcano.log)
        assert why.startswith("5 needed in one HyperNode of tier 2: HyperNode of tier 2 top has room for ")
        log = scheduler.log.read_text()
        assert "HyperNode.topology.volcano.sh odd" in log
        assert "spec.members[0].selector.regexMatch.pattern" in log
        assert "there is no HyperNode.topology.volcano.sh gone" in log
    finally:
        delete_all(volcano.plane.kubeconfig, [node_manifest(f"h{at}", gpus=1) for at in range(1, 5)])


def test_beside_volcanos_own_scheduler_its_groups_and_queues_are_left_to_it(volcano: QueueCluster) -> None:
    """Under our own name we tell of groups with pods of ours alone."""
    mine = pods("mine", 1)
    mine[0]["spec"]["schedulerName"] = "phalanx"
    volcano.make(queue("team"), group("theirs", 1), group("mine", 1), mine, pods("theirs", 1))
    volcano.run()
    becomes(volcano, "mine", phase="Running")
    assert status(volcano, "podgroups", "theirs") == {}
    assert status(volcano, "queues", "team") == {}
