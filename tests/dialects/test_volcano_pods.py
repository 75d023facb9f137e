"""Pods as Volcano's users and controllers write them."""

from typing import Any

import pytest

from phalanx.dialects.mistakes import NAME_ALLOWED
from phalanx.dialects.read import read
from phalanx.model.events import Refused, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.reference import Reference
from phalanx.model.task import Task

GROUP = "scheduling.k8s.io/group-name"
OTHER = "scheduling.volcano.sh/group-name"
REQUEST = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}


def pod(annotations: Any = None, *, scheduler: str = "volcano", spec: Any = None, **meta: Any) -> dict[str, Any]:
    metadata = {"name": "p", "namespace": "ml", "uid": "u", "annotations": annotations or {}, **meta}
    whole = {**REQUEST, "schedulerName": scheduler, **(spec or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": whole}


def task(document: dict[str, Any]) -> Task:
    event = read(document, ["volcano", "phalanx"])
    assert isinstance(event, TaskSeen), event
    return event.task


def owned(kind: str = "ReplicaSet") -> dict[str, Any]:
    return {"ownerReferences": [{"apiVersion": "v1", "kind": kind, "name": "r", "uid": "o-1", "controller": True}]}


@pytest.mark.parametrize("key", [GROUP, OTHER])
@pytest.mark.parametrize("scheduler", ["volcano", "phalanx"])
def test_an_annotation_names_the_pod_group_whatever_the_scheduler(key: str, scheduler: str) -> None:
    found = task(pod({key: "train", "volcano.sh/task-spec": "worker"}, scheduler=scheduler))
    owner = Reference("PodGroup.scheduling.volcano.sh", "ml/train")
    assert found.membership == Membership("ml/train", None, subgroup="worker", owner=owner, group="train")
    assert found.hold is None


def test_of_two_annotations_that_of_the_scheduler_counts_and_the_task_may_be_a_label() -> None:
    found = task(pod({GROUP: "a", OTHER: "b"}, labels={"volcano.sh/task-spec": "ps"}))
    assert found.membership is not None
    assert (found.membership.gang, found.membership.subgroup) == ("ml/a", "ps")


def test_pods_of_one_owner_without_a_group_are_the_group_that_volcano_would_make() -> None:
    assert task(pod(**owned())).membership == Membership("ml/podgroup-o-1", 1)
    four = {"scheduling.volcano.sh/group-min-member": "4"}
    assert task(pod(four, **owned())).membership == Membership("ml/podgroup-o-1", 4)
    assert task(pod(four)).membership == Membership("ml/podgroup-u", 4)
    assert task(pod()).membership is None


def test_that_group_is_made_for_the_scheduler_name_of_volcano_alone_and_never_against_another_gang() -> None:
    assert task(pod(scheduler="phalanx", **owned())).membership is None
    own = task(pod({"phalanx.dev/gang": "mine", "phalanx.dev/minimum": "2"}, **owned())).membership
    assert own is not None
    assert own.gang == "ml/mine"
    referred = task(pod(spec={"schedulingGroup": {"podGroupName": "g"}}, **owned())).membership
    assert referred is not None
    assert (referred.owner, referred.minimum) == (Reference("PodGroup", "ml/g"), None)


def test_a_pod_that_names_two_groups_of_different_systems_is_held_and_says_so() -> None:
    found = task(pod({GROUP: "a", "pod-group-name": "b"}))
    assert str(found.hold and found.hold.message).startswith("contradicts metadata.annotations[")


def test_the_queue_of_a_pod_and_whether_it_may_be_evicted() -> None:
    found = task(pod({"scheduling.volcano.sh/queue-name": "research", "volcano.sh/preemptable": "false"}))
    assert (found.queue, found.preemptible) == ("research", False)
    inside = task(pod({GROUP: "train", "volcano.sh/preemptable": "false"}))
    assert inside.membership is not None
    assert inside.membership.preemptible is False
    by_label = task(pod(labels={"volcano.sh/preemptable": "false"}))
    assert by_label.preemptible is False


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (GROUP, "A", f"found 'A', allowed is {NAME_ALLOWED}"),
        (OTHER, "A", f"found 'A', allowed is {NAME_ALLOWED}"),
        ("scheduling.volcano.sh/queue-name", "A", f"found 'A', allowed is {NAME_ALLOWED}"),
        ("volcano.sh/preemptable", "maybe", "found 'maybe', allowed is true, false"),
        ("scheduling.volcano.sh/group-min-member", "-1",
         "found '-1', allowed is a whole number from 0 to 2147483647, in quotes"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_annotation(key: str, value: str, message: str) -> None:
    refused = Refused("Pod", "ml/p", f"metadata.annotations[{key}]", message)
    assert read(pod({key: value}), ["volcano"]) == refused
