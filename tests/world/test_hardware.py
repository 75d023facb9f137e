"""Koordinator's Device objects: what a node is with its object, whichever of the two is seen first, changes or goes."""

from itertools import permutations
from typing import Any

import pytest

from phalanx.dialects.read import read
from phalanx.model.device import Device
from phalanx.model.events import DevicesGone, DevicesSeen, Event, NodeGone, Refused
from phalanx.model.node import Node
from phalanx.model.reference import Reference
from phalanx.world.views import nodes_of
from phalanx.world.world import World

GPU = "nvidia.com/gpu"
NAME = Reference("Device.scheduling.koordinator.sh", "n1")


def gpu(at: int, **more: Any) -> dict[str, Any]:
    topology = {"socketID": 0, "nodeID": at // 2, "pcieID": f"pci{at // 2}", "busID": f"0000:0{at}:00.0"}
    resources = {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory": "24Gi"}
    return {"type": "gpu", "id": f"GPU-{at}", "minor": at, "health": True, "resources": resources,
            "topology": topology} | more  # fmt: skip


def device(*listed: dict[str, Any], labels: Any = None, uid: str = "u") -> Event | None:
    labels = {"node.koordinator.sh/gpu-model": "NVIDIA-L4"} if labels is None else labels
    meta = {"name": "n1", "uid": uid, "labels": labels}
    kind = {"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Device"}
    return read({**kind, "metadata": meta, "spec": {"devices": list(listed)}}, ["phalanx"])


def node(gpus: str | None = "4", annotations: Any = None) -> Event | None:
    amounts = {"cpu": "8"} | ({} if gpus is None else {GPU: gpus})
    meta = {"name": "n1", "annotations": annotations or {}}
    return read({"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": {"allocatable": amounts}}, ["phalanx"])


def after(*events: Event | None) -> Node:
    world = World()
    for event in events:
        assert event is not None
        world.apply(event)
    world.compile(0.0)
    return nodes_of(world)["n1"]


FOUR = (gpu(0), gpu(1), gpu(2), gpu(3, health=False))
#: A PCIe switch for two GPUs each, on two NUMA nodes.
LISTED = tuple(
    Device(GPU, at, f"GPU-{at}", "NVIDIA-L4", 24 << 30, numa=at // 2, group=at // 2, healthy=at != 3) for at in range(4)
)


def test_the_object_says_id_model_memory_numa_node_switch_and_health_of_every_gpu() -> None:
    for events in permutations([node(), device(*FOUR, {"type": "rdma", "minor": 0})]):
        found = after(*events)
        assert found.devices == LISTED
        assert found.allocatable == {"cpu": 8000, GPU: 3000}
        assert found.remarks == ()


def test_without_a_device_plugin_its_healthy_gpus_are_what_there_is() -> None:
    assert after(device(*FOUR), node(None)).allocatable == {"cpu": 8000, GPU: 3000}


def test_what_the_device_plugin_withholds_is_not_taken_off_twice_and_other_counts_are_a_remark() -> None:
    found = after(device(*FOUR), node("2"))
    assert found.allocatable[GPU] == 2000
    assert found.remarks == (f"{NAME} lists 4 of {GPU}, the device plugin counts 2",)


def test_a_cordon_by_number_holds_with_the_object_too() -> None:
    found = after(device(*FOUR), node("4", {"phalanx.dev/cordoned-devices": f"{GPU}=0"}))
    assert [one.index for one in found.devices if one.usable] == [1, 2]
    assert found.allocatable[GPU] == 2000


def test_a_node_is_again_what_it_was_when_its_object_goes_changes_or_cannot_be_read() -> None:
    plain = after(node())
    first, second = device(*FOUR), device(gpu(0), uid="v")
    wrong = device(gpu(0, minor="first"))
    assert isinstance(wrong, Refused)
    assert (wrong.kind, wrong.field) == (NAME.kind, "spec.devices[0].minor")
    assert wrong.message == "found 'first', allowed is a whole number from 0 to 4096"
    assert after(node(), first, wrong) == plain
    assert after(node(), first, DevicesGone(NAME, "u")) == plain
    assert after(node(), first, DevicesGone(NAME)) == plain
    assert after(node(), first, second, DevicesGone(NAME, "u")) == after(node(), second)
    assert after(node(), first, node("3"), DevicesGone(NAME)) == after(node("3"))
    # A node of the same name is another node.
    assert after(node(), first, NodeGone("n1"), DevicesGone(NAME), node("2"), first) == after(node("2"), first)
    assert after(node(), first, NodeGone("n1"), node("2")) == after(node("2"), first)


def test_gpus_of_another_vendor_and_those_of_a_register_say_nothing_new() -> None:
    assert after(node(), device(*FOUR, labels={"node.koordinator.sh/gpu-vendor": "huawei"})) == after(node())
    register = {"hami.io/node-nvidia-register": "GPU-x,10,24576,100,NVIDIA-L4,0,true:"}
    assert after(node("10", register), device(*FOUR)) == after(node("10", register))


@pytest.mark.parametrize(
    ("listed", "field", "message"),
    [
        ((gpu(0), gpu(0)), "spec.devices[1].minor", "found 0 for the second time, allowed is one device of a number"),
        ((gpu(0, minor=None),), "spec.devices[0].minor", "found null, allowed is a whole number from 0 to 4096"),
        ((gpu(0, resources={"koordinator.sh/gpu-memory": "much"}),),
         "spec.devices[0].resources[koordinator.sh/gpu-memory]", "found 'much', allowed is a Kubernetes quantity"),
        ((gpu(0, id="a\nb"),), "spec.devices[0].id", "found 'a\\nb', allowed is a short word"),
        ((gpu(0, topology={"nodeID": "left"}),), "spec.devices[0].topology.nodeID",
         "found 'left', allowed is a whole number"),
        (tuple(gpu(at) for at in range(257)), "spec.devices", "found 257 GPUs, allowed are at most 256"),
    ],
)  # fmt: skip
def test_an_object_that_cannot_be_read_is_one_line(listed: Any, field: str, message: str) -> None:
    found = device(*listed)
    assert isinstance(found, Refused)
    assert (found.field, found.message[: len(message)]) == (field, message)


def test_an_object_without_devices_or_without_topology_is_no_mistake() -> None:
    assert isinstance(device(), DevicesSeen)
    bare = device({"type": "gpu", "minor": 0, "health": True}, labels={})
    assert isinstance(bare, DevicesSeen)
    assert bare.devices == (Device(GPU, 0),)
