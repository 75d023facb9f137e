"""Waves: which gangs are split, and who steps back when their time is over. Cluster and simulator decide it alike."""

from dataclasses import replace

from phalanx.loop import Cycle, Loop
from phalanx.model.events import NodeSeen, TaskGone, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.node import Node
from phalanx.model.outcome import Evicted, Result
from phalanx.model.plan import Evict
from phalanx.model.task import Shape, State, Task
from phalanx.world.world import World
from tests.oracles.room import policy_of


def member(number: int, minimum: int = 3, **more: object) -> Task:
    said = Membership("default/g", minimum)
    task = Task(f"g-{number}", "default", f"g-{number}", Shape((("pods", 1),)), membership=said, created=10.0)
    return replace(task, **more)  # type: ignore[arg-type]


def running(number: int, minimum: int = 3, started: float = 20.0) -> Task:
    return member(number, minimum, state=State.RUNNING, node="n1", started=started)


def loop_of(*tasks: Task) -> Loop:
    """Return a loop over a node on which nobody else has room."""
    world = World()
    there = sum(task.charged for task in tasks)
    world.apply(NodeSeen(Node("n1", allocatable={"pods": there})))
    for task in tasks:
        world.apply(TaskSeen(task))
    return Loop(world, policy_of())


def evicted(cycle: Cycle) -> list[str]:
    return [f"{step.uid} {step.action}" for step in cycle.plan.steps if isinstance(step, Evict)]


def stepping_back(*tasks: Task, after: float = 121.0) -> list[str]:
    """Return who must step back some seconds after the first cycle."""
    loop = loop_of(*tasks)
    assert evicted(loop.cycle(1000.0)) == []
    return [step.partition(" ")[0] for step in evicted(loop.cycle(1000.0 + after))]


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
    loop = loop_of(running(0), running(1), member(2))
    loop.cycle(1000.0)
    loop.world.apply(TaskSeen(running(2)))
    loop.cycle(1060.0)
    loop.world.apply(TaskGone("g-2"))
    loop.cycle(1061.0)
    assert evicted(loop.cycle(1300.0)) == []


def test_a_wave_is_due_at_its_deadline_though_nothing_happens_and_steps_back_once() -> None:
    loop = loop_of(running(0), running(1), member(2))
    loop.world.wave_deadline = 30.0
    for at in (1000.0, 1029.5):
        loop.cycle(at)
    assert loop.due(1029.9) is None
    assert loop.next_due == 1030.0
    assert loop.due(1030.0) == "a time came"
    assert evicted(loop.cycle(1030.0)) == ["g-0 step_back", "g-1 step_back"]
    assert evicted(loop.cycle(1100.0)) == []


def test_a_gang_that_was_not_let_go_is_given_the_whole_deadline_again() -> None:
    loop = loop_of(running(0), running(1), member(2))
    loop.cycle(1000.0)
    assert len(evicted(loop.cycle(1120.0))) == 2
    for uid in ("g-0", "g-1"):
        loop.world.confirm(Evicted(uid, Result.REFUSED))
    loop.world.rest("gang/default/g", 1125.0, "g-0 was not evicted")
    for at in (1120.5, 1125.0, 1244.0):
        assert evicted(loop.cycle(at)) == []
    assert len(evicted(loop.cycle(1245.0))) == 2


def test_nobody_steps_back_while_a_bind_is_on_its_way() -> None:
    assert stepping_back(running(0), member(1, state=State.BINDING, node="n1"), member(2)) == []
