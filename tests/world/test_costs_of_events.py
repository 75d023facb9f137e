"""What changes one object costs what that object touches, however many tasks its namespace has. Counted, not timed."""

import pytest

from phalanx.dialects.read import read
from phalanx.model.budget import Budget
from phalanx.model.events import BudgetSeen, Event, NamespaceSeen, NodeSeen, Refused, TaskSeen
from phalanx.model.node import Node
from phalanx.model.reference import Reference
from phalanx.model.selectors import LabelSelector
from phalanx.model.task import Shape, State, Task
from phalanx.world.world import World

BUDGET = Budget("shop", "web", LabelSelector(), allowed=1)
POD = {
    "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p7", "namespace": "shop", "uid": "u7"},
    "spec": {"schedulerName": "phalanx", "containers": [{"resources": {"requests": {"cpu": "some"}}}]},
}  # fmt: skip


class Tasks(dict[str, Task]):
    """The tasks of a world; notes which of them are looked at."""

    def __init__(self, tasks: dict[str, Task]) -> None:
        super().__init__(tasks)
        self.looked_at: set[str] = set()

    def __getitem__(self, uid: str) -> Task:
        self.looked_at.add(uid)
        return super().__getitem__(uid)


@pytest.fixture
def world() -> World:
    """Half of a hundred tasks wait, and half run."""
    world = World()
    world.apply(NodeSeen(Node("n1", allocatable={"cpu": 9000, "pods": 99})))
    for number in range(100):
        waits = number % 2 == 1
        shape, state = Shape((("pods", 1),)), State.PENDING if waits else State.RUNNING
        world.apply(TaskSeen(Task(f"u{number}", "shop", f"p{number}", shape, state, None if waits else "n1")))
    world.apply(NamespaceSeen("shop", {"team": "a"}))
    world.apply(BudgetSeen(BUDGET))
    world.tasks = world.said._tasks = Tasks(world.tasks)
    return world


def looked_at(world: World) -> set[str]:
    assert isinstance(world.tasks, Tasks)
    return world.tasks.looked_at


def unreadable() -> Event:
    event = read(POD, ["phalanx"])
    assert isinstance(event, Refused)
    assert event.object == Reference("Pod", "shop/p7")
    return event


@pytest.mark.parametrize(
    "event",
    [
        BudgetSeen(Budget("shop", "web", LabelSelector(), allowed=0)),
        NamespaceSeen("shop", {"team": "a"}),
        Refused("Node", "n2", "status", "bad"),
        Refused("Queue", "shop", "spec", "bad", queue=True),
        Refused("PodGroup", "shop/train", "spec", "bad"),
        unreadable(),
    ],
    ids=["a budget's status", "a namespace as it was", "a node", "a queue", "a group", "a pod"],
)
def test_what_touches_no_other_task_looks_at_none(event: Event, world: World) -> None:
    world.apply(event)
    assert looked_at(world) <= {"u7"}


def test_a_waiting_pod_that_cannot_be_read_any_more_is_set_aside_alone(world: World) -> None:
    world.apply(unreadable())
    assert "u7" not in world.tasks
    assert len(world.tasks) == 99


def test_one_whose_uid_cannot_be_read_either_is_found_by_its_name(world: World) -> None:
    world.apply(Refused("Pod", "shop/p9", "metadata.uid", "bad"))
    assert "u9" not in world.tasks
    assert len(world.tasks) == 99


def test_a_budget_that_covers_others_looks_at_its_namespace_once(world: World) -> None:
    world.apply(BudgetSeen(Budget("shop", "web", None, allowed=1)))
    assert len(looked_at(world)) == 100
