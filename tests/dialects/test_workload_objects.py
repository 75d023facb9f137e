"""Workload and PodGroup objects of Kubernetes 1.35, 1.36 and 1.37, to groups."""

import json
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.dialects.mistakes import NAME_ALLOWED
from phalanx.dialects.read import read, read_json
from phalanx.model.events import Event, GroupsSeen, Refused
from phalanx.model.gang import Condition, Group
from phalanx.model.reference import Reference

API = "scheduling.k8s.io"
COUNT = "a whole number from 1 to 2147483647"

WORKLOAD: dict[str, Any] = {
    "apiVersion": f"{API}/v1alpha1", "kind": "Workload",
    "metadata": {"name": "train", "namespace": "ml", "uid": "w-1", "generation": 1},
    "spec": {
        "controllerRef": {"apiGroup": "batch", "kind": "Job", "name": "train"},
        "podGroups": [
            {"name": "workers", "policy": {"gang": {"minCount": 4}}},
            {"name": "watchers", "policy": {"basic": {}}},
        ],
    },
}  # fmt: skip
ALPHA: dict[str, Any] = {
    "apiVersion": f"{API}/v1alpha2", "kind": "PodGroup",
    "metadata": {"name": "train-0", "namespace": "ml", "uid": "g-1", "generation": 3},
    "spec": {
        "schedulingPolicy": {"gang": {"minCount": 4}},
        "podGroupTemplateRef": {"workload": {"workloadName": "train", "podGroupTemplateName": "workers"}},
        "disruptionMode": "PodGroup", "priorityClassName": "high", "priority": 1000,
    },
}  # fmt: skip
BETA: dict[str, Any] = {
    "apiVersion": f"{API}/v1beta1", "kind": "PodGroup",
    "metadata": {"name": "train-0", "namespace": "ml", "uid": "g-1", "generation": 3},
    "spec": {
        "schedulingPolicy": {"gang": {"minCount": 4}},
        "workloadRef": {"workloadName": "train", "templateName": "workers"},
        "disruptionMode": {"all": {}}, "priorityClassName": "high", "priority": 1000,
        "resourceClaims": [{"name": "imex", "resourceClaimTemplateName": "imex"}],
        "preemptionPolicy": "PreemptLowerPriority",
    },
}  # fmt: skip


def changed(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a copy with another value at a path such as `spec.podGroups.0.name`."""
    copy = deepcopy(document)
    *holders, last = path.split(".")
    here: Any = copy
    for step in holders:
        here = here[int(step)] if step.isdigit() else here[step]
    here[int(last) if last.isdigit() else last] = value
    return copy


def seen(document: dict[str, Any]) -> GroupsSeen:
    event = read(document, ["phalanx"])
    assert isinstance(event, GroupsSeen), event
    return event


def group(document: dict[str, Any]) -> Group:
    (only,) = seen(document).groups
    return only


def test_a_workload_of_1_35_holds_its_groups() -> None:
    groups = (Group("workers", 4), Group("watchers", None))
    assert seen(WORKLOAD) == GroupsSeen(Reference("Workload", "ml/train"), groups, f"{API}/v1alpha1", "w-1", 1)


def test_a_pod_group_of_1_36_is_one_group() -> None:
    found = Group("train-0", 4, priority=1000, disrupted_singly=False)
    assert seen(ALPHA) == GroupsSeen(Reference("PodGroup", "ml/train-0"), (found,), f"{API}/v1alpha2", "g-1", 3)


def test_the_0_that_a_server_of_1_36_fills_in_is_nobodys_priority() -> None:
    """Pods of a group may have a priority there when the group has none; in 1.37 they may not."""
    filled = {"schedulingPolicy": {"gang": {"minCount": 4}}, "priority": 0}
    assert group({**ALPHA, "spec": filled}).priority is None
    assert group({**ALPHA, "spec": {**filled, "priorityClassName": "none"}}).priority == 0
    assert group({**BETA, "spec": filled}).priority == 0


def test_a_pod_group_of_1_37_also_binds_the_priority_of_its_pods() -> None:
    found = Group("train-0", 4, priority=1000, priority_binds=True, disrupted_singly=False)
    for version in ("v1beta1", "v1alpha3"):
        expected = GroupsSeen(Reference("PodGroup", "ml/train-0"), (found,), f"{API}/{version}", "g-1", 3)
        assert seen({**BETA, "apiVersion": f"{API}/{version}"}) == expected


def test_a_workload_of_1_36_or_later_is_a_template_and_has_no_groups() -> None:
    templates = {**WORKLOAD, "spec": {"podGroupTemplates": [{"name": "workers"}]}}
    for version in ("v1alpha2", "v1alpha3", "v1beta1"):
        expected = GroupsSeen(Reference("Workload", "ml/train"), (), f"{API}/{version}", "w-1", 1)
        assert seen({**templates, "apiVersion": f"{API}/{version}"}) == expected


def test_what_is_left_out_has_the_defaults_of_the_api() -> None:
    bare = {**BETA, "metadata": {"name": "g"}, "spec": {"schedulingPolicy": {"basic": {}}}}
    assert seen(bare) == GroupsSeen(
        Reference("PodGroup", "default/g"), (Group("g", None, priority_binds=True),), f"{API}/v1beta1"
    )


@pytest.mark.parametrize(
    ("document", "mode", "singly"),
    [
        (ALPHA, "Pod", True), (ALPHA, "PodGroup", False), (ALPHA, None, True),
        (BETA, {"single": {}}, True), (BETA, {"all": {}}, False), (BETA, {"single": None, "all": {}}, False),
    ],
)  # fmt: skip
def test_a_disruption_mode_says_whether_pods_may_leave_one_by_one(
    document: dict[str, Any], mode: object, singly: bool
) -> None:
    assert group(changed(document, "spec.disruptionMode", mode)).disrupted_singly is singly


@pytest.mark.parametrize("document", [ALPHA, BETA])
def test_a_topology_constraint_is_the_level_that_is_required(document: dict[str, Any]) -> None:
    found = group(changed(document, "spec.schedulingConstraints", {"topology": [{"key": "example.com/rack"}]}))
    assert found.topology_required == "example.com/rack"
    assert found.hold is None


def test_a_group_may_be_part_of_a_composite_one() -> None:
    found = group(changed(BETA, "spec.parentCompositePodGroupName", "all"))
    assert (found.hold, found.parent) == (None, Reference("CompositePodGroup", "ml/all"))


@pytest.mark.parametrize("document", [WORKLOAD, ALPHA, BETA])
def test_groups_of_an_object_that_is_being_deleted_are_held(document: dict[str, Any]) -> None:
    """A finalizer keeps a PodGroup as long as it has pods, so this is what a deletion looks like."""
    leaving = seen(changed(document, "metadata.deletionTimestamp", "2026-11-01T12:00:00Z"))
    assert {one.hold for one in leaving.groups} == {"metadata.deletionTimestamp: it is being deleted"}


@pytest.mark.parametrize(("document", "type_"), [(ALPHA, "PodGroupScheduled"), (BETA, "PodGroupInitiallyScheduled")])
def test_the_condition_of_its_version_is_kept_for_whoever_writes_the_next(document: dict[str, Any], type_: str) -> None:
    told = {
        "type": type_, "status": "False", "reason": "Unschedulable", "message": "full",
        "lastTransitionTime": "2026-11-01T12:00:00Z", "observedGeneration": 2,
    }  # fmt: skip
    other = {**told, "type": "DisruptionTarget", "status": "True"}
    found = seen({**document, "status": {"conditions": [other, told]}}).condition
    assert found == Condition("False", "Unschedulable", "full", "2026-11-01T12:00:00Z", 2)
    assert seen({**document, "status": {"conditions": [other]}}).condition is None


@pytest.mark.parametrize(
    ("document", "path", "value", "field", "message"),
    [
        (WORKLOAD, "spec.podGroups", None, "spec.podGroups", "found none, allowed is at least one"),
        (WORKLOAD, "spec.podGroups", [], "spec.podGroups", "found none, allowed is at least one"),
        (WORKLOAD, "spec.podGroups", {}, "spec.podGroups", "found a map, allowed is a list"),
        (WORKLOAD, "spec.podGroups.1.name", "A", "spec.podGroups[1].name", f"found 'A', allowed is {NAME_ALLOWED}"),
        (WORKLOAD, "spec.podGroups.1.name", "workers", "spec.podGroups[1].name",
         "found 'workers' again, allowed is a name that no other group has"),
        (WORKLOAD, "spec.podGroups.0.policy", None, "spec.podGroups[0].policy",
         "found neither, allowed is exactly one of basic, gang"),
        (WORKLOAD, "spec.podGroups.1.policy", {"basic": {}, "gang": {"minCount": 1}}, "spec.podGroups[1].policy",
         "found both, allowed is exactly one of basic, gang"),
        (WORKLOAD, "spec.podGroups.0.policy.gang.minCount", 0, "spec.podGroups[0].policy.gang.minCount",
         f"found 0, allowed is {COUNT}"),
        (ALPHA, "metadata.name", "a/b", "metadata.name", f"found 'a/b', allowed is {NAME_ALLOWED}"),
        (ALPHA, "metadata.namespace", "A", "metadata.namespace", f"found 'A', allowed is {NAME_ALLOWED}"),
        (ALPHA, "spec", None, "spec", "found null, allowed is a map"),
        (ALPHA, "spec.schedulingPolicy", {"elastic": {}}, "spec.schedulingPolicy",
         "found neither, allowed is exactly one of basic, gang"),
        (ALPHA, "spec.schedulingPolicy.gang", {}, "spec.schedulingPolicy.gang.minCount",
         f"found null, allowed is {COUNT}"),
        (ALPHA, "spec.schedulingPolicy.gang.minCount", "4", "spec.schedulingPolicy.gang.minCount",
         "found '4', allowed is a whole number"),
        (ALPHA, "spec.schedulingPolicy.gang.minCount", 2**31, "spec.schedulingPolicy.gang.minCount",
         "found 2147483648, allowed is a whole number <= 2147483647"),
        (ALPHA, "spec.disruptionMode", {"all": {}}, "spec.disruptionMode", "found a map, allowed is Pod, PodGroup"),
        (ALPHA, "spec.priority", "high", "spec.priority", "found 'high', allowed is a whole number"),
        (BETA, "spec.disruptionMode", "PodGroup", "spec.disruptionMode",
         "found 'PodGroup', allowed is exactly one of single, all"),
        (BETA, "spec.disruptionMode", {"all": {}, "single": {}}, "spec.disruptionMode",
         "found 'all', 'single', allowed is exactly one of single, all"),
        (BETA, "spec.disruptionMode", {}, "spec.disruptionMode",
         "found neither, allowed is exactly one of single, all"),
        (BETA, "spec.schedulingConstraints", {"topology": [{"key": "a"}, {"key": "b"}]},
         "spec.schedulingConstraints.topology", "found 2 keys, allowed is one"),
        (BETA, "spec.schedulingConstraints", {"topology": [{"key": "a b"}]},
         "spec.schedulingConstraints.topology[0].key", "found 'a b', allowed is the key of a node label"),
    ],
)  # fmt: skip
def test_a_bad_object_is_refused_and_names_the_field(
    document: dict[str, Any], path: str, value: Any, field: str, message: str
) -> None:
    event = read(changed(document, path, value), ["phalanx"])
    assert isinstance(event, Refused), event
    assert (event.kind, event.field, event.message) == (document["kind"], field, message)


@pytest.mark.parametrize(
    ("kind", "version", "allowed"),
    [
        ("Workload", "v2", "v1alpha1, scheduling.k8s.io/v1alpha2, scheduling.k8s.io/v1alpha3"),
        ("PodGroup", "v1alpha1", "v1alpha2, scheduling.k8s.io/v1alpha3"),
    ],
)
def test_a_version_that_is_not_known_is_refused(kind: str, version: str, allowed: str) -> None:
    event = read({"apiVersion": f"{API}/{version}", "kind": kind, "metadata": {"name": "x", "namespace": "ml"}}, [])
    message = f"found '{API}/{version}', allowed is {API}/{allowed}, {API}/v1beta1"
    assert event == Refused(kind, "ml/x", "apiVersion", message)


def test_objects_of_other_groups_with_these_names_are_not_ours() -> None:
    assert read({**WORKLOAD, "apiVersion": "kueue.x-k8s.io/v1beta1"}, []) is None
    assert read({**ALPHA, "apiVersion": "scheduling.example/v1beta1"}, []) is None


@pytest.mark.parametrize("document", [WORKLOAD, ALPHA, BETA, changed(BETA, "spec.priority", "high")])
def test_bytes_are_read_as_the_decoded_document_is(document: dict[str, Any]) -> None:
    bare = {key: value for key, value in document.items() if key not in {"kind", "apiVersion"}}
    for data in (json.dumps(document).encode(), msgspec.Raw(json.dumps(bare).encode())):
        assert read_json(document["kind"], data, [], document["apiVersion"]) == read(document, [])


def test_bytes_of_a_version_that_nobody_knows_are_no_event() -> None:
    assert read_json("PodGroup", b"{}", [], f"{API}/v1") is None
    assert read_json("PodGroup", b"{}", []) is None


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the path of everything in a document."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, one in inside for place in places(one, (*path, key)))]


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from([0, -1, 2**31, 2**63, 10**400, "Pod", {}]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)


@given(st.sampled_from([WORKLOAD, ALPHA, BETA]), st.data())
def test_no_mutation_of_an_object_raises(document: dict[str, Any], data: st.DataObject) -> None:
    whole = {**document, "status": {"conditions": [{"type": "PodGroupScheduled", "status": "True"}]}}
    able = [place for place in places(whole) if place and place[0] not in {"kind", "apiVersion"}]
    *holders, last = data.draw(st.sampled_from(able))
    copy: Any = deepcopy(whole)
    here = copy
    for step in holders:
        here = here[step]
    here[last] = data.draw(JUNK)
    event: Event | None = read(copy, ["phalanx"])
    assert isinstance(event, GroupsSeen | Refused)
    assert "\n" not in str(event)
