"""One property per promise, for any cluster hypothesis can think of."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from phalanx.engine.decide import decide
from phalanx.engine.invariants import Violation, check
from phalanx.engine.opening import open_session
from phalanx.engine.placement.copies import copies
from phalanx.engine.placement.find import find
from phalanx.engine.policy import Policy
from phalanx.engine.session.request import Request, When
from phalanx.engine.session.session import Session
from phalanx.loop import Loop
from phalanx.model.axis import Int
from phalanx.model.events import Event, NamespaceSeen, NodeGone, NodeSeen, TaskGone, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.node import Node
from phalanx.model.plan import Bind, Code, Plan
from phalanx.model.running import RunningTable
from phalanx.model.snapshot import Snapshot
from phalanx.model.task import Shape, State, Task
from phalanx.policy.load import load_policy
from phalanx.testing.scenario import ALLOCATE
from phalanx.testing.strategies import clusters, nodes, shapes
from phalanx.world.world import World

DEFAULT = load_policy("default")
POD_BY_POD = load_policy("pod-by-pod")
POLICIES = pytest.mark.parametrize("policy", [DEFAULT, POD_BY_POD], ids=["default", "pod-by-pod"])


def world_of(events: Sequence[Event]) -> World:
    world = World()
    for event in events:
        world.apply(event)
    return world


@POLICIES
@given(clusters())
def test_no_plan_oversubscribes_a_node_in_any_resource(policy: Policy, events: list[Event]) -> None:
    """Counted here by hand from the objects, not from the engine's own arrays."""
    world = world_of(events)
    used: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for task in world.tasks.values():
        if task.charged and task.node:
            for name, amount in task.shape.requests:
                used[task.node][name] += amount
    before = {node: dict(amounts) for node, amounts in used.items()}
    plan = Loop(world, policy).cycle(10.0).plan
    for bind in plan.binds:
        for name, amount in world.tasks[bind.uid].shape.requests:
            used[bind.node][name] += amount
    for node, amounts in used.items():
        for name, amount in amounts.items():
            grew = amount > before.get(node, {}).get(name, 0)
            assert not grew or amount <= world.nodes[node].allocatable.get(name, 0), (node, name)


@given(clusters())
def test_no_plan_splits_a_gang_or_a_subgroup_below_its_minimum(events: list[Event]) -> None:
    world = world_of(events)
    plan = Loop(world, DEFAULT).cycle(10.0).plan
    for gang in {bind.gang for bind in plan.binds}:
        members = [task for task in world.tasks.values() if task.membership and task.membership.gang == gang]
        if members:
            newest = max(members, key=lambda task: (task.created, task.name)).membership
            there = [task for task in members if task.state in {State.BINDING, State.RUNNING}]
            finished = [task for task in members if task.state is State.SUCCEEDED]
            assert newest is not None
            assert newest.minimum is not None
            assert len(there) + len(finished) >= newest.minimum
            named = {task.membership.subgroup for task in members if task.membership and task.membership.subgroup}
            for name in named:
                own = [task for task in (*there, *finished) if task.membership and task.membership.subgroup == name]
                assert own, name


@POLICIES
@given(clusters(), st.randoms(use_true_random=False))
def test_the_order_of_events_does_not_change_the_plan(policy: Policy, events: list[Event], chance: object) -> None:
    shuffled = list(events)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert Loop(world_of(events), policy).cycle(10.0).plan == Loop(world_of(shuffled), policy).cycle(10.0).plan


@given(clusters(), st.data())
def test_rollback_restores_every_array_bit_for_bit_and_every_answer(events: list[Event], data: st.DataObject) -> None:
    snapshot = world_of(events).compile(10.0)
    assume(len(snapshot.shapes))
    session = open_session(snapshot, DEFAULT)
    shape_numbers = st.integers(0, len(snapshot.shapes) - 1)

    def answers() -> list[bytes]:
        every = [Request(shape, 3, when=when) for shape in range(len(snapshot.shapes)) for when in When]
        rooms = [copies(session, DEFAULT, request) for request in every]
        places = [find(session, DEFAULT, request) for request in every]
        return [array.tobytes() for array in (*arrays(session), *rooms, *places)]

    marks = []
    for _ in range(data.draw(st.integers(1, 5))):
        marks.append((session.checkpoint(), answers(), list(session.log)))
        shape = data.draw(shape_numbers)
        mine = np.flatnonzero(snapshot.tasks.shape == shape)
        request = Request(shape, len(mine), when=data.draw(st.sampled_from(When)))
        found = find(session, DEFAULT, request)
        session.take(request, mine[: len(found)], found)
        answers()
    for mark, expected, log in data.draw(
        st.permutations(marks).map(lambda kept: sorted(kept, key=lambda m: m[0].journal, reverse=True))
    ):
        session.rollback(mark)
        assert answers() == expected
        assert session.log == log


def arrays(session: Session) -> list[Int]:
    """Return everything that rollback restores."""
    books = [session.ledger.books(name) for name in session.ledger.names]
    own = [session.place, session.promise, session.served, session.evicted, session.budgets, session.scored]
    queues = [session.queues.allocated, session.queues.fixed]
    return [*(array for one in books for array in (one.free, one.leaving, one.promised)), *own, *queues]


@given(clusters(), st.data())
def test_a_world_kept_up_to_date_equals_one_built_from_a_fresh_list(  # noqa: C901 (one branch per event)
    events: list[Event], data: st.DataObject
) -> None:
    world = world_of(events)
    world.look_for_victims(wanted=True)
    names = [event.node.name for event in events if isinstance(event, NodeSeen)]
    for _ in range(data.draw(st.integers(1, 6))):
        world.compile(1.0)
        tasks = sorted(world.tasks)
        kind = data.draw(st.sampled_from(["node", "gone", "move", "drop", "cycle", "reshape"]))
        if kind == "node":
            world.apply(NodeSeen(data.draw(nodes(data.draw(st.sampled_from([*names, "extra"]))))))
        elif kind == "gone":
            world.apply(NodeGone(data.draw(st.sampled_from(names))))
        elif kind == "cycle":
            Loop(world, ALLOCATE).cycle(2.0)
        elif tasks:
            task = world.tasks[data.draw(st.sampled_from(tasks))]
            if kind == "drop":
                world.apply(TaskGone(task.uid))
            elif kind == "reshape":
                world.apply(TaskSeen(replace(task, shape=data.draw(shapes()))))
            else:
                state = data.draw(st.sampled_from([State.RUNNING, State.RELEASING, State.SUCCEEDED]))
                world.apply(TaskSeen(replace(task, state=state, node=data.draw(st.sampled_from(names)), finished=5.0)))
    fresh = World()
    fresh.look_for_victims(wanted=True)
    for name, labels in world.namespaces.items():
        fresh.apply(NamespaceSeen(name, labels))
    for node in world.nodes.values():
        fresh.apply(NodeSeen(node))
    for task in reversed(list(world.tasks.values())):
        fresh.apply(TaskSeen(task))
    assert_same(world.compile(3.0), fresh.compile(3.0))


def assert_same(one: object, other: object) -> None:
    """Compare two snapshots field by field, arrays by value."""
    for field, known in type(one).__dataclass_fields__.items():  # type: ignore[attr-defined]
        left, right = getattr(one, field), getattr(other, field)
        if field == "broken_since":
            # That a gang lost members it had is memory too. A gang that reaches its minimum lost none.
            for table in (one, other):
                assert isinstance(table, RunningTable)
                assert np.isinf(table.broken_since[table.count >= table.minimum]).all()
        elif field.endswith("_since"):
            # When a state was first seen is memory; that it holds is not.
            np.testing.assert_array_equal(np.isfinite(left), np.isfinite(right), err_msg=field)
        elif isinstance(left, np.ndarray):
            np.testing.assert_array_equal(left, right, err_msg=field)
        elif hasattr(left, "__dataclass_fields__") and not isinstance(left, tuple):
            assert_same(left, right)
        # What does not take part in comparison is remembered, and follows from the rest.
        elif known.compare:
            assert left == right, field


@given(clusters())
def test_a_waiting_gang_of_equal_tasks_truly_does_not_fit_in_what_is_left(events: list[Event]) -> None:
    world = world_of(events)
    snapshot = world.compile(10.0)
    plan = decide(snapshot, DEFAULT)
    world.assume(plan)
    after = world.compile(10.0)
    session = open_session(after, DEFAULT)
    for wait in plan.waits:
        if wait.reason.code in {Code.FULL, Code.NEVER}:
            row = next(row for row, gang in enumerate(after.gangs.gangs) if gang.key == wait.gang_key)
            first, count = int(after.gangs.first[row]), int(after.gangs.count[row])
            mine = after.tasks.shape[first : first + count][~after.tasks.held[first : first + count]]
            if len(set(mine.tolist())) == 1 and not after.gangs.gangs[row].subgroups:
                needed = max(int(after.gangs.minimum[row] - after.gangs.running[row]), 1)
                assert np.minimum(copies(session, DEFAULT, Request(int(mine[0]))), needed).sum() < needed


@given(clusters(), st.integers(1, 6), shapes(), st.data())
def test_more_free_capacity_never_makes_a_single_gang_unplaceable(
    events: list[Event], size: int, shape: Shape, data: st.DataObject
) -> None:
    only_nodes = [event for event in events if isinstance(event, NodeSeen)]
    gang = [
        TaskSeen(Task(f"m{i}", "default", f"m{i}", shape, membership=Membership("default/m", size)))
        for i in range(size)
    ]
    before = Loop(world_of([*only_nodes, *gang]), DEFAULT).cycle(0.0).plan
    grown = [NodeSeen(_grown(event.node, data)) for event in only_nodes]
    if data.draw(st.booleans()):
        grown.append(NodeSeen(replace(only_nodes[0].node, name="n0")))
    after = Loop(world_of([*grown, *gang]), DEFAULT).cycle(0.0).plan
    assert len(after.binds) >= len(before.binds)


def _grown(node: Node, data: st.DataObject) -> Node:
    more = {name: amount + data.draw(st.integers(0, 2)) * 1000 for name, amount in node.allocatable.items()}
    return replace(node, allocatable=more)


def _bad(plan: Plan, **changes: Any) -> Plan:
    steps = tuple(step._replace(**changes) if isinstance(step, Bind) else step for step in plan.steps)
    return Plan(plan.now, steps)


def test_the_check_that_production_runs_catches_what_it_promises() -> None:
    """A checker that cannot fail would be worth nothing."""
    world = world_of(
        [NodeSeen(Node(name, allocatable={"cpu": 2000, "pods": 9})) for name in ("n1", "n2")]
        + [
            TaskSeen(
                Task(
                    f"m{i}",
                    "default",
                    f"m{i}",
                    Shape((("cpu", 1000), ("pods", 1))),
                    membership=Membership("default/m", 4),
                )
            )
            for i in range(4)
        ]
    )
    snapshot = world.compile(0.0)
    plan = decide(snapshot, DEFAULT)
    check(snapshot, DEFAULT, plan)
    broken: dict[str, Plan] = {
        "every place of a bind is free": _bad(plan, node="n1"),
        "every node of a bind exists": _bad(plan, node="n9"),
        "every bound task was waiting": _bad(plan, uid="nobody"),
        "no gang is split": Plan(0.0, plan.steps[:3]),
        "no task is bound twice": Plan(0.0, plan.steps + plan.steps[:1]),
    }
    for promise, bad in broken.items():
        with pytest.raises(Violation, match=promise):
            check(snapshot, DEFAULT, bad)


def test_snapshots_are_frozen() -> None:
    snapshot: Snapshot = world_of([NodeSeen(Node("n1", allocatable={"cpu": 1000}))]).compile(0.0)
    free: Int = snapshot.nodes.free
    with pytest.raises(ValueError, match="read-only"):
        free[0, 0] = 7
