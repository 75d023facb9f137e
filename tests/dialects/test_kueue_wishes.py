"""Kueue's annotations for topology on pods, where Kueue itself does not run."""

from typing import Any

import pytest

from phalanx.dialects.read import read
from phalanx.model.events import Refused, TaskSeen
from phalanx.model.gang import Membership, Segments
from phalanx.model.task import Hold

REQUIRED = "kueue.x-k8s.io/podset-required-topology"
PREFERRED = "kueue.x-k8s.io/podset-preferred-topology"
GANG = {"phalanx.dev/gang": "g", "phalanx.dev/minimum": "2"}
RACK, BLOCK = "cloud.example.com/rack", "cloud.example.com/block"


def event(**annotations: str) -> Any:
    container = {"name": "main", "image": "train"}
    return read({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "g-0", "namespace": "ml", "uid": "u", "annotations": annotations},
        "spec": {"schedulerName": "phalanx", "containers": [container]},
    }, ["phalanx"])  # fmt: skip


def membership(**annotations: str) -> Membership | None:
    found = event(**annotations)
    assert isinstance(found, TaskSeen), found
    return found.task.membership


def test_the_wish_of_a_pod_set_is_that_of_the_gang() -> None:
    found = membership(**GANG, **{REQUIRED: BLOCK, PREFERRED: RACK})
    assert found is not None
    assert (found.topology_required, found.topology_preferred) == (BLOCK, RACK)


def test_in_a_subgroup_it_is_that_of_the_subgroup() -> None:
    found = membership(**GANG, **{"phalanx.dev/subgroup": "workers", REQUIRED: RACK})
    assert found is not None
    assert (found.topology_required, found.subgroup_topology_required) == (None, RACK)


def test_a_group_of_another_system_has_the_wish_too_and_our_own_word_goes_first() -> None:
    found = membership(**{"pod-group-name": "train", "phalanx.dev/topology-required": "zone", REQUIRED: RACK})
    assert found is not None
    assert (found.owner is not None, found.topology_required) == (True, "zone")
    found = membership(**{"pod-group-name": "train", PREFERRED: RACK})
    assert found is not None
    assert found.topology_preferred == RACK


def test_a_value_that_is_no_label_is_named() -> None:
    found = event(**GANG, **{REQUIRED: "no label"})
    assert isinstance(found, Refused)
    assert (found.field, found.message) == (
        f"metadata.annotations[{REQUIRED}]", "found 'no label', allowed is the key of a node label",
    )  # fmt: skip


def test_a_pod_in_no_gang_wishes_nothing() -> None:
    assert membership(**{REQUIRED: RACK}) is None


SLICE, SIZE = "kueue.x-k8s.io/podset-slice-required-topology", "kueue.x-k8s.io/podset-slice-size"


def test_slices_are_segments_of_the_gang_or_of_the_subgroup() -> None:
    found = membership(**GANG, **{SLICE: RACK, SIZE: "4"})
    assert found is not None
    assert (found.segments, found.subgroup_segments) == (Segments(4, RACK), None)
    found = membership(**GANG, **{"phalanx.dev/subgroup": "workers", SLICE: RACK, SIZE: "4", REQUIRED: BLOCK})
    assert found is not None
    assert (found.segments, found.subgroup_segments) == (None, Segments(4, RACK))
    assert found.subgroup_topology_required == BLOCK


@pytest.mark.parametrize(
    ("annotations", "field", "message"),
    [
        ({SLICE: RACK}, SLICE, f"means nothing without {SIZE}"),
        ({SIZE: "2"}, SIZE, f"means nothing without {SLICE}"),
        ({f"{SLICE}-constraints": "[]"}, f"{SLICE}-constraints", "slices in slices are not honoured by this version"),
    ],
)
def test_half_a_slice_and_slices_in_slices_are_held(annotations: dict[str, str], field: str, message: str) -> None:
    found = event(**GANG, **annotations)
    assert isinstance(found, TaskSeen), found
    assert found.task.hold == Hold(f"metadata.annotations[{field}]", message)


@pytest.mark.parametrize("size", ["0", "-2", "many", "1000000000"])
def test_a_size_that_is_none_is_named(size: str) -> None:
    found = event(**GANG, **{SLICE: RACK, SIZE: size})
    assert isinstance(found, Refused)
    said = f"found '{size}', allowed is a whole number from 1 to 999999999"
    assert (found.field, found.message) == (f"metadata.annotations[{SIZE}]", said)
