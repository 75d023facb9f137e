"""Stories about gpu_priority: the larger machine first, and everything else as before."""

from phalanx_examples.gpu_priority import GpuPriority

from phalanx.engine.actions.allocate import Allocate
from phalanx.engine.core import decide
from phalanx.engine.plugins.resource_fit import ResourceFit
from phalanx.engine.policy import Policy, Weighted
from phalanx.model.events import NodeSeen, TaskSeen
from phalanx.model.node import Node
from phalanx.model.task import Shape, Task
from phalanx.world.world import World

GPU = "nvidia.com/gpu"


def decided(nodes: dict[str, int], pods: dict[str, int], plugin: GpuPriority, resource: str = GPU) -> list[str]:
    world = World()
    for name, count in nodes.items():
        world.apply(NodeSeen(Node(name, allocatable={resource: count * 1000, "pods": 110})))
    for name, count in pods.items():
        world.apply(TaskSeen(Task(name, "default", name, Shape(((resource, count * 1000), ("pods", 1))))))
    policy = Policy("test", (Allocate(),), (Weighted(ResourceFit()), Weighted(plugin, 5)))
    return [f"{bind.task.removeprefix('default/')} {bind.node}" for bind in decide(world.compile(0.0), policy).binds]


def test_pods_go_to_the_node_with_more_gpus_until_it_is_full() -> None:
    assert decided({"n1": 2, "n2": 4, "n3": 4}, {"a": 2, "b": 2, "c": 4, "d": 1}, GpuPriority()) == [
        "a n2",
        "b n2",
        "c n3",
        "d n1",
    ]


def test_a_cluster_without_gpus_is_judged_by_the_others_alone() -> None:
    assert decided({"n1": 1, "n2": 2}, {"a": 1}, GpuPriority(), "example.com/dongle") == ["a n1"]


def test_another_resource_can_be_meant() -> None:
    dongle = "example.com/dongle"
    assert decided({"n1": 1, "n2": 2}, {"a": 1}, GpuPriority(dongle), dongle) == ["a n2"]
