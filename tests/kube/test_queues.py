"""Queues on a real API server: what it refuses, who is admitted, and what a Queue says of itself.

The scheduler has exactly the printed rights, and the definition of the Queue is the printed one.
"""

import json
import time
from typing import Any

import pytest

from phalanx.kube.local import ControlPlane, LocalError
from phalanx.model.axis import GPU
from phalanx.testing.objects import list_all
from phalanx.testing.running import places
from tests.kube.queue_cluster import EVENTS, PODS, QUEUES, QueueCluster, gang, queue

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fresh_control_plane")]


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({"resources": {GPU: {"quota": -1}}}, r"spec\.resources\[nvidia\.com/gpu\]\.quota: .*from 0 to 2\^53"),
        ({"resources": {GPU: {"quota": 9, "limit": 8}}}, r"\]\.quota: .*quota 9: allowed is at most the limit, .* 8"),
        ({"resources": {GPU: {"quota": "unlimited", "limit": 8}}}, r"\]\.quota: .*at most the limit, which is 8"),
        ({"resources": {GPU: {"limit": "some"}}}, r"\]\.limit: .*limit: allowed is a Kubernetes quantity"),
        (
            {"resources": {GPU: {"weight": -1}}},
            r"spec\.resources\.nvidia\.com/gpu\.weight: .*greater than or equal to 0",
        ),
        ({"resources": {GPU: {"qouta": 1}}}, r'unknown field "spec\.resources\.nvidia\.com/gpu\.qouta"'),
        ({"parent": "bad"}, r"spec\.parent: .*a queue cannot be its own parent"),
        ({"placement": "scatter"}, r'spec\.placement: .*supported values: "pack", "spread"'),
        ({"priority": 2**31}, r"spec\.priority: "),
        ({"preemptMinRuntime": "soon"}, r"spec\.preemptMinRuntime: "),
        ({"namespaces": []}, r"spec\.namespaces: "),
    ],
)
def test_the_api_server_refuses_what_cannot_be_and_names_the_field(
    queue_plane: ControlPlane, spec: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(LocalError, match=complaint):
        queue_plane.kubectl("create", "-f", "-", stdin=json.dumps(queue("bad", None, **spec)))
    assert list_all(queue_plane.kubeconfig, QUEUES) == []


def test_two_teams_are_admitted_by_limit_and_quota_and_may_borrow_what_is_idle(cluster: QueueCluster) -> None:
    cluster.make(
        queue("research", None),
        queue("team-a", {"quota": 4, "limit": 4}, parent="research"),
        queue("team-b", {"quota": 2}, parent="research"),
        gang("a1", 3, "team-a"),
        gang("a2", 2, "team-a"),
        gang("b-fixed", 3, "team-b", fixed=True),
        gang("b-borrows", 4, "team-b"),
    )
    cluster.run()

    cluster.bound("a1", "b-borrows")
    limit = "queue team-a has 3 of its limit of 4 nvidia.com/gpu: 2 asked, 1 too many"
    quota = "queue team-b has 0 that is not preemptible, of its quota of 2 nvidia.com/gpu"
    assert cluster.told("a2-0") == ("Held", limit)
    assert cluster.told("b-fixed-0") == ("Held", f"{quota}: 3 asked, 1 too many")
    settled = {
        name: cluster.status(name, lambda status: status["allocated"].get(GPU) not in {None, "0"})
        for name in ("research", "team-a", "team-b")
    }
    in_order = ("True", "InOrder", "")
    assert settled == {
        "research": {
            "allocated": {GPU: "7"}, "requested": {GPU: "11"}, "share": {GPU: "8"}, "pending": 2, "ready": in_order,
        },
        "team-a": {
            "allocated": {GPU: "3"}, "requested": {GPU: "5"}, "share": {GPU: "4"}, "pending": 1, "ready": in_order,
        },
        "team-b": {
            "allocated": {GPU: "4"}, "requested": {GPU: "6"}, "share": {GPU: "4"}, "pending": 1, "ready": in_order,
        },
    }  # fmt: skip


def test_a_queue_that_is_changed_lets_in_who_waited_and_one_that_is_deleted_evicts_nobody(
    cluster: QueueCluster,
) -> None:
    cluster.make(queue("team-a", {"limit": 2}), gang("first", 2, "team-a"), gang("second", 3, "team-a"))
    cluster.run()
    cluster.bound("first")
    cluster.change("team-a", resources={GPU: {"limit": 5}})
    cluster.bound("first", "second")

    cluster.plane.kubectl("delete", "pq", "team-a")
    cluster.make(gang("third", 1, "team-a"))
    assert cluster.told("third-0") == ("Held", "metadata.labels[phalanx.dev/queue]: there is no Queue team-a")
    cluster.bound("first", "second")


def test_a_gang_whose_queue_is_missing_starts_as_soon_as_there_is_one(cluster: QueueCluster) -> None:
    cluster.make(queue("other"), gang("early", 2, "team-a"), gang("nameless", 1, None))
    cluster.run()
    assert cluster.told("early-1") == ("Held", "metadata.labels[phalanx.dev/queue]: there is no Queue team-a")
    nameless = "metadata.labels[phalanx.dev/queue]: missing, and there is no Queue default"
    assert cluster.told("nameless-0") == ("Held", nameless)
    assert places(cluster.plane) == {}
    cluster.make(queue("team-a"), queue("default"))
    cluster.bound("early", "nameless")


def test_a_queue_that_is_not_in_order_says_so_until_it_is_and_stops_nobody_else(cluster: QueueCluster) -> None:
    cluster.make(
        queue("orphan", {}, parent="research"), queue("below", {}, parent="orphan"),
        queue("a", None, parent="b"), queue("b", None, parent="a"), queue("fine"),
        gang("stuck", 1, "orphan"), gang("free", 1, "fine"),
    )  # fmt: skip
    cluster.run()
    cluster.bound("free")
    problems = {
        name: cluster.status(name, lambda status: bool(status["conditions"])) for name in ("orphan", "below", "a", "b")
    }
    circle = "spec.parent: the parents go round in a circle: a > b > a"
    missing = "spec.parent: there is no Queue research"
    assert problems == {
        "orphan": {"pending": 1, "ready": ("False", "MissingParent", missing)},
        "below": {
            "pending": 0,
            "ready": ("False", "ParentSetAside", f"spec.parent: Queue orphan is set aside: {missing}"),
        },
        "a": {"pending": 0, "ready": ("False", "Cycle", circle)},
        "b": {"pending": 0, "ready": ("False", "Cycle", circle)},
    }
    assert cluster.events("MissingParent") == [f"Queue orphan: {missing}"]
    assert cluster.told("stuck-0")[0] == "Held"

    cluster.make(queue("research"))
    cluster.plane.kubectl("delete", "pq", "below")
    cluster.bound("free", "stuck")
    mended = cluster.status("orphan", lambda status: status["conditions"][0]["status"] == "True")
    assert (mended["ready"], mended["pending"]) == (("True", "InOrder", ""), 0)


def test_an_idle_cluster_with_queues_sees_no_write(cluster: QueueCluster) -> None:
    cluster.make(queue("team-a", {"quota": 4}), queue("lost", {}, parent="nobody"), gang("train", 4, "team-a"))
    first = cluster.run()
    cluster.bound("train")
    cluster.status("team-a", lambda status: status["allocated"] == {GPU: "4"})
    cluster.status("lost", lambda status: bool(status["conditions"]))

    def versions() -> list[str]:
        paths = (PODS, EVENTS, QUEUES)
        found = [item for path in paths for item in list_all(cluster.plane.kubeconfig, path)]
        return [item["metadata"]["resourceVersion"] for item in found]

    time.sleep(3)
    before = versions()
    # Longer than the pace of a queue's status.
    time.sleep(18)
    assert versions() == before
    first.stop()
    cluster.run()
    time.sleep(6)
    assert versions() == before
