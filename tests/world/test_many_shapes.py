"""More shapes than are remembered: no task gets the shape of another."""

import pytest

from phalanx.loop import Loop
from phalanx.model.events import NodeSeen, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.node import Node
from phalanx.model.task import Shape, Task
from phalanx.policy.load import load_policy
from phalanx.world.world import World

GPU = "nvidia.com/gpu"


@pytest.mark.parametrize("others", [1022, 1023, 1024, 1025, 1026])
def test_the_shapes_of_one_gang_are_its_own_whoever_is_forgotten_meanwhile(others: int) -> None:
    """Its first pod needs GPUs, and there are none."""
    world = World()
    world.apply(NodeSeen(Node("n1", allocatable={"cpu": 64_000, "pods": 110})))
    for number in range(others):
        world.apply(
            TaskSeen(Task(f"p{number:04}", "default", f"p{number:04}", Shape((("memory", 1 + number), ("pods", 1)))))
        )
    said = Membership("default/z", 2)
    for name, shape in (("z-0", Shape(((GPU, 8000), ("pods", 1)))), ("z-1", Shape((("cpu", 1000), ("pods", 1))))):
        world.apply(TaskSeen(Task(name, "default", name, shape, membership=said)))
    assert Loop(world, load_policy("default")).cycle(1.0).plan.binds == ()


def test_a_gang_may_have_more_shapes_than_are_remembered() -> None:
    world = World()
    world.apply(NodeSeen(Node("n1", allocatable={"cpu": 64_000_000, "pods": 9999})))
    said = Membership("default/g", 1300)
    for number in range(1300):
        shape = Shape((("cpu", 1 + number), ("pods", 1)))
        world.apply(TaskSeen(Task(f"g{number:04}", "default", f"g{number:04}", shape, membership=said)))
    for now in (1.0, 2.0):
        table = world.compile(now)
        assert [dict(table.shapes[row].requests)["cpu"] for row in table.tasks.shape.tolist()] == list(range(1, 1301))
