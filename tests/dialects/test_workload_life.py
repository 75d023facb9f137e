"""The life of a group: its object and its pods come, change and go in any order, and each time there is one result."""

from dataclasses import replace
from typing import Any

import pytest

from phalanx.dialects.read import read
from phalanx.loop import Loop
from phalanx.model.events import Event, GroupsGone, GroupsSeen, NodeSeen, Refused, TaskGone, TaskSeen
from phalanx.model.gang import Condition, Membership
from phalanx.model.node import Node
from phalanx.model.outcome import Bound, Result
from phalanx.model.reference import Reference
from phalanx.model.task import Shape, Task
from phalanx.policy.load import load_policy
from phalanx.world.world import World

API = "scheduling.k8s.io"
VERSIONS = ("v1alpha1", "v1alpha2", "v1beta1")
EVERY_VERSION = pytest.mark.parametrize("version", VERSIONS)
OWNERS = {"v1alpha1": Reference("Workload", "ml/train")} | dict.fromkeys(
    VERSIONS[1:], Reference("PodGroup", "ml/train")
)
NAMES = {"v1alpha1": "train/workers", "v1alpha2": "train", "v1beta1": "train"}
FIELDS = {"v1alpha1": "workloadRef.name"} | dict.fromkeys(VERSIONS[1:], "schedulingGroup.podGroupName")
MISSING = {version: f"spec.{FIELDS[version]}: there is no {OWNERS[version]}".replace("ml/", "") for version in VERSIONS}
FULL = "0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 0 of {})"


class Cluster:
    """One node with GPUs, decided for by the default policy; every bind succeeds."""

    def __init__(self, gpus: int = 8) -> None:
        self.world = World()
        self.loop = Loop(self.world, load_policy("default"))
        self.see(NodeSeen(Node("n1", allocatable={"nvidia.com/gpu": gpus * 1000, "pods": 110})))

    def see(self, *events: Event | None) -> None:
        for event in events:
            assert event is not None
            self.world.apply(event)

    def plan(self, now: float = 100.0) -> list[str]:
        plan = self.loop.cycle(now).plan
        for bind in plan.binds:
            self.world.confirm(Bound(bind.uid, bind.node, Result.OK, now))
        return [line.replace("ml/", "") for line in plan.text().splitlines()]


def described(version: str, minimum: int | None = 4, *, uid: str = "u1", namespace: str = "ml", **spec: Any) -> Event:
    """Return the object of this version that describes the group `train` (in a Workload: its group `workers`)."""
    policy = {"basic": {}} if minimum is None else {"gang": {"minCount": minimum}}
    inside = {"schedulingPolicy": policy}
    if version == "v1alpha1":
        inside = {"podGroups": [{"name": "workers", "policy": policy}]}  # type: ignore[dict-item]
    event = read(
        {
            "apiVersion": f"{API}/{version}", "kind": OWNERS[version].kind,
            "metadata": {"name": "train", "namespace": namespace, "uid": uid}, "spec": {**inside, **spec},
        },
        ["phalanx"],
    )  # fmt: skip
    assert isinstance(event, GroupsSeen), event
    return event


def pods(version: str, *numbers: int, priority: int = 0, **reference: str) -> list[Event]:
    """Return pods with one GPU that refer to it."""
    if version == "v1alpha1":
        spec: dict[str, Any] = {"workloadRef": {"name": "train", "podGroup": "workers", **reference}}
    else:
        spec = {"schedulingGroup": {"podGroupName": "train", **reference}}
    found = [
        read(
            {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}", "namespace": "ml"},
                "spec": {
                    "schedulerName": "phalanx", "priority": priority, **spec,
                    "containers": [{"resources": {"requests": {"nvidia.com/gpu": "1"}}}],
                },
            },
            ["phalanx"],
        )
        for number in numbers
    ]  # fmt: skip
    assert all(isinstance(event, TaskSeen) for event in found)
    return [event for event in found if event is not None]


def binds(*numbers: int) -> list[str]:
    return [f"bind p{number} n1" for number in numbers]


@EVERY_VERSION
def test_a_group_starts_whole(version: str) -> None:
    cluster = Cluster(gpus=4)
    cluster.see(described(version, 4), *pods(version, 1, 2, 3, 4))
    assert cluster.plan() == binds(1, 2, 3, 4)


@EVERY_VERSION
def test_a_group_waits_whole_when_only_part_of_it_fits(version: str) -> None:
    cluster = Cluster(gpus=3)
    cluster.see(described(version, 4), *pods(version, 1, 2, 3, 4))
    (line,) = cluster.plan()
    assert line.startswith(f"wait {NAMES[version]} 4 never: 4 needed together, 3 fit")


@EVERY_VERSION
def test_pods_that_come_before_their_object_wait_for_it(version: str) -> None:
    cluster = Cluster()
    cluster.see(*pods(version, 1, 2))
    assert cluster.plan() == [f"wait {NAMES[version]} 2 held: {MISSING[version]}"]
    cluster.see(described(version, 2))
    assert cluster.plan() == binds(1, 2)


def test_a_workload_without_the_group_that_pods_name_is_another_reason() -> None:
    cluster = Cluster()
    cluster.see(described("v1alpha1"), *pods("v1alpha1", 1, podGroup="worker"))
    assert cluster.plan() == [
        "wait train/worker 1 held: spec.workloadRef.podGroup: Workload train has no group worker, it has workers"
    ]


@EVERY_VERSION
def test_fewer_pods_than_the_minimum_is_a_third_reason(version: str) -> None:
    cluster = Cluster()
    cluster.see(described(version, 4), *pods(version, 1, 2, 3))
    assert cluster.plan() == [f"wait {NAMES[version]} 3 held: 3 of 4 members are there"]


@EVERY_VERSION
def test_a_group_of_another_namespace_is_not_theirs(version: str) -> None:
    cluster = Cluster()
    cluster.see(described(version, 1, namespace="prod"), *pods(version, 1))
    assert cluster.plan() == [f"wait {NAMES[version]} 1 held: {MISSING[version]}"]


@EVERY_VERSION
def test_an_object_that_cannot_be_read_holds_its_pods_and_says_why(version: str) -> None:
    cluster = Cluster()
    kind, name = OWNERS[version]
    bad = Refused(kind, name, "spec.x", "found 'y', allowed is z")
    cluster.see(described(version, 1), bad, *pods(version, 1))
    reason = f"spec.{FIELDS[version]}: {kind} train cannot be read: spec.x: found 'y', allowed is z"
    assert cluster.plan() == [f"wait {NAMES[version]} 1 held: {reason}"]
    cluster.see(described(version, 1))
    assert cluster.plan() == binds(1)


def test_an_object_that_could_not_be_read_and_is_gone_is_missing() -> None:
    cluster = Cluster()
    cluster.see(Refused("PodGroup", "ml/train", "spec.x", "bad"), *pods("v1beta1", 1))
    cluster.plan()
    cluster.see(GroupsGone(Reference("PodGroup", "ml/train")))
    assert cluster.plan() == [f"wait train 1 held: {MISSING['v1beta1']}"]


@EVERY_VERSION
def test_pods_of_a_basic_group_start_one_by_one(version: str) -> None:
    cluster = Cluster(gpus=2)
    cluster.see(described(version, None), *pods(version, 1, 2, 3))
    assert cluster.plan() == [*binds(1, 2), f"wait {NAMES[version]} 1 full: {FULL.format(2)}"]


def test_the_minimum_of_a_workloads_group_holds_for_each_replica_by_itself() -> None:
    cluster = Cluster()
    first, second = (
        pods("v1alpha1", *numbers, podGroupReplicaKey=key) for key, numbers in (("a", (1, 2)), ("b", (3,)))
    )
    cluster.see(described("v1alpha1", 2), *first, *second)
    assert cluster.plan() == [*binds(1, 2), "wait train/workers/b 1 held: 1 of 2 members are there"]


def test_gangs_of_one_name_that_different_objects_describe_do_not_meet() -> None:
    cluster = Cluster()
    said = Membership("ml/train", 2)
    native = Task("t", "ml", "native", Shape((("nvidia.com/gpu", 1000), ("pods", 1))), membership=said)
    cluster.see(described("v1beta1", 2), *pods("v1beta1", 1), TaskSeen(native))
    assert cluster.plan() == ["wait train 1 held: 1 of 2 members are there"] * 2


@EVERY_VERSION
def test_a_minimum_that_is_raised_while_the_group_waits_holds_at_once(version: str) -> None:
    cluster = Cluster(gpus=2)
    cluster.see(described(version, 3), *pods(version, 1, 2, 3))
    cluster.plan()
    cluster.see(described(version, 4))
    assert cluster.plan() == [f"wait {NAMES[version]} 3 held: 3 of 4 members are there"]


@EVERY_VERSION
def test_a_minimum_that_is_lowered_while_the_group_waits_lets_it_start(version: str) -> None:
    cluster = Cluster(gpus=2)
    cluster.see(described(version, 3), *pods(version, 1, 2, 3))
    assert len(cluster.plan()) == 1
    cluster.see(described(version, 2))
    assert cluster.plan() == [*binds(1, 2), f"wait {NAMES[version]} 1 full: {FULL.format(2)}"]


@EVERY_VERSION
def test_a_minimum_that_is_raised_while_the_group_runs_evicts_nobody_and_binds_who_comes(version: str) -> None:
    """Who runs goes on and counts; who comes is placed only when the new minimum is reached."""
    cluster = Cluster()
    cluster.see(described(version, 2), *pods(version, 1, 2))
    cluster.plan()
    cluster.see(described(version, 4))
    assert cluster.plan() == []
    cluster.see(*pods(version, 3))
    assert cluster.plan() == [f"wait {NAMES[version]} 1 held: 3 of 4 members are there"]
    cluster.see(*pods(version, 4))
    assert cluster.plan() == binds(3, 4)


@EVERY_VERSION
def test_a_minimum_that_is_lowered_while_the_group_runs_makes_the_rest_growth(version: str) -> None:
    cluster = Cluster(gpus=4)
    cluster.see(described(version, 4), *pods(version, 1, 2, 3, 4))
    cluster.plan()
    cluster.see(TaskGone("ml/p4"), *pods(version, 5, 6))
    cluster.see(described(version, 2))
    assert cluster.plan() == [*binds(5), f"wait {NAMES[version]} 1 full: {FULL.format(4)}"]


@EVERY_VERSION
def test_a_group_whose_object_is_deleted_while_it_waits_is_held(version: str) -> None:
    cluster = Cluster(gpus=1)
    cluster.see(described(version, 2), *pods(version, 1, 2))
    cluster.plan()
    cluster.see(GroupsGone(OWNERS[version]))
    assert cluster.plan() == [f"wait {NAMES[version]} 2 held: {MISSING[version]}"]


@EVERY_VERSION
def test_a_group_whose_object_is_deleted_while_it_runs_keeps_its_pods_and_gets_no_more(version: str) -> None:
    cluster = Cluster()
    cluster.see(described(version, 2), *pods(version, 1, 2))
    cluster.plan()
    cluster.see(GroupsGone(OWNERS[version]), *pods(version, 3))
    assert cluster.plan() == [f"wait {NAMES[version]} 1 held: {MISSING[version]}"]
    assert [task.node for task in cluster.world.tasks.values()] == ["n1", "n1", None]


def test_a_group_that_is_being_deleted_is_held_like_one_that_is_gone() -> None:
    cluster = Cluster()
    leaving = described("v1beta1", 1)
    assert isinstance(leaving, GroupsSeen)
    held = replace(leaving.groups[0], hold="metadata.deletionTimestamp: it is being deleted")
    cluster.see(replace(leaving, groups=(held,)), *pods("v1beta1", 1))
    assert cluster.plan() == ["wait train 1 held: PodGroup train: metadata.deletionTimestamp: it is being deleted"]


@EVERY_VERSION
def test_an_object_that_is_made_again_speaks_for_the_pods_that_are_there(version: str) -> None:
    """Pods refer to it by name, so those that run count towards the new minimum."""
    cluster = Cluster()
    cluster.see(described(version, 2, uid="old"), *pods(version, 1, 2))
    cluster.plan()
    cluster.see(GroupsGone(OWNERS[version], "old"), described(version, 3, uid="new"), *pods(version, 3))
    assert cluster.plan() == binds(3)


@EVERY_VERSION
def test_a_late_word_of_the_old_objects_end_does_not_take_the_new_one(version: str) -> None:
    cluster = Cluster()
    cluster.see(described(version, 1, uid="old"), described(version, 1, uid="new"), *pods(version, 1))
    cluster.see(GroupsGone(OWNERS[version], "old"))
    assert cluster.plan() == binds(1)


@EVERY_VERSION
def test_pods_that_come_while_the_group_runs_are_growth(version: str) -> None:
    cluster = Cluster(gpus=3)
    cluster.see(described(version, 2), *pods(version, 1, 2))
    cluster.plan()
    cluster.see(*pods(version, 3, 4))
    assert cluster.plan() == [*binds(3), f"wait {NAMES[version]} 1 full: {FULL.format(3)}"]


@EVERY_VERSION
def test_a_pod_that_is_made_again_brings_the_group_back_to_its_minimum(version: str) -> None:
    cluster = Cluster(gpus=2)
    cluster.see(described(version, 2), *pods(version, 1, 2))
    cluster.plan()
    cluster.see(TaskGone("ml/p2"), *pods(version, 3))
    assert cluster.plan() == binds(3)


def test_the_priority_of_a_group_is_its_own_when_it_has_one() -> None:
    plain = Task("t", "ml", "plain", Shape((("nvidia.com/gpu", 1000), ("pods", 1)), priority=5))
    for priority, first in ((9, "bind p1 n1"), (None, "bind plain n1")):
        cluster = Cluster(gpus=1)
        cluster.see(described("v1alpha2", 1, priority=priority), *pods("v1alpha2", 1), TaskSeen(plain))
        assert cluster.plan()[0] == first


def test_in_1_37_the_pods_of_a_group_must_have_its_priority() -> None:
    cluster = Cluster()
    mixed = [*pods("v1beta1", 1, 2, priority=9), *pods("v1beta1", 3)]
    cluster.see(described("v1beta1", 3, priority=9), *mixed)
    assert cluster.plan() == [
        "wait train 3 held: spec.priority: the pods of a group must have its priority 9, found 0 on p3"
    ]
    cluster.see(*pods("v1beta1", 3, priority=9))
    assert cluster.plan() == binds(1, 2, 3)


def test_in_1_36_pods_of_several_priorities_may_share_a_group() -> None:
    cluster = Cluster()
    cluster.see(described("v1alpha2", 2, priority=9), *pods("v1alpha2", 1, priority=9), *pods("v1alpha2", 2))
    assert cluster.plan() == binds(1, 2)


def annotated(number: int, group: str = "train", **annotations: str) -> Event | None:
    """Return a pod with a gang by annotation that a controller has put into a PodGroup."""
    said = {f"phalanx.dev/{key}": value for key, value in annotations.items()}
    gpu = [{"resources": {"requests": {"nvidia.com/gpu": "1"}}}]
    return read(
        {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": f"p{number}", "namespace": "ml", "annotations": said},
            "spec": {"schedulerName": "phalanx", "containers": gpu, "schedulingGroup": {"podGroupName": group}},
        },
        ["phalanx"],
    )  # fmt: skip


@pytest.mark.parametrize("minimum", [2, None])
def test_a_gang_by_annotation_starts_whole_if_its_group_says_the_same_or_nothing(minimum: int | None) -> None:
    """In 1.36 the Job controller makes a gang of all pods, in 1.37 a basic group."""
    cluster = Cluster(gpus=1)
    cluster.see(described("v1alpha2", minimum), *(annotated(i, gang="g", minimum="2") for i in (1, 2)))
    (line,) = cluster.plan()
    assert line.startswith("wait g 2 never: 2 needed together, 1 fit")
    cluster = Cluster(gpus=2)
    cluster.see(described("v1alpha2", minimum), *(annotated(i, gang="g", minimum="2") for i in (1, 2)))
    assert cluster.plan() == binds(1, 2)


def test_a_gang_by_annotation_is_held_if_its_group_is_another_gang_and_names_both() -> None:
    cluster = Cluster()
    cluster.see(described("v1alpha2", 3), *(annotated(i, gang="g", minimum="2") for i in (1, 2, 3)))
    said = "metadata.annotations[phalanx.dev/minimum]: 2 on p3"
    assert cluster.plan() == [f"wait g 3 held: {said} contradicts PodGroup train, which has the minimum 3"]
    cluster.see(described("v1alpha2", 2))
    assert cluster.plan() == binds(1, 2, 3)


def test_a_gang_by_annotation_may_span_several_basic_groups() -> None:
    """A leader and its workers, each a Job of its own in 1.37."""
    cluster = Cluster()
    other = read(
        {
            "apiVersion": f"{API}/v1beta1", "kind": "PodGroup", "metadata": {"name": "leader", "namespace": "ml"},
            "spec": {"schedulingPolicy": {"basic": {}}},
        },
        [],
    )  # fmt: skip
    cluster.see(described("v1beta1", None), *(annotated(i, gang="g", minimum="3") for i in (1, 2)))
    cluster.see(annotated(3, "leader", gang="g", minimum="3"))
    assert cluster.plan() == ["wait g 3 held: spec.schedulingGroup.podGroupName: there is no PodGroup leader"]
    cluster.see(other)
    assert cluster.plan() == binds(1, 2, 3)


def test_a_pod_with_a_group_and_part_of_a_gang_by_annotation_is_missed_and_named() -> None:
    cluster = Cluster()
    cluster.see(described("v1beta1", 2), *pods("v1beta1", 1), annotated(2, gang="g"))
    (line,) = cluster.plan()
    both_named = "p2 spec.schedulingGroup: contradicts metadata.annotations[phalanx.dev/gang]"
    assert line.startswith(f"wait train 2 held: 1 of 2 members may start; {both_named}: ")


@EVERY_VERSION
def test_a_group_that_did_not_start_in_five_minutes_queues_again_and_says_so(version: str) -> None:
    """Nothing is held for it meanwhile; of two groups that want the same GPU, the other's turn has come."""
    cluster = Cluster(gpus=1)
    cluster.see(described(version, 2), *pods(version, 1, 2))
    often = "; queued again after its start timeout of 300 s, "
    short = "short of nvidia.com/gpu (most free on one node: 1 of 1)"
    why = f"2 needed together, 1 fit: 1 of 1 node has room, {short}; on empty nodes, 1 would fit"
    waits = f"wait {NAMES[version]} 2 never: {why}"
    assert cluster.plan(299.0) == [waits]
    assert not cluster.world.due(299.5)
    assert cluster.world.due(300.0)
    assert cluster.plan(300.0) == [waits + often + "once"]
    assert cluster.plan(600.0) == [waits + often + "2 times"]
    late = Task("t", "ml", "late", Shape((("nvidia.com/gpu", 1000), ("pods", 1))), created=299.0)
    cluster.see(described(version, 1), TaskSeen(late))
    assert cluster.plan(601.0)[0] == "bind late n1"


def test_a_change_of_an_object_is_news_to_the_gangs_that_refer_to_it_and_to_nobody_else() -> None:
    cluster = Cluster(gpus=1)
    others = [
        *pods("v1alpha1", 3, podGroupReplicaKey="a"),
        *pods("v1alpha1", 4, podGroupReplicaKey="b"),
        *pods("v1beta1", 5, podGroupName="other"),
    ]
    cluster.see(described("v1beta1", 2), described("v1alpha1", 2), *pods("v1beta1", 1), *others)
    cluster.plan()
    cluster.see(described("v1beta1", 3))
    assert cluster.world._rows.dirty_gangs == {"PodGroup/ml/train"}
    cluster.see(described("v1alpha1", 3))
    assert cluster.world._rows.dirty_gangs == {
        "PodGroup/ml/train",
        "Workload/ml/train/workers/a",
        "Workload/ml/train/workers/b",
    }


def test_a_status_that_is_written_is_no_news_to_anybody() -> None:
    cluster = Cluster(gpus=1)
    object_ = described("v1beta1", 2)
    assert isinstance(object_, GroupsSeen)
    cluster.see(object_, *pods("v1beta1", 1, 2))
    cluster.plan()
    cluster.see(replace(object_, condition=Condition("False", "Unschedulable", "full")))
    assert not cluster.world.due(100.0)
    assert cluster.world.groups[Reference("PodGroup", "ml/train")].condition == Condition(
        "False", "Unschedulable", "full"
    )


SINGLE, ALL = {"v1alpha2": "Pod", "v1beta1": {"single": {}}}, {"v1alpha2": "PodGroup", "v1beta1": {"all": {}}}


@pytest.mark.parametrize(("modes", "leave"), [(SINGLE, [3]), (ALL, [1, 2, 3])], ids=["single", "all"])
@pytest.mark.parametrize("version", VERSIONS[1:])
def test_a_group_whose_disruption_mode_is_all_leaves_whole(
    version: str, modes: dict[str, Any], leave: list[int]
) -> None:
    """One of three pods is beyond the minimum, and one GPU is asked for."""
    cluster = Cluster(gpus=3)
    cluster.see(described(version, 2, disruptionMode=modes[version]), *pods(version, 1, 2, 3))
    assert cluster.plan() == binds(1, 2, 3)
    shape = Shape((("nvidia.com/gpu", 1000), ("pods", 1)), priority=9)
    cluster.see(TaskSeen(Task("urgent", "ml", "urgent", shape)))
    assert cluster.plan(200.0) == [
        *(f"evict p{number} n1 for urgent: of higher priority in its queue (9)" for number in leave),
        "nominate urgent n1",
    ]
