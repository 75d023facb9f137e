"""What nodes and objects beside them say of links and NUMA nodes, and what pods say of what must lie together."""

from itertools import permutations
from typing import Any

import pytest

from phalanx.dialects.read import read
from phalanx.model.events import DevicesGone, DevicesSeen, Event, NodeSeen, Refused, TaskSeen
from phalanx.model.node import Node, Zone
from phalanx.model.reference import Reference
from phalanx.world.views import nodes_of
from phalanx.world.world import World

GPU = "nvidia.com/gpu"


def topology(*zones: dict[str, Any], **more: Any) -> Event | None:
    kind = {"apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology"}
    return read({**kind, "metadata": {"name": "n1", "uid": "t"}, "zones": list(zones), **more}, ["phalanx"])


def zone(at: int, **amounts: str) -> dict[str, Any]:
    listed = [{"name": name.replace("_", "/"), "allocatable": one, "available": one} for name, one in amounts.items()]
    return {"name": f"node-{at}", "type": "Node", "resources": listed}


def node(labels: Any = None, annotations: Any = None, gpus: str = "8") -> Node:
    meta = {"name": "n1", "labels": labels or {}, "annotations": annotations or {}}
    status = {"allocatable": {"cpu": "8", GPU: gpus}}
    event = read({"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": status}, ["phalanx"])
    assert isinstance(event, NodeSeen)
    return event.node


def test_zones_and_the_policy_of_the_kubelet() -> None:
    found = topology(
        zone(1, cpu="16"),
        {"name": "node-0", "type": "Node", "resources": [{"name": "cpu", "capacity": "16", "available": "15500m"}]},
        {"name": "socket-0", "type": "Socket"},
        attributes=[
            {"name": "topologyManagerScope", "value": "pod"},
            {"name": "topologyManagerPolicy", "value": "none"},
        ],
    )
    assert isinstance(found, DevicesSeen)
    assert found.zones == (
        Zone(0, (("cpu", 16_000),), (("cpu", 500),)),
        Zone(1, (("cpu", 16_000),), (("cpu", 0),)),
    )
    assert found.numa_policy == "none"
    older = topology(topologyPolicies=["SingleNUMANodeContainerLevel"])
    assert isinstance(older, DevicesSeen)
    assert older.numa_policy == "single-numa-node"


@pytest.mark.parametrize(
    ("zones", "more", "field", "message"),
    [
        ([{"name": "left", "type": "Node"}], {}, "zones[0].name", "found 'left', allowed is a word with a number"),
        ([zone(0), zone(0)], {}, "zones[1].name", "found 0 for the second time"),
        ([zone(0, cpu="many")], {}, "zones[0].resources[0].allocatable", "found 'many'"),
        (
            [],
            {"attributes": [{"name": "topologyManagerPolicy", "value": "strict"}]},
            "attributes[0].value",
            "found 'strict', allowed is none, best-effort, restricted, single-numa-node",
        ),
        ([], {"topologyPolicies": ["Strict"]}, "topologyPolicies[0]", "found 'Strict', allowed is None, "),
    ],
)
def test_a_topology_that_cannot_be_read_is_one_line(zones: Any, more: Any, field: str, message: str) -> None:
    found = topology(*zones, **more)
    assert isinstance(found, Refused)
    assert found.field == field
    assert message in found.message


def test_a_node_is_described_by_each_of_its_objects_in_any_order_and_without_one_that_goes() -> None:
    listed = [{"type": "gpu", "minor": at, "health": True, "topology": {"nodeID": at // 2}} for at in range(4)]
    kind = {"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Device"}
    device = read({**kind, "metadata": {"name": "n1", "uid": "d"}, "spec": {"devices": listed}}, ["phalanx"])
    zones = topology(zone(0, cpu="4"), zone(1, cpu="4"), topologyPolicies=["Restricted"])
    assert device is not None
    assert zones is not None
    gone = DevicesGone(Reference("NodeResourceTopology.topology.node.k8s.io", "n1"), "t")
    for events in permutations([NodeSeen(node(gpus="4")), device, zones]):
        world = World()
        for event in events:
            world.apply(event)
        found = nodes_of(world)["n1"]
        assert [one.numa for one in found.devices] == [0, 0, 1, 1]
        assert [one.id for one in found.zones] == [0, 1]
        assert found.numa_policy == "restricted"
        world.apply(gone)
        found = nodes_of(world)["n1"]
        assert [one.numa for one in found.devices] == [0, 0, 1, 1]
        assert not found.zones
        assert not found.numa_policy


def test_the_label_of_a_node_comes_before_its_object_and_a_wrong_one_is_a_remark() -> None:
    found = node({"node.koordinator.sh/numa-topology-policy": "Restricted"})
    assert (found.numa_policy, found.remarks) == ("restricted", ())
    found = node({"node.koordinator.sh/numa-topology-policy": "Strict"})
    assert found.numa_policy == ""
    (remark,) = found.remarks
    assert remark == (
        "metadata.labels[node.koordinator.sh/numa-topology-policy]: found 'Strict', allowed is BestEffort, Restricted, "
        "SingleNUMANode; it says nothing"
    )


def test_an_annotation_says_which_gpus_are_linked_and_a_label_that_all_are() -> None:
    found = node(annotations={"phalanx.dev/device-links": "nvidia.com/gpu=0-3, 4-6"})
    assert [one.group for one in found.devices] == [0, 0, 0, 0, 1, 1, 1, -1]
    assert not found.remarks
    product = {"nvidia.com/gpu.product": "H100", "nvidia.com/gpu.clique": "7f3c.0"}
    assert [one.group for one in node(product).devices] == [0] * 8


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nvidia.com/gpu=0-8", "it has 8 of these, counted from 0"),
        ("nvidia.com/gpu=0-3,3-5", "allowed is RESOURCE=FIRST-LAST"),
        ("nvidia.com/gpu=3-0", "allowed is RESOURCE=FIRST-LAST"),
        ("nvidia.com/gpu", "allowed is RESOURCE=FIRST-LAST"),
        ("amd.com/gpu=0-3", "it has none of these"),
    ],
)
def test_links_that_cannot_be_read_link_nothing_and_are_one_line(text: str, why: str) -> None:
    found = node(annotations={"phalanx.dev/device-links": text})
    assert not any(one.group != -1 for one in found.devices)
    assert len(found.remarks) == 1
    assert why in found.remarks[0]


def pod(resources: Any, **annotations: str) -> Event | None:
    spec = {"schedulerName": "phalanx", "containers": [{"name": "c", "resources": resources}]}
    meta = {"name": "p", "annotations": {key.replace("_", "-"): one for key, one in annotations.items()}}
    return read({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}, ["phalanx"])


@pytest.mark.parametrize(
    ("resources", "pinned"),
    [
        ({"limits": {"cpu": "2", "memory": "1Gi"}}, True),
        ({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "2000m", "memory": "1024Mi"}}, True),
        ({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}, False),
        ({"limits": {"cpu": "2"}}, False),
        ({"requests": {"cpu": "2", "memory": "1Gi"}}, False),
        ({}, False),
    ],
)
def test_who_is_limited_to_what_he_requests_may_have_cpus_for_himself(resources: Any, pinned: bool) -> None:
    found = pod(resources)
    assert isinstance(found, TaskSeen)
    assert found.task.shape.pinned is pinned


def test_what_must_lie_together_is_link_or_numa() -> None:
    limits = {"limits": {GPU: "2"}}
    found = pod(limits, **{"phalanx.dev/gpu_together": "numa,link"})
    assert isinstance(found, TaskSeen)
    assert found.task.shape.devices is not None
    assert found.task.shape.devices.together == ("link", "numa")
    refused = pod(limits, **{"phalanx.dev/gpu_together": "rack"})
    assert isinstance(refused, Refused)
    assert refused.field == "metadata.annotations[phalanx.dev/gpu-together]"
    assert refused.message == "found 'rack', allowed is link, numa or link,numa"
    parts = {"phalanx.dev/gpu_together": "link", "phalanx.dev/gpu_fraction": "0.5", "phalanx.dev/gpu_devices": "2"}
    held = pod({}, **parts)
    assert isinstance(held, TaskSeen)
    assert held.task.hold is not None
    assert held.task.hold.message == "parts of several GPUs are not kept together inside a node by this version"
