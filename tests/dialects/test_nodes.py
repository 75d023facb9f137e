"""Nodes: what they have, who may come, and when they are set aside."""

from typing import Any

import pytest

from phalanx.dialects.mistakes import NAME_ALLOWED
from phalanx.dialects.read import read
from phalanx.model.events import Event, NodeSeen, Refused
from phalanx.model.node import Node, Taint


def seen(spec: Any = None, status: Any = None, **meta: Any) -> Event | None:
    meta = {"name": "n1", **meta}
    return read({"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": spec, "status": status}, ["phalanx"])


def node(spec: Any = None, status: Any = None, **meta: Any) -> Node:
    event = seen(spec, status, **meta)
    assert isinstance(event, NodeSeen), event
    return event.node


def test_a_node_with_everything() -> None:
    found = node(
        {"unschedulable": True, "taints": [
            {"key": "gpu", "value": "h100", "effect": "NoSchedule"}, {"key": "cold", "effect": "PreferNoSchedule"},
        ]},
        {"allocatable": {"cpu": "63.5", "memory": "1Ti", "nvidia.com/gpu": "8", "pods": "110", "hugepages-1Gi": "0"},
         "capacity": {"cpu": "64"}, "conditions": [{"type": "DiskPressure", "status": "False"},
                                                   {"type": "Ready", "status": "True"}]},
        uid="u1", labels={"zone": "a"},
    )  # fmt: skip
    assert found == Node(
        "n1", "u1", {"cpu": 63_500, "memory": 2**40, "nvidia.com/gpu": 8000, "pods": 110}, {"zone": "a"},
        (Taint("cold", "", "PreferNoSchedule"), Taint("gpu", "h100", "NoSchedule")), ready=True, cordoned=True,
    )  # fmt: skip


def test_a_node_without_spec_and_status_has_nothing_and_is_ready() -> None:
    assert node() == Node("n1")


@pytest.mark.parametrize(
    ("status", "allocatable"),
    [
        ({"capacity": {"cpu": "4"}}, {"cpu": 4000}),
        ({"allocatable": None, "capacity": {"cpu": "4"}}, {"cpu": 4000}),
        ({"allocatable": {}, "capacity": {"cpu": "4"}}, {}),
        ({"allocatable": {"memory": "1500m"}}, {"memory": 1}),
    ],
)
def test_capacity_stands_in_only_where_allocatable_is_absent(status: Any, allocatable: dict[str, int]) -> None:
    assert node(None, status).allocatable == allocatable


@pytest.mark.parametrize(
    ("conditions", "ready"),
    [
        (None, True), ([], True), ([{"type": "Other", "status": "False"}], True),
        ([{"type": "Ready", "status": "True"}], True), ([{"type": "Ready", "status": "False"}], False),
        ([{"type": "Ready", "status": "Unknown"}], False), ([{"type": "Ready"}], False),
    ],
)  # fmt: skip
def test_a_node_is_ready_unless_it_says_otherwise(conditions: Any, ready: bool) -> None:
    assert node(None, {"conditions": conditions}).ready is ready


@pytest.mark.parametrize(
    ("spec", "status", "field", "message"),
    [
        (None, {"allocatable": {"nvidia.com/gpu": "1e30"}}, "status.allocatable[nvidia.com/gpu]",
         "found '1e30', allowed is at most 2^53 of the smallest unit"),
        (None, {"capacity": {"cpu": None}}, "status.capacity.cpu",
         "found null, allowed is a Kubernetes quantity such as 2, 500m, 1.5 or 8Gi"),
        (None, {"allocatable": {"g\x1b[0mpu": "1"}}, r"status.allocatable['g\x1b[0mpu']",
         r"found 'g\x1b[0mpu', allowed is the name of a resource such as cpu or nvidia.com/gpu"),
        ({"taints": [{"key": "a", "effect": "NoRun"}]}, None, "spec.taints[0].effect",
         "found 'NoRun', allowed is NoSchedule, PreferNoSchedule, NoExecute"),
        ({"taints": [{"key": "a"}]}, None, "spec.taints[0].effect",
         "found null, allowed is NoSchedule, PreferNoSchedule, NoExecute"),
        ({"taints": [{"effect": "NoSchedule"}]}, None, "spec.taints[0].key", "missing"),
        ({"taints": [{"key": "a", "value": "\n", "effect": "NoSchedule"}]}, None, "spec.taints[0].value",
         r"found '\n', allowed is one printable word"),
        ({"taints": {"key": "a"}}, None, "spec.taints", "found a map, allowed is a list"),
        ({"unschedulable": "yes"}, None, "spec.unschedulable", "found 'yes', allowed is true or false"),
        (None, {"allocatable": []}, "status.allocatable", "found a list, allowed is a map"),
    ],
)  # fmt: skip
def test_a_mistake_anywhere_sets_the_whole_node_aside(spec: Any, status: Any, field: str, message: str) -> None:
    assert seen(spec, status) == Refused("Node", "n1", field, message)


def test_a_node_needs_a_name_that_can_be_said() -> None:
    message = rf"found 'n\x001', allowed is {NAME_ALLOWED}"
    assert seen(name="n\x001") == Refused("Node", r"'n\x001'", "metadata.name", message)
