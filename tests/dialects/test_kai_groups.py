"""KAI's PodGroup objects, to groups."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.dialects.mistakes import NAME_ALLOWED
from phalanx.dialects.read import read
from phalanx.model.events import GroupsSeen, Refused
from phalanx.model.gang import Group, Subgroup, leaves
from phalanx.model.reference import Reference

API = "scheduling.run.ai/v2alpha2"
KIND = "PodGroup.scheduling.run.ai"
TOPOLOGY = Reference("Topology.kai.scheduler", "t")
DEFAULTS: dict[str, Any] = {"priority_absent": 50, "fixed_from": 100}


def document(spec: Any, **meta: Any) -> dict[str, Any]:
    return {
        "apiVersion": API, "kind": "PodGroup", "metadata": {"name": "train", "namespace": "ml", **meta}, "spec": spec,
    }  # fmt: skip


def group(spec: Any, **meta: Any) -> Group:
    event = read(document(spec, **meta), [])
    assert isinstance(event, GroupsSeen), event
    (only,) = event.groups
    return only


def test_a_pod_group_is_one_group_with_its_queue_and_its_priority_class() -> None:
    spec = {
        "minMember": 4, "queue": "team-a", "priorityClassName": "build", "preemptibility": "preemptible",
        "topologyConstraint": {"topology": "t", "preferredTopologyLevel": "rack"},
        "markUnschedulable": True, "schedulingBackoff": 1, "backoffLimit": 3,
    }  # fmt: skip
    expected = Group(
        "train", 4, topology_preferred="rack", topology=TOPOLOGY, queue="team-a", priority_class="build",
        priority_absent=50, preemptible=True, fixed_from=100, created=1_793_534_400.0,
    )  # fmt: skip
    meta = {"uid": "g-1", "generation": 5, "creationTimestamp": "2026-11-01T12:00:00Z"}
    assert read(document(spec, **meta), []) == GroupsSeen(Reference(KIND, "ml/train"), (expected,), API, "g-1", 5)


def test_what_is_left_out_has_the_defaults_of_kai() -> None:
    assert group({}) == Group("train", 1, **DEFAULTS)
    empty = {"queue": "", "priorityClassName": "", "preemptibility": "", "subGroups": [], "topologyConstraint": {}}
    assert group(empty) == Group("train", 1, **DEFAULTS)


def test_a_minimum_of_subgroups_asks_for_so_many_of_them() -> None:
    listed = [
        {"name": "a", "minSubGroup": 1}, {"name": "a1", "parent": "a", "minMember": 3},
        {"name": "a2", "parent": "a", "minMember": 2}, {"name": "b", "minMember": 9},
    ]  # fmt: skip
    inside = Subgroup("a", 0, (Subgroup("a1", 3), Subgroup("a2", 2)), groups=1)
    expected = Group("train", 2, subgroups=(inside, Subgroup("b", 9)), groups=1, **DEFAULTS)
    assert group({"minSubGroup": 1, "subGroups": listed}) == expected


def test_what_must_not_be_preempted_says_so() -> None:
    assert group({"preemptibility": "non-preemptible"}).preemptible is False


def test_subgroups_are_a_tree_and_the_minimum_is_that_of_its_leaves() -> None:
    """KAI looks at `minMember` of the group only where there are no subgroups, and on sets of subgroups never."""
    spec = {
        "minMember": 99,
        "subGroups": [
            {"name": "workers", "parent": "train", "minMember": 4},
            {"name": "train", "minMember": 7, "topologyConstraint": {"preferredTopologyLevel": "rack"}},
            {"name": "leader", "parent": "train"},
            {"name": "eval", "minMember": 2, "parent": None},
        ],
    }
    inside = (Subgroup("leader", 1), Subgroup("workers", 4))
    tree = (Subgroup("eval", 2), Subgroup("train", 0, inside, topology_preferred="rack"))
    assert group(spec) == Group("train", 7, subgroups=tree, **DEFAULTS)


@pytest.mark.parametrize(
    ("spec", "meta", "hold"),
    [
        ({}, {"deletionTimestamp": "2026-11-01T12:00:00Z"}, "metadata.deletionTimestamp: it is being deleted"),
    ],
)  # fmt: skip
def test_a_group_that_may_not_be_placed_is_read_and_held(spec: Any, meta: dict[str, Any], hold: str) -> None:
    assert group(spec, **meta).hold == hold


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"minMember": 0}, "minMember", "found 0, allowed is a whole number >= 1"),
        ({"minMember": "4"}, "minMember", "found '4', allowed is a whole number"),
        ({"queue": "A"}, "queue", f"found 'A', allowed is {NAME_ALLOWED}"),
        ({"preemptibility": "maybe"}, "preemptibility", "found 'maybe', allowed is preemptible, non-preemptible"),
        ({"subGroups": [{"name": ""}]}, "subGroups[0].name", f"found '', allowed is {NAME_ALLOWED}"),
        ({"subGroups": [{"minMember": 1}]}, "subGroups[0].name", "missing"),
        ({"subGroups": [{"name": "a"}, {"name": "a"}]}, "subGroups[1].name",
         "found 'a' again, allowed is a name that no other subgroup has"),
        ({"subGroups": [{"name": "a", "parent": "b"}]}, "subGroups[0].parent",
         "found 'b', allowed is another subgroup's name"),
        ({"subGroups": [{"name": "a", "parent": "a"}]}, "subGroups[0].parent", "found a in a, allowed is a tree"),
        ({"minSubGroup": 2, "subGroups": [{"name": "a"}]}, "minSubGroup",
         "found 2, allowed is at most 1, the number of its subgroups"),
        ({"subGroups": [{"name": "a", "minSubGroup": 1}]}, "subGroups[0].minSubGroup",
         "found 1, allowed is at most 0, the number of its subgroups"),
        ({"subGroups": [{"name": "x", "parent": "a"}, {"name": "a", "parent": "b"}, {"name": "b", "parent": "a"}]},
         "subGroups[1].parent", "found a in b in a, allowed is a tree"),
        ({"subGroups": [{"name": "a0"}, *[{"name": f"a{n}", "parent": f"a{n - 1}"} for n in range(1, 2000)]]},
         "subGroups[32].parent", "found 33 levels, allowed is at most 32"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_field_and_the_system_of_the_group(spec: Any, field: str, message: str) -> None:
    assert read(document(spec), []) == Refused(KIND, "ml/train", f"spec.{field}", message)


def names(tree: Iterable[Subgroup]) -> list[str]:
    return [name for one in tree for name in (one.name, *names(one.children))]


@given(st.lists(st.none() | st.integers(0, 9), max_size=10))
def test_any_parents_make_a_tree_of_all_subgroups_or_are_refused(parents: list[int | None]) -> None:
    listed = [
        {"name": f"s{index}", "minMember": index + 1, **({} if parent is None else {"parent": f"s{parent}"})}
        for index, parent in enumerate(parents)
    ]
    event = read(document({"subGroups": listed}), [])
    if isinstance(event, Refused):
        assert event.field.startswith("spec.subGroups[")
        return
    assert isinstance(event, GroupsSeen)
    found = event.groups[0]
    assert sorted(names(found.subgroups)) == sorted(f"s{index}" for index in range(len(parents)))
    assert found.minimum == (sum(leaf.minimum for leaf in leaves(found.subgroups)) or 1)
    assert {leaf.name for leaf in leaves(found.subgroups)} == {
        f"s{index}" for index in range(len(parents)) if index not in parents
    }
