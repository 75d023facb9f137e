"""The world between cycles: what is assumed, confirmed, refused, and left alone for a while."""

from dataclasses import replace

import pytest

from phalanx import loop
from phalanx.engine import invariants
from phalanx.engine.invariants import Violation
from phalanx.engine.policy import Policy
from phalanx.loop import Loop
from phalanx.model.events import NodeGone, NodeSeen, Refused, TaskGone, TaskSeen
from phalanx.model.node import Node
from phalanx.model.outcome import Bound, Result
from phalanx.model.plan import Code, Plan
from phalanx.model.reference import Reference
from phalanx.model.snapshot import Snapshot
from phalanx.model.task import Shape, State, Task
from phalanx.policy.load import load_policy
from phalanx.world.world import World

DEFAULT = load_policy("default")
CPU = Shape((("cpu", 1000), ("pods", 1)))


def one_core(name: str = "n1") -> NodeSeen:
    return NodeSeen(Node(name, allocatable={"cpu": 1000, "pods": 10}))


def pod(name: str) -> Task:
    return Task(name, "default", name, CPU)


def world_of(*events: NodeSeen | TaskSeen) -> World:
    world = World()
    for event in events:
        world.apply(event)
    return world


def bound(world: World, now: float = 0.0) -> list[str]:
    return [f"{bind.task.partition('/')[2]} {bind.node}" for bind in Loop(world, DEFAULT).cycle(now).plan.binds]


def test_a_decision_is_charged_before_anybody_answers() -> None:
    world = world_of(one_core(), TaskSeen(pod("a")))
    assert bound(world) == ["a n1"]
    world.apply(TaskSeen(pod("b")))
    assert bound(world) == []


def test_an_unknown_outcome_keeps_its_charge() -> None:
    world = world_of(one_core(), TaskSeen(pod("a")), TaskSeen(pod("b")))
    bound(world)
    world.confirm(Bound("a", "n1", Result.UNKNOWN, 1.0))
    assert bound(world) == []


def test_a_refused_bind_frees_its_place() -> None:
    world = world_of(one_core(), TaskSeen(pod("a")), TaskSeen(pod("b")))
    bound(world)
    world.confirm(Bound("a", "n1", Result.REFUSED, 1.0))
    assert bound(world) == ["a n1"]


def test_a_late_echo_of_an_unbound_pod_does_not_undo_a_bind() -> None:
    world = world_of(one_core(), TaskSeen(pod("a")), TaskSeen(pod("b")))
    bound(world)
    world.apply(TaskSeen(replace(pod("a"), labels={"late": "echo"})))
    assert bound(world) == []
    world.confirm(Bound("a", "n1", Result.OK, 1.0))
    world.apply(TaskSeen(replace(pod("a"), labels={"later": "echo"})))
    assert bound(world) == []
    assert world.tasks["a"].node == "n1"


def test_an_outcome_for_a_pod_that_is_gone_changes_nothing() -> None:
    world = world_of(one_core(), TaskSeen(pod("a")))
    bound(world)
    world.apply(TaskGone("a"))
    world.confirm(Bound("a", "n1", Result.OK, 1.0))
    assert world.tasks == {}


def test_pods_stay_in_the_books_when_their_node_goes_and_comes_back() -> None:
    world = world_of(one_core(), TaskSeen(replace(pod("a"), state=State.RUNNING, node="n1")), TaskSeen(pod("b")))
    world.apply(NodeGone("n1"))
    assert bound(world) == []
    world.apply(one_core())
    assert bound(world) == []


def test_a_pod_of_the_same_name_is_another_pod() -> None:
    world = world_of(one_core(), TaskSeen(replace(pod("a"), state=State.RUNNING, node="n1")))
    world.apply(TaskSeen(replace(pod("a"), uid="a-again")))
    assert bound(world) == []
    world.apply(TaskGone("a"))
    assert bound(world) == ["a n1"]


def test_a_gang_rests_after_a_refusal_and_nobody_wakes_it_early() -> None:
    world = world_of(one_core(), TaskSeen(pod("a")))
    world.rest("Pod/a", 10.0, "its bind was refused: no")
    world.apply(TaskSeen(replace(pod("a"), labels={"a": "change"})))
    waits = Loop(world, DEFAULT).cycle(9.0).plan.waits
    assert [str(wait.reason) for wait in waits] == ["resting: its bind was refused: no"]
    assert not world.due(9.5)
    assert world.due(10.0)
    assert bound(world, 10.0) == ["a n1"]


def test_nothing_is_due_when_nothing_waits_or_nothing_changed() -> None:
    world = world_of(one_core())
    assert not world.due(0.0)
    world.apply(TaskSeen(replace(pod("big"), shape=Shape((("cpu", 9000), ("pods", 1))))))
    assert world.due(0.0)
    Loop(world, DEFAULT).cycle(0.0)
    assert not world.due(1.0)
    world.apply(one_core())
    assert not world.due(1.0)
    world.apply(one_core("n2"))
    assert world.due(1.0)


def test_an_object_that_cannot_be_read_any_more_is_set_aside_and_comes_back_when_it_can() -> None:
    world = world_of(one_core(), TaskSeen(pod("a")))
    world.apply(Refused("Pod", "default/a", "spec.priority", "found x"))
    assert bound(world) == []
    assert list(world.refused) == [Reference("Pod", "default/a")]
    world.apply(TaskSeen(pod("a")))
    assert bound(world) == ["a n1"]
    assert world.refused == {}
    world.apply(Refused("Node", "n1", "status.allocatable.cpu", "found x"))
    world.apply(TaskSeen(pod("b")))
    assert bound(world) == []


def test_sums_on_a_node_stop_instead_of_wrapping() -> None:
    huge = Shape((("memory", 2**53), ("pods", 1)), scored=(100, 2**53))
    running = [TaskSeen(Task(f"p{i}", "d", f"p{i}", huge, State.RUNNING, "n1", ours=False)) for i in range(1100)]
    roomy = NodeSeen(Node("n1", allocatable={"cpu": 1000, "pods": 2000}))
    assert bound(world_of(roomy, *running, TaskSeen(pod("a")))) == ["a n1"]


def test_a_plan_that_breaks_a_promise_sets_its_gang_aside_and_stops_nobody_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Our own mistake, made on purpose: the check believes that `a` must not be placed."""
    world = world_of(one_core("n1"), one_core("n2"), TaskSeen(pod("a")), TaskSeen(pod("b")))
    honest = invariants.check

    def strict(snapshot: Snapshot, policy: Policy, plan: Plan) -> None:
        honest(snapshot, policy, plan)
        broken = tuple(bind.gang_key for bind in plan.binds if bind.uid == "a")
        if broken:
            raise Violation("no a", broken)

    monkeypatch.setattr(loop, "check", strict)
    plan = Loop(world, DEFAULT).cycle(0.0).plan
    assert [bind.uid for bind in plan.binds] == ["b"]
    assert [(wait.gang, wait.reason.code) for wait in plan.waits] == [("default/a", Code.ERROR)]
