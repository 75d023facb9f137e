"""Waves: which gangs are split, and who steps back when their time is over."""

from dataclasses import replace

from phalanx.kube.waves import Waves
from phalanx.model.events import NodeSeen, TaskGone, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.node import Node
from phalanx.model.task import Shape, State, Task
from phalanx.world.world import World


def member(number: int, minimum: int = 3, **more: object) -> Task:
    said = Membership("default/g", minimum)
    task = Task(f"g-{number}", "default", f"g-{number}", Shape((("pods", 1),)), membership=said, created=10.0)
    return replace(task, **more)  # type: ignore[arg-type]


def running(number: int, minimum: int = 3, started: float = 20.0) -> Task:
    return member(number, minimum, state=State.RUNNING, node="n1", started=started)


def stepping_back(*tasks: Task, after: float = 121.0) -> list[str]:
    """Return who must step back some seconds after the waves were first looked at."""
    world = World()
    world.apply(NodeSeen(Node("n1", allocatable={"pods": 9})))
    for task in tasks:
        world.apply(TaskSeen(task))
    waves = Waves()
    waves.review(world, 0.0)
    return [task.name for _, there in waves.overdue(world, after) for task in there]


def test_a_gang_of_which_a_member_was_left_behind_steps_back_after_its_deadline_and_not_before() -> None:
    split = (running(0), running(1), member(2))
    assert stepping_back(*split, after=119.0) == []
    assert stepping_back(*split) == ["g-0", "g-1"]


def test_a_whole_gang_and_one_that_has_not_started_are_left_alone() -> None:
    assert stepping_back(running(0), running(1), running(2)) == []
    assert stepping_back(member(0), member(1), member(2)) == []


def test_a_member_that_a_kubelet_turned_away_leaves_a_split_gang() -> None:
    rejected = member(2, state=State.FAILED, node="n1", started=21.0, finished=22.0)
    assert stepping_back(running(0), running(1), rejected) == ["g-0", "g-1"]


def test_a_gang_whose_minimum_was_raised_while_it_runs_is_not_split() -> None:
    new = member(2, 3, created=500.0)
    assert stepping_back(running(0, 2), running(1, 2), new) == []


def test_members_that_finished_beside_the_others_are_not_missed() -> None:
    done = member(2, state=State.SUCCEEDED, node="n1", started=20.0, finished=90.0)
    assert stepping_back(running(0), running(1), done) == []


def test_a_wave_closes_when_its_gang_is_whole_or_gone() -> None:
    world = World()
    for task in (running(0), running(1), member(2)):
        world.apply(TaskSeen(task))
    waves = Waves()
    waves.review(world, 0.0)
    assert list(waves.open) == ["gang/default/g"]
    world.apply(TaskSeen(running(2)))
    waves.review(world, 60.0)
    assert waves.open == {}
    world.apply(TaskGone("g-2"))
    waves.review(world, 61.0)
    assert waves.open == {}


def test_nobody_steps_back_while_a_bind_is_on_its_way() -> None:
    assert stepping_back(running(0), member(1, state=State.BINDING, node="n1"), member(2)) == []
