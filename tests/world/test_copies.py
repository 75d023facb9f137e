"""A world that has decided can be copied: the fault tests lay the books of a running scheduler beside fresh ones so."""

from copy import deepcopy

from phalanx.model.events import TaskSeen
from phalanx.model.task import Shape, Task
from phalanx.world.world import World


def test_a_world_that_was_compiled_is_copied_whole() -> None:
    world = World()
    world.apply(TaskSeen(Task("u", "default", "a", Shape((("cpu", 1000), ("pods", 1))))))
    world.compile(0.0)
    assert deepcopy(world).tasks == world.tasks
