"""Volcano's PodGroup objects, to groups."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.dialects.mistakes import NAME_ALLOWED
from phalanx.dialects.read import read
from phalanx.dialects.volcano.hyper_nodes import NEAREST, TREE
from phalanx.model.events import GroupsSeen, Refused
from phalanx.model.gang import Division, Group, Subgroup
from phalanx.model.reference import Reference
from phalanx.model.selectors import LabelSelector, Requirement
from phalanx.world.world import World

API = "scheduling.volcano.sh/v1beta1"
KIND = "PodGroup.scheduling.volcano.sh"
DEFAULTS: dict[str, Any] = {
    "queue": "default", "priority_absent": 0, "all_in_leaves": False,
    "namespace_key": "scheduling.volcano.sh/queue-name",
}  # fmt: skip


def document(spec: Any, **meta: Any) -> dict[str, Any]:
    return {
        "apiVersion": API, "kind": "PodGroup", "metadata": {"name": "train", "namespace": "ml", **meta}, "spec": spec,
    }  # fmt: skip


def group(spec: Any, **meta: Any) -> Group:
    event = read(document(spec, **meta), [])
    assert isinstance(event, GroupsSeen), event
    (only,) = event.groups
    return only


def test_a_pod_group_is_one_group_with_its_queue_its_priority_class_and_its_tasks() -> None:
    spec = {
        "minMember": 3, "minTaskMember": {"worker": 2, "master": 1, "spare": 0}, "queue": "research",
        "priorityClassName": "high", "minResources": {"cpu": "3", "nvidia.com/gpu": 3},
        "networkTopology": {"mode": "soft", "highestTierAllowed": 2},
        "subGroupPolicy": [{"name": "w", "labelSelector": {"matchLabels": {"a": "b"}}, "subGroupSize": 2}],
    }  # fmt: skip
    meta = {"uid": "g-1", "generation": 5, "creationTimestamp": "2026-11-01T12:00:00Z"}
    expected = Group(
        "train", 3, topology_preferred=NEAREST, topology=TREE, queue="research", all_in_leaves=False,
        subgroups=(Subgroup("master", 1), Subgroup("worker", 2)),
        divisions=(Division("w", LabelSelector((Requirement("a", "In", ("b",)),)), (), Subgroup("", 2)),),
        priority_class="high", priority_absent=0,
        created=1_793_534_400.0,
    )  # fmt: skip
    status = {"phase": "Inqueue"}
    seen = GroupsSeen(Reference(KIND, "ml/train"), (expected,), API, "g-1", 5, status=status)
    assert read({**document(spec, **meta), "status": status}, []) == seen


def test_what_is_left_out_asks_for_nothing_together_in_the_default_queue_with_priority_zero() -> None:
    assert group({}) == group(None) == Group("train", None, **DEFAULTS)
    assert group({"minMember": 0, "minTaskMember": {}, "queue": "", "priorityClassName": ""}) == group({})


@pytest.mark.parametrize(
    ("wish", "required"),
    [
        ({}, None), ({"mode": "soft", "highestTierAllowed": 1}, None), ({"mode": "hard", "highestTierAllowed": 1}, 1),
        ({"highestTierAllowed": 0}, 0), ({"highestTierName": "rack"}, "rack"), ({"highestTierName": ""}, None),
    ],
)  # fmt: skip
def test_a_network_topology_is_as_near_as_can_be_and_if_hard_in_one_domain(wish: Any, required: Any) -> None:
    found = group({"networkTopology": wish})
    assert (found.topology_required, found.topology_preferred, found.topology) == (required, NEAREST, TREE)


def test_a_policy_of_subgroups_divides_pods_by_their_labels() -> None:
    near = {"mode": "hard", "highestTierAllowed": 1}
    policy = {"name": "w", "matchLabelKeys": ["part"], "subGroupSize": 4, "minSubGroups": 2, "networkTopology": near}
    part = Subgroup("", 4, (), 1, NEAREST, TREE)
    assert group({"subGroupPolicy": [policy]}).divisions == (Division("w", None, ("part",), part, 2),)


def test_minimums_of_tasks_count_only_while_the_group_asks_for_as_many() -> None:
    tasks = {"master": 1, "worker": 4}
    assert group({"minMember": 5, "minTaskMember": tasks}).subgroups == (Subgroup("master", 1), Subgroup("worker", 4))
    assert group({"minMember": 4, "minTaskMember": tasks}).subgroups == ()


@pytest.mark.parametrize(("word", "said"), [("true", True), ("false", False), ("0", False), ("T", True)])
def test_who_may_be_evicted_is_read_as_go_reads_truths(word: str, said: bool) -> None:
    assert group({}, annotations={"volcano.sh/preemptable": word}).preemptible is said
    assert group({}, labels={"volcano.sh/preemptable": word}).preemptible is said


@pytest.mark.parametrize(
    ("spec", "meta", "hold"),
    [
        ({}, {"deletionTimestamp": "2026-11-01T12:00:00Z"}, "metadata.deletionTimestamp: it is being deleted"),
    ],
)  # fmt: skip
def test_what_is_not_honoured_holds_the_gang_and_names_the_field(spec: Any, meta: Any, hold: str) -> None:
    assert group(spec, **meta).hold == hold


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"minMember": -1}, "minMember", "found -1, allowed is a whole number >= 0"),
        ({"minMember": "3"}, "minMember", "found '3', allowed is a whole number"),
        ({"minTaskMember": {"a": -1}}, "minTaskMember.a", "found -1, allowed is a whole number from 0 to 2147483647"),
        ({"minTaskMember": {"": 1}}, "minTaskMember['']", "found '', allowed is the name of a task"),
        ({"minResources": {"cpu": "many"}}, "minResources.cpu",
         "found 'many', allowed is a Kubernetes quantity such as 2, 500m, 1.5 or 8Gi"),
        ({"minResources": {"!": 1}}, "minResources[!]",
         "found '!', allowed is the name of a resource such as cpu or nvidia.com/gpu"),
        ({"queue": "A"}, "queue", f"found 'A', allowed is {NAME_ALLOWED}"),
        ({"priorityClassName": "A"}, "priorityClassName", f"found 'A', allowed is {NAME_ALLOWED}"),
        ({"networkTopology": {"mode": "Hard"}}, "networkTopology.mode", "found 'Hard', allowed is hard, soft"),
        ({"networkTopology": {"highestTierAllowed": 1, "highestTierName": "rack"}}, "networkTopology.highestTierName",
         "found 'rack' beside highestTierAllowed, allowed is one of the two"),
        ({"subGroupPolicy": [{"subGroupSize": 0}]}, "subGroupPolicy[0].subGroupSize",
         "found 0, allowed is a whole number >= 1"),
        ({"subGroupPolicy": [{"matchLabelKeys": ["a b"]}]}, "subGroupPolicy[0].matchLabelKeys[0]",
         "found 'a b', allowed is the key of a label"),
        ({"subGroupPolicy": [{"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}}]},
         "subGroupPolicy[0].labelSelector.matchExpressions[0].operator",
         "found 'Is', allowed is In, NotIn, Exists, DoesNotExist"),
        ({"subGroupPolicy": [{"networkTopology": {"mode": "x"}}]}, "subGroupPolicy[0].networkTopology.mode",
         "found 'x', allowed is hard, soft"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_field(spec: Any, field: str, message: str) -> None:
    assert read(document(spec), []) == Refused(KIND, "ml/train", f"spec.{field}", message)


@given(st.dictionaries(st.sampled_from("abc"), st.integers(0, 9)), st.integers(0, 30))
def test_no_group_asks_for_more_than_its_tasks_and_its_minimum_together(tasks: dict[str, int], minimum: int) -> None:
    found = group({"minMember": minimum, "minTaskMember": tasks})
    assert sum(part.minimum for part in found.subgroups) <= (found.minimum or 0)


def test_a_group_in_the_default_queue_is_in_the_one_that_its_namespace_names() -> None:
    """Volcano's webhook writes it into the group; where none runs, the reader does the same."""
    key = "scheduling.volcano.sh/queue-name"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml", "annotations": {key: "team"}}}
    pod = {
        "apiVersion": "v1", "kind": "Pod", "spec": {"schedulerName": "volcano", "containers": [{"name": "c"}]},
        "metadata": {"name": "p", "namespace": "ml", "annotations": {"scheduling.k8s.io/group-name": "train"}},
    }  # fmt: skip

    def queue_of(spec: Any, *others: Any) -> tuple[str, str | None]:
        world = World()
        for one in (document(spec), pod, *others):
            event = read(one, ["volcano"])
            assert event is not None
            world.apply(event)
        (gang,) = world.compile(0.0).gangs.gangs
        return gang.queue, gang.hold

    team = {"apiVersion": API, "kind": "Queue", "metadata": {"name": "team"}, "spec": {}}
    assert queue_of({}) == queue_of({"queue": "default"}) == ("default", None)
    assert queue_of({}, namespace, team) == queue_of({"queue": "default"}, team, namespace) == ("team", None)
    other = {**team, "metadata": {"name": "other"}}
    assert queue_of({"queue": "other"}, namespace, team, other) == ("other", None)
    lost = f"Namespace ml: metadata.annotations[{key}]: there is no Queue team"
    assert queue_of({}, namespace, other) == ("team", lost)
