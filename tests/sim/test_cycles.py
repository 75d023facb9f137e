"""Between two cycles of a plan binds land, evicted pods leave, and controllers make them again."""

from dataclasses import replace

import pytest

from phalanx.loop import Loop
from phalanx.model.axis import GPU, PODS
from phalanx.model.events import NodeSeen, TaskSeen
from phalanx.model.node import Node
from phalanx.model.plan import Bind, Evict, Nominate, Plan
from phalanx.model.task import Shape, State, Task
from phalanx.policy.load import load_policy
from phalanx.sim.cycles import carry_out, first_now, play, release
from phalanx.world.world import World

RUNNING = Task(
    uid="u1", namespace="ml", name="a", shape=Shape(((GPU, 1000), (PODS, 1))),
    state=State.RUNNING, node="n1", created=100.0, started=110.0, grace=30.0,
)  # fmt: skip
PENDING = replace(RUNNING, uid="u2", name="b", state=State.PENDING, node=None, started=None)


def world_of(*tasks: Task) -> World:
    world = World()
    world.apply(NodeSeen(Node("n1", allocatable={GPU: 1000, PODS: 110})))
    for task in tasks:
        world.apply(TaskSeen(task))
    return world


def test_a_bound_pod_runs_from_the_cycle_that_bound_it() -> None:
    world = world_of(PENDING)
    (plan,) = play(Loop(world, load_policy("default")), 500.0, 1)
    assert plan == Plan(500.0, (Bind("ml/b", "u2", "n1", "ml/b", "Pod/u2"),))
    assert world.tasks["u2"] == replace(PENDING, state=State.RUNNING, node="n1", started=500.0)


def test_cycles_are_a_minute_apart_and_nothing_finishes_by_itself() -> None:
    world = world_of(RUNNING, PENDING)
    plans = list(play(Loop(world, load_policy("default")), 500.0, 3))
    assert [plan.now for plan in plans] == [500.0, 560.0, 620.0]
    assert [(plan.binds, [wait.gang for wait in plan.waits]) for plan in plans] == [((), ["ml/b"])] * 3


def test_an_evicted_pod_keeps_its_place_until_its_grace_has_passed_and_then_is_gone() -> None:
    world = world_of(RUNNING)
    carry_out(world, Plan(500.0, (Evict("ml/a", "u1", "n1", "reclaim", "ml/b", "why"),)))
    leaving = replace(RUNNING, state=State.RELEASING, gone_at=530.0)
    assert world.tasks == {"u1": leaving}
    release(world, 529.9)
    assert world.tasks == {"u1": leaving}
    release(world, 530.0)
    assert world.tasks == {}


def test_a_pod_with_a_controller_comes_back_waiting_under_the_same_name_uid_and_creation() -> None:
    world = world_of(replace(RUNNING, owner="job"))
    carry_out(world, Plan(500.0, (Evict("ml/a", "u1", "n1", "preempt", None, "why"),)))
    release(world, 560.0)
    assert world.tasks == {"u1": replace(RUNNING, owner="job", state=State.PENDING, node=None, started=None)}


def test_a_pod_that_is_being_deleted_is_there_in_the_first_cycle_and_gone_in_the_next() -> None:
    world = world_of(replace(RUNNING, state=State.RELEASING, gone_at=500.0), PENDING)
    first, second = play(Loop(world, load_policy("default")), 500.0, 2)
    assert first.steps == (Nominate("ml/b", "u2", "n1", "ml/b", "Pod/u2"),)
    assert [bind.task for bind in second.binds] == ["ml/b"]


def test_a_nomination_carries_over_until_the_pod_lands() -> None:
    world = world_of(replace(RUNNING, state=State.RELEASING, gone_at=590.0), PENDING)
    nomination = Plan(500.0, (Nominate("ml/b", "u2", "n1", "ml/b", "u2"),))
    world.assume(nomination)
    carry_out(world, nomination)
    assert world.tasks["u2"] == replace(PENDING, nominated="n1")
    release(world, 560.0)
    assert world.tasks["u2"] == replace(PENDING, nominated="n1")
    release(world, 600.0)
    (plan,) = play(Loop(world, load_policy("default")), 600.0, 1)
    assert [bind.task for bind in plan.binds] == ["ml/b"]
    assert world.tasks["u2"] == replace(PENDING, state=State.RUNNING, node="n1", started=600.0)


@pytest.mark.parametrize(
    ("tasks", "now"),
    [
        ((), 0.0),
        ((PENDING,), 100.0),
        ((RUNNING, PENDING), 110.0),
        ((RUNNING, replace(PENDING, created=130.0)), 130.0),
    ],
)
def test_the_first_cycle_is_at_the_latest_creation_or_start(tasks: tuple[Task, ...], now: float) -> None:
    assert first_now(world_of(*tasks)) == now
