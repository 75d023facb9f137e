"""For any cluster: no plan takes more of a disruption budget than is left, and nobody goes who must not."""

import math
from collections import Counter
from dataclasses import replace

from hypothesis import event, given, settings
from hypothesis import strategies as st

from phalanx.loop import Loop
from phalanx.model.budget import Budget, Portion
from phalanx.model.events import BudgetSeen, Event, NodeSeen, QueueSeen, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.node import Node
from phalanx.model.plan import Evict, Plan
from phalanx.model.queue import Queue, Terms
from phalanx.model.selectors import LabelSelector, Requirement
from phalanx.model.task import Shape, State, Task
from phalanx.policy.load import parse_policy
from phalanx.sim.cycles import carry_out, release
from phalanx.world.world import World

POLICY = parse_policy(
    "extends: default\nactions: [{name: allocate}, {name: consolidate}, {name: reclaim}, {name: preempt}, "
    "{name: evict_stale}]",
    "test",
)
GPU = "nvidia.com/gpu"
PORTIONS = st.builds(Portion, st.integers(0, 4)) | st.builds(Portion, st.sampled_from([0, 30, 50, 100]), st.just(True))


@st.composite
def budgets(draw: st.DrawFn, name: str) -> Budget:
    """Draw a budget over the pods of one app, or over all of them; perhaps one that somebody has counted."""
    app = draw(st.sampled_from(["web", "web", "db", "db", None]))
    portion = draw(PORTIONS)
    least = draw(st.integers(0, 3)) == 0
    return Budget(
        "default",
        name,
        LabelSelector((Requirement("app", "In", (app,)),) if app else ()),
        minimum=portion if least else None,
        maximum=None if least else portion,
        allowed=draw(st.none() | st.none() | st.integers(0, 2)),
        healthy=draw(st.none() | st.integers(0, 2)),
    )


@st.composite
def gang(draw: st.DrawFn, name: str, node: str | None) -> list[Task]:
    """Draw a gang that runs on one node, or one that waits and is often more important."""
    size = draw(st.integers(1, 3))
    priority = draw(st.integers(0, 2) if node else st.integers(1, 4))
    said = Membership(f"default/{name}", draw(st.integers(1, size)))
    shape = Shape(((GPU, 1000 * draw(st.integers(1, 2))), ("pods", 1)), priority=priority)
    made = Task(
        name, "default", name, shape, queue=draw(st.sampled_from("ab")), membership=said,
        state=State.RUNNING if node else State.PENDING, node=node, started=0.0 if node else None,
        created=float(draw(st.integers(0, 3))), owner="job" if draw(st.integers(0, 3)) else None,
        movable=draw(st.integers(0, 3)) > 0, evicts=draw(st.integers(0, 3)) > 0,
        ours=draw(st.integers(0, 5)) > 0 or node is None,
    )  # fmt: skip
    apps = st.sampled_from(["web", "db", "none"])
    return [
        replace(made, uid=f"{name}-{number}", name=f"{name}-{number}", labels={"app": draw(apps)})
        for number in range(size)
    ]


@st.composite
def clusters(draw: st.DrawFn) -> list[Event]:
    """Draw full nodes, two queues, some who wait, and budgets over those who run."""
    found: list[Event] = [QueueSeen(Queue(name, terms={GPU: Terms(quota=4000)})) for name in "ab"]
    for number in range(draw(st.integers(1, 3))):
        node = f"n{number}"
        running = [
            task for other in range(draw(st.integers(1, 3))) for task in draw(gang(f"r{number}{other}", node))
        ]  # fmt: skip
        used = sum(dict(task.shape.requests)[GPU] for task in running)
        size = max(used + 1000 * draw(st.integers(0, 1)), 2000)
        found.append(NodeSeen(Node(node, allocatable={GPU: size, "pods": 20})))
        found += map(TaskSeen, running)
    for number in range(draw(st.integers(1, 4))):
        found += map(TaskSeen, draw(gang(f"w{number}", None)))
    names = [f"b{number}" for number in range(draw(st.integers(1, 2)))]
    found += [BudgetSeen(draw(budgets(name))) for name in names]
    return found


def covered(world: World, budget: Budget) -> list[Task]:
    app = next((requirement.values[0] for requirement in budget.selector.requirements), None) if budget.selector else ""
    return [task for task in world.tasks.values() if app in {None, task.labels["app"]}]


def left(world: World, budget: Budget) -> int:
    """Count by hand how many more may leave."""
    tasks = covered(world, budget)
    runs = sum(task.state is State.RUNNING for task in tasks)
    if budget.allowed is not None:
        return min(budget.allowed, runs - budget.healthy) if budget.healthy is not None else budget.allowed
    portion = budget.minimum or budget.maximum
    assert portion is not None
    number = math.ceil(len(tasks) * portion.amount / 100) if portion.percent else portion.amount
    return runs - (number if budget.minimum else max(len(tasks) - number, 0))


def check(world: World, plan: Plan, allowances: dict[str, int]) -> None:
    gone = [world.tasks[step.uid] for step in plan.steps if isinstance(step, Evict)]
    assert all(task.ours for task in gone)
    times = Counter[str]()
    for budget in world.budgets.seen.values():
        inside = [task for task in gone if task in covered(world, budget)]
        times.update(task.uid for task in inside)
        assert len(inside) <= max(allowances[budget.name], 0), budget
    assert all(count == 1 for count in times.values())
    mild = {
        task.membership.gang
        for task in world.tasks.values()
        if task.state is State.PENDING and not task.evicts and task.membership
    }
    assert not mild & {step.beneficiary for step in plan.steps if isinstance(step, Evict)}
    for step in plan.steps:
        if isinstance(step, Evict) and step.action == "consolidate":
            assert world.tasks[step.uid].controlled
            assert world.tasks[step.uid].movable
    event(f"evictions under a budget: {min(times.total(), 3)}")


@settings(max_examples=300)
@given(clusters())
def test_no_plan_disturbs_more_than_budgets_allow_nor_anybody_who_must_stay(events: list[Event]) -> None:
    world = World()
    for one in events:
        world.apply(one)
    loop, now = Loop(world, POLICY), 10.0
    for _ in range(4):
        release(world, now)
        allowances = {budget.name: left(world, budget) for budget in world.budgets.seen.values()}
        plan = loop.cycle(now).plan
        check(world, plan, allowances)
        carry_out(world, plan)
        now += 60.0


@settings(max_examples=100)
@given(clusters())
def test_nothing_of_a_gang_outlives_its_minimum_whatever_budgets_keep(events: list[Event]) -> None:
    """A gang is gone, moved, or has its minimum: budgets never make a part of it stay."""
    world = World()
    for one in events:
        world.apply(one)
    plan = Loop(world, POLICY).cycle(10.0).plan
    gone = {step.uid for step in plan.steps if isinstance(step, Evict) and step.action == "preempt"}
    others = {step.uid for step in plan.steps if isinstance(step, Evict)} - gone
    for key in {task.membership.gang for task in world.tasks.values() if task.membership}:
        tasks = [task for task in world.tasks.values() if task.membership and task.membership.gang == key]
        ran = [task for task in tasks if task.state is State.RUNNING and task.uid not in others]
        stay = [task for task in ran if task.uid not in gone]
        said = tasks[0].membership
        assert said is not None
        if len(stay) < len(ran):
            assert not stay or len(stay) >= (said.minimum or 1)
