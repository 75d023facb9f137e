"""Volcano's Queue objects, to queues: a weight for everything, what is deserved, and what is kept."""

from typing import Any

import pytest

from phalanx.dialects.mistakes import NAME_ALLOWED
from phalanx.dialects.read import read
from phalanx.model.events import QueueSeen, Refused
from phalanx.model.queue import UNLIMITED, Queue, Terms

API = "scheduling.volcano.sh/v1beta1"
KIND = "Queue.scheduling.volcano.sh"
AFFINITY = "requiredDuringSchedulingIgnoredDuringExecution"


def document(spec: Any, name: str = "research", **status: Any) -> dict[str, Any]:
    return {"apiVersion": API, "kind": "Queue", "metadata": {"name": name}, "spec": spec, "status": status}


def queue(spec: Any, name: str = "research", **status: Any) -> Queue:
    event = read(document(spec, name, **status), [])
    assert isinstance(event, QueueSeen), event
    return event.queue


def test_a_queue_has_its_weight_in_every_resource_and_what_it_deserves_guaranteed() -> None:
    spec = {
        "weight": 3, "priority": 7, "parent": "lab", "reclaimable": False,
        "capability": {"cpu": 8, "volcano.sh/vgpu-number": 4}, "deserved": {"cpu": "6", "memory": "8Gi"},
        "guarantee": {"resource": {"cpu": "2", "nvidia.com/gpu": 1}},
        "type": "any", "dequeueStrategy": "fifo", "extendClusters": [{"name": "c", "weight": 1}],
    }  # fmt: skip
    found = queue(spec)
    assert found.terms == {
        "cpu": Terms(6000, 8000, 3000, reserved=2000),
        "memory": Terms(8 * 2**30, UNLIMITED, 3000),
        "nvidia.com/gpu": Terms(1000, UNLIMITED, 3000, reserved=1000),
        "volcano.sh/vgpu-number": Terms(0, 4, 3000),
    }
    assert (found.parent, found.priority, found.reclaimable, found.hold, found.kind) == ("lab", 7, False, None, KIND)


def test_every_queue_is_below_the_root_and_root_and_default_need_no_object() -> None:
    found = queue({})
    assert found.parent == "root"
    assert [(one.name, one.parent) for one in found.companions] == [("root", None), ("default", "root")]
    assert queue({"parent": "root"}) == found
    root = queue({"capability": {"cpu": "4"}}, "root")
    assert (root.parent, root.terms) == (None, {"cpu": Terms(0, 4000)})


@pytest.mark.parametrize(
    ("spec", "status", "hold"),
    [
        ({}, {}, None),
        ({}, {"state": "Open"}, None),
        ({}, {"state": "Closed"}, "status.state: 'Closed', and only an Open queue takes new work"),
        ({}, {"state": "Closing"}, "status.state: 'Closing', and only an Open queue takes new work"),
        ({}, {"state": "Unknown"}, "status.state: 'Unknown', and only an Open queue takes new work"),
        ({"affinity": {"nodeGroupAffinity": {AFFINITY: ["g1"]}}}, {},
         f"spec.affinity.nodeGroupAffinity.{AFFINITY}: not honoured by this version"),
        ({"affinity": {"nodeGroupAntiAffinity": {AFFINITY: ["g1"]}}}, {},
         f"spec.affinity.nodeGroupAntiAffinity.{AFFINITY}: not honoured by this version"),
    ],
)  # fmt: skip
def test_a_queue_that_is_not_open_or_wants_node_groups_takes_no_new_work(spec: Any, status: Any, hold: Any) -> None:
    assert queue(spec, **status).hold == hold


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"weight": 0}, "weight", "found 0, allowed is a whole number >= 1"),
        ({"weight": 65536}, "weight", "found 65536, allowed is a whole number <= 65535"),
        ({"priority": -1}, "priority", "found -1, allowed is a whole number >= 0"),
        ({"capability": {"cpu": "x"}}, "capability.cpu",
         "found 'x', allowed is a Kubernetes quantity such as 2, 500m, 1.5 or 8Gi"),
        ({"deserved": {"cpu": 4}, "capability": {"cpu": 2}}, "deserved[cpu]",
         "found 4, allowed is at most 2, as spec.capability says"),
        ({"guarantee": {"resource": {"cpu": 4}}, "deserved": {"cpu": 2}}, "guarantee.resource[cpu]",
         "found 4, allowed is at most 2, as spec.deserved says"),
        ({"guarantee": {"resource": {"memory": "4Gi"}}, "capability": {"memory": "2Gi"}}, "guarantee.resource[memory]",
         "found 4Gi, allowed is at most 2Gi, as spec.capability says"),
        ({"parent": "research"}, "parent", "found 'research', allowed is another queue than itself"),
        ({"parent": "A"}, "parent", f"found 'A', allowed is {NAME_ALLOWED}"),
        ({"reclaimable": "yes"}, "reclaimable", "found 'yes', allowed is true or false"),
        ({"dequeueStrategy": "lifo"}, "dequeueStrategy", "found 'lifo', allowed is fifo, traverse"),
        ({"affinity": {"nodeGroupAffinity": {AFFINITY: "g1"}}}, f"affinity.nodeGroupAffinity.{AFFINITY}",
         "found 'g1', allowed is a list"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_field(spec: Any, field: str, message: str) -> None:
    assert read(document(spec), []) == Refused(KIND, "research", f"spec.{field}", message, queue=True)


@pytest.mark.parametrize(
    ("path", "weights", "message"),
    [
        ("root/eng/dev", "1/2", "found '1/2', allowed are as many weights as volcano.sh/hierarchy has steps"),
        ("root/eng", "1/x", "found 'x', allowed is a number above 0"),
        ("root/eng", "1/0", "found '0', allowed is a number above 0"),
        ("", "1/2", "found '1/2', allowed are as many weights as volcano.sh/hierarchy has steps"),
    ],
)
def test_a_hierarchy_that_volcanos_webhook_refuses_is_refused_here_too(path: str, weights: str, message: str) -> None:
    """It means nothing here: the tree is that of `spec.parent`. But who made it is told."""
    given = {"volcano.sh/hierarchy": path, "volcano.sh/hierarchy-weights": weights}
    one = document({})
    one["metadata"]["annotations"] = given
    field = "metadata.annotations[volcano.sh/hierarchy-weights]"
    assert read(one, []) == Refused(KIND, "research", field, message, queue=True)
    one["metadata"]["annotations"] = {"volcano.sh/hierarchy": "root/eng", "volcano.sh/hierarchy-weights": "1/0.5"}
    assert isinstance(read(one, []), QueueSeen)


def test_nothing_is_above_the_root() -> None:
    said = "found 'lab', allowed is none: root is above all others"
    assert read(document({"parent": "lab"}, "root"), []) == Refused(KIND, "root", "spec.parent", said, queue=True)
