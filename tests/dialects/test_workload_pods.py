"""Pods that refer to a group: `spec.workloadRef` of Kubernetes 1.35, `spec.schedulingGroup` since."""

from typing import Any

import pytest

from phalanx.dialects.mistakes import NAME_ALLOWED
from phalanx.dialects.read import read
from phalanx.model.events import Event, Refused, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.reference import Reference
from phalanx.model.task import Hold, Task

GROUP = {"schedulingGroup": {"podGroupName": "train-0"}}
WORKLOAD = {"workloadRef": {"name": "train", "podGroup": "workers"}}
REPLICA = {"workloadRef": {"name": "train", "podGroup": "workers", "podGroupReplicaKey": "0"}}

IN_GROUP = Membership(
    "ml/train-0", None, start_timeout=300.0, owner=Reference("PodGroup", "ml/train-0"), group="train-0"
)
IN_WORKLOAD = Membership(
    "ml/train/workers", None, start_timeout=300.0, owner=Reference("Workload", "ml/train"), group="workers"
)
IN_REPLICA = Membership(
    "ml/train/workers/0",
    None,
    start_timeout=300.0,
    owner=Reference("Workload", "ml/train"),
    group="workers",
    replica="0",
)


def event(spec: dict[str, Any], annotations: dict[str, str] | None = None) -> Event | None:
    document = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ml", "annotations": annotations},
        "spec": {"schedulerName": "phalanx", "containers": [{}], **spec},
    }  # fmt: skip
    return read(document, ["phalanx"])


def task(spec: dict[str, Any], annotations: dict[str, str] | None = None) -> Task:
    found = event(spec, annotations)
    assert isinstance(found, TaskSeen), found
    return found.task


@pytest.mark.parametrize(
    ("spec", "membership"),
    [
        (GROUP, IN_GROUP),
        (WORKLOAD, IN_WORKLOAD),
        (REPLICA, IN_REPLICA),
        ({"schedulingGroup": None}, None),
        ({"workloadRef": None}, None),
    ],
)
def test_a_pod_belongs_to_the_group_that_it_names(spec: dict[str, Any], membership: Membership | None) -> None:
    found = task(spec)
    assert (found.membership, found.hold) == (membership, None)


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"schedulingGroup": {}}, "schedulingGroup.podGroupName", "missing"),
        ({"schedulingGroup": {"podGroupName": 7}}, "schedulingGroup.podGroupName",
         "found 7, allowed is a string (put it in quotes)"),
        ({"schedulingGroup": {"podGroupName": "A"}}, "schedulingGroup.podGroupName",
         f"found 'A', allowed is {NAME_ALLOWED}"),
        ({"schedulingGroup": "train-0"}, "schedulingGroup", "found 'train-0', allowed is a map"),
        ({"workloadRef": {"podGroup": "workers"}}, "workloadRef.name", "missing"),
        ({"workloadRef": {"name": "train"}}, "workloadRef.podGroup", "missing"),
        ({"workloadRef": {"name": "train", "podGroup": "a/b"}}, "workloadRef.podGroup",
         f"found 'a/b', allowed is {NAME_ALLOWED}"),
        ({"workloadRef": {"name": "train", "podGroup": "workers", "podGroupReplicaKey": ""}},
         "workloadRef.podGroupReplicaKey", f"found '', allowed is {NAME_ALLOWED}"),
    ],
)  # fmt: skip
def test_a_bad_reference_is_refused_and_names_the_field(spec: dict[str, Any], field: str, message: str) -> None:
    assert event(spec) == Refused("Pod", "ml/p", f"spec.{field}", message)


def test_a_pod_that_runs_with_a_bad_reference_is_in_no_gang_and_keeps_its_room() -> None:
    found = task({"schedulingGroup": {}, "nodeName": "n1"})
    assert (found.node, found.membership) == ("n1", None)
    assert found.hold == Hold("spec.schedulingGroup.podGroupName", "missing")


@pytest.mark.parametrize("key", ["gang", "minimum", "maximum", "subgroup", "subgroup-minimum"])
@pytest.mark.parametrize(("field", "spec"), [("schedulingGroup", GROUP), ("workloadRef", REPLICA)])
def test_a_pod_with_a_group_and_part_of_a_gang_by_annotation_is_held_and_names_both(
    field: str, spec: dict[str, Any], key: str
) -> None:
    """It stays a member of the group, which can say why it misses one."""
    found = task(spec, {f"phalanx.dev/{key}": "2"})
    other = f"metadata.annotations[phalanx.dev/{key}]"
    assert found.hold == Hold(f"spec.{field}", f"contradicts {other}: a pod is in one gang, and one of them says which")
    assert found.membership == (IN_GROUP if spec is GROUP else IN_REPLICA)


def test_a_misspelled_key_is_named_and_not_what_follows_from_it() -> None:
    found = task(GROUP, {"phalanx.dev/gang": "g", "phalanx.dev/minimun": "2"})
    assert found.hold == Hold(
        "metadata.annotations[phalanx.dev/minimun]", "unknown key phalanx.dev/minimun, did you mean phalanx.dev/minimum"
    )


def test_a_whole_gang_by_annotation_describes_the_pod_and_its_group_is_kept_to_be_compared() -> None:
    """So it looks when a Job controller, which knows nothing of annotations, puts the pods of a Job in a group."""
    found = task(GROUP, {"phalanx.dev/gang": "g", "phalanx.dev/minimum": "2", "phalanx.dev/maximum": "3"})
    assert found.hold is None
    assert found.membership == Membership("ml/g", 2, 3, owner=Reference("PodGroup", "ml/train-0"), group="train-0")


def test_a_pod_with_references_of_two_releases_is_held_and_names_both() -> None:
    found = task({**GROUP, **WORKLOAD})
    both = "contradicts spec.workloadRef: a pod is in one gang, and one of them says which"
    assert (found.hold, found.membership) == (Hold("spec.schedulingGroup", both), IN_GROUP)


def test_annotations_may_add_wishes_to_a_group() -> None:
    wishes = {"start-timeout": "1h", "preemptible": "false", "topology-preferred": "rack", "patience": "5m"}
    found = task(GROUP, {f"phalanx.dev/{key}": value for key, value in wishes.items()})
    assert found.hold is None
    assert found.membership == Membership(
        "ml/train-0", None, start_timeout=3600.0, preemptible=False, topology_preferred="rack", patience=300.0,
        owner=Reference("PodGroup", "ml/train-0"), group="train-0",
    )  # fmt: skip


def test_a_bad_wish_is_refused() -> None:
    refused = event(GROUP, {"phalanx.dev/start-timeout": "0s"})
    message = "found 0, allowed is more than zero"
    assert refused == Refused("Pod", "ml/p", "metadata.annotations[phalanx.dev/start-timeout]", message)
