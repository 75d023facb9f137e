"""The group that Volcano's controller makes for pods that name none."""

from typing import Any

import pytest

from phalanx.dialects.read import read
from phalanx.dialects.volcano.plain_pods import group_for
from phalanx.model.events import GroupsSeen

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u1", "controller": True}


def pod(*owners: Any, priority: str = "", labels: Any = None, **annotations: str) -> dict[str, Any]:
    known = {
        "queue": "scheduling.volcano.sh/queue-name", "preemptable": "volcano.sh/preemptable",
        "mode": "volcano.sh/network-topology-mode", "tier": "volcano.sh/network-topology-highest-tier",
        "minimum": "scheduling.volcano.sh/group-min-member", "other": "example.com/x",
    }  # fmt: skip
    meta: dict[str, Any] = {
        "name": "web-1", "namespace": "ml", "uid": "p1", "ownerReferences": list(owners), "labels": labels or {},
        "annotations": {known[key]: value for key, value in annotations.items()},
    }  # fmt: skip
    return {"metadata": meta, "spec": {"priorityClassName": priority} if priority else {}}


def test_all_pods_of_a_controller_have_one_group_and_a_pod_alone_its_own() -> None:
    made = group_for(pod({**OWNER, "blockOwnerDeletion": True}, priority="high", queue="team", other="x"), {})
    assert made["metadata"] == {
        "name": "podgroup-u1", "namespace": "ml", "ownerReferences": [OWNER], "annotations": {}, "labels": {},
    }  # fmt: skip
    assert made["spec"] == {"minMember": 1, "queue": "team", "priorityClassName": "high"}
    alone = group_for(pod(), {})
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "web-1", "uid": "p1", "controller": True}
    assert (alone["metadata"]["name"], alone["metadata"]["ownerReferences"]) == ("podgroup-p1", [owner])
    assert isinstance(read(made, []), GroupsSeen)


@pytest.mark.parametrize(
    ("said", "minimum"), [({}, 1), ({"scheduling.volcano.sh/group-min-member": "3"}, 3),
                          ({"scheduling.volcano.sh/group-min-member": "-1"}, 1),
                          ({"scheduling.volcano.sh/group-min-member": "many"}, 1)],
)  # fmt: skip
def test_how_many_start_together_is_said_by_what_makes_them(said: dict[str, str], minimum: int) -> None:
    assert group_for(pod(OWNER), said)["spec"]["minMember"] == minimum
    assert group_for(pod(OWNER, minimum="2"), said)["spec"]["minMember"] == (2 if not said else minimum)


def test_what_a_pod_says_of_eviction_and_topology_its_group_says_too() -> None:
    made = group_for(pod(OWNER, preemptable="true", mode="Soft", tier="2", labels={"volcano.sh/preemptable": "true"}), {
        "scheduling.volcano.sh/queue-name": "above", "example.com/y": "z",
    })  # fmt: skip
    assert made["metadata"]["annotations"] == {
        "scheduling.volcano.sh/queue-name": "above", "volcano.sh/preemptable": "true",
    }  # fmt: skip
    assert made["metadata"]["labels"] == {"volcano.sh/preemptable": "true"}
    assert made["spec"] == {
        "minMember": 1, "queue": "above", "networkTopology": {"mode": "soft", "highestTierAllowed": 2},
    }  # fmt: skip
    assert group_for(pod(OWNER, mode="x"), {})["spec"]["networkTopology"] == {"mode": "hard"}
