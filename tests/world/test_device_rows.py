"""Device rows: the devices of all nodes as columns, which hold whatever happened before."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phalanx.model.device import DEVICE_RESOURCES, NO_DEVICES, Device, devices_of
from phalanx.model.encoding import encoded
from phalanx.model.events import NodeGone, NodeSeen, TaskSeen
from phalanx.model.node import Node
from phalanx.model.task import Shape, State, Task
from phalanx.world.world import World

GPU = "nvidia.com/gpu"
T4 = Device(GPU, 0, model="T4", memory=16 << 30)


def world_of(*nodes: Node) -> World:
    world = World()
    for node in nodes:
        world.apply(NodeSeen(node))
    return world


def test_every_device_is_a_row_and_every_node_knows_its_rows() -> None:
    mixed = (
        Device(GPU, 0, "GPU-a", "H100", 80 << 30, 0, 7),
        Device(GPU, 1, "GPU-b", "T4", 16 << 30, 1, 7, replicas=4, cordoned=True),
    )
    found = world_of(
        Node("c", allocatable={"cpu": 1000}),
        Node("b", allocatable={GPU: 2000}, devices=mixed),
        Node("a", allocatable={"amd.com/gpu": 1000, GPU: 1000}),
    ).compile(0.0).nodes.devices  # fmt: skip
    assert found.resources == ("amd.com/gpu", GPU)
    assert found.models == ("", "H100", "T4")
    assert found.first.tolist() == [0, 2, 4, 4]
    assert found.node.tolist() == [0, 0, 1, 1]
    assert found.resource.tolist() == [0, 1, 1, 1]
    assert found.model.tolist() == [0, 0, 1, 2]
    assert found.index.tolist() == [0, 0, 0, 1]
    assert found.memory.tolist() == [0, 0, 80 << 30, 16 << 30]
    assert found.numa.tolist() == [-1, -1, 0, 1]
    assert found.group.tolist() == [-1, -1, 7, 7]
    assert found.replicas.tolist() == [1, 1, 1, 4]
    assert found.usable.tolist() == [True, True, True, False]
    assert found.ids == ("", "", "GPU-a", "GPU-b")
    assert found.per_node(found.of_resource(GPU), 3).tolist() == [1, 2, 0]
    assert not found.of_resource("example.com/dongle").any()


def test_nodes_without_devices_have_no_rows() -> None:
    world = world_of(Node("a", allocatable={"cpu": 1000, "example.com/dongle": 4, GPU: 10**12}))
    assert world.compile(0.0).nodes.devices is NO_DEVICES


def test_the_policy_says_which_resources_are_devices() -> None:
    """What a node describes is a device whoever says so."""
    world = world_of(Node("a", allocatable={"example.com/dongle": 2, GPU: 1000, "amd.com/gpu": 1000}, devices=(T4,)))
    world.read_devices(("example.com/*",))
    found = world.compile(0.0).nodes.devices
    assert [found.resources[code] for code in found.resource] == ["example.com/dongle", "example.com/dongle", GPU]
    world.read_devices(DEVICE_RESOURCES)
    assert world.compile(1.0).nodes.devices.resources == ("amd.com/gpu", GPU)


def test_a_world_begins_with_the_table_of_its_policy() -> None:
    world = World(devices=("example.com/*",))
    world.apply(NodeSeen(Node("a", allocatable={"example.com/dongle": 1, GPU: 1000})))
    assert world.compile(0.0).nodes.devices.resources == ("example.com/dongle",)


def test_the_columns_stay_where_only_tasks_changed() -> None:
    world = world_of(Node("a", allocatable={GPU: 1000, "pods": 9}))
    before = world.compile(0.0).nodes.devices
    world.apply(TaskSeen(Task("t", "default", "t", Shape(((GPU, 1000), ("pods", 1))), State.RUNNING, "a")))
    after = world.compile(1.0).nodes
    assert after.free[0, 4] == 0
    assert after.devices is before


def test_nobody_writes_them() -> None:
    found = world_of(Node("a", allocatable={GPU: 1000})).compile(0.0).nodes.devices
    for name in ("first", "node", "resource", "model", "index", "memory", "numa", "group", "replicas", "usable"):
        assert not np.asarray(getattr(found, name)).flags.writeable, name


DEVICES = st.builds(
    Device,
    st.sampled_from([GPU, "nvidia.com/mig-1g.10gb"]),
    st.integers(0, 3),
    model=st.sampled_from(["", "T4", "H100"]),
    memory=st.sampled_from([0, 16 << 30]),
    healthy=st.booleans(),
    cordoned=st.booleans(),
)
NODES = st.builds(
    lambda name, gpus, devices: Node(name, allocatable={"cpu": 1000, GPU: gpus * 1000}, devices=tuple(sorted(devices))),
    st.sampled_from("abc"), st.integers(0, 3), st.lists(DEVICES, max_size=3, unique_by=lambda d: (d.resource, d.index)),
)  # fmt: skip


@given(st.lists(NODES.map(NodeSeen) | st.sampled_from("abc").map(NodeGone) | st.sampled_from([(), (GPU,)]), max_size=9))
def test_a_world_kept_up_to_date_has_the_columns_of_a_fresh_one(
    events: list[NodeSeen | NodeGone | tuple[str, ...]],
) -> None:
    world, table = World(), DEVICE_RESOURCES
    for event in events:
        if isinstance(event, tuple):
            table = event
            world.read_devices(event)
        else:
            world.apply(event)
        kept = world.compile(0.0)
        fresh = World()
        fresh.read_devices(table)
        for node in world.nodes.values():
            fresh.apply(NodeSeen(node))
        assert encoded(kept.nodes.devices) == encoded(fresh.compile(0.0).nodes.devices)


@given(st.lists(NODES, max_size=4, unique_by=lambda node: node.name))
def test_kinds_count_the_places_of_usable_devices_that_are_alike(drawn: list[Node]) -> None:
    nodes = world_of(*drawn).compile(0.0).nodes
    kinds = nodes.devices.kinds
    found = {
        (
            nodes.names[node],
            kinds.resources[kinds.resource[kind]],
            kinds.models[kinds.model[kind]],
            kinds.memory[kind],
        ): n
        for node, kind, n in zip(kinds.node.tolist(), kinds.kind.tolist(), kinds.places.tolist(), strict=True)
    }
    expected = Counter[tuple[str, str, str, int]]()
    for node in drawn:
        for one in devices_of(node.devices, node.allocatable, DEVICE_RESOURCES):
            if one.usable:
                expected[node.name, one.resource, one.model, one.memory] += one.replicas
    assert found == expected
    assert len(kinds.model) == len({key[1:] for key in expected})
    assert nodes.devices.kinds is kinds
