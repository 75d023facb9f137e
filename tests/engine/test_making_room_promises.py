"""One property per promise of the actions that evict, for any crowded cluster hypothesis can think of.

Rights are worked out from the objects by hand (`testing.rights_by_hand`, `testing.exhaustive`), never by the engine.
"""

from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings

from phalanx.loop import Loop
from phalanx.model.events import Event, NodeSeen, QueueSeen, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.node import Node
from phalanx.model.outcome import Bound, Result
from phalanx.model.plan import Bind, Evict, Nominate, Plan, Wait
from phalanx.model.task import Shape, State, Task
from phalanx.sim.cycles import PERIOD, carry_out, play, release
from phalanx.testing.scenario import plan as scenario_plan
from phalanx.world.world import World
from tests.oracles import exhaustive
from tests.oracles.crowds import GPU, Wish, crowded
from tests.oracles.exhaustive import gang_name, requests
from tests.oracles.manners import faults
from tests.oracles.rights_by_hand import Books, books
from tests.oracles.room import (
    CONSOLIDATE,
    NOW,
    PREEMPT,
    RECLAIM,
    STALE,
    TAKING,
    policy_of,
    shares,
    units_of,
    world_of,
)
from tests.oracles.takings import Taking, retold, takings

ALL = policy_of(CONSOLIDATE, RECLAIM, PREEMPT, STALE)
#: These clusters are costly to draw, and many of them ask no question.
FEW = settings(max_examples=40, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
#: Where the books of queues are kept by hand: they know of no promise made in an earlier cycle.
BOOKED = Wish(nominated=False)
AGES = pytest.mark.parametrize("aged", [False, True], ids=["young", "aged"])


def minimum(tasks: Sequence[Task]) -> int:
    said = tasks[0].membership
    return (said.minimum or 1) if said else 1


@FEW
@given(crowded())
def test_whoever_is_evicted_for_has_a_place_in_the_same_plan(events: list[Event]) -> None:
    world = world_of(events)
    before = world_of(events)
    plan = Loop(world, ALL).cycle(NOW).plan
    for one in takings(before, plan):
        if one.action != "evict_stale":
            running = [task for task in exhaustive.members(before, one.gang) if task.state is State.RUNNING]
            bound = [bind for bind in plan.binds if bind.gang == one.gang]
            assert one.places, one
            assert all(gang_name(task) == one.gang for task, _ in one.places)
            needed = minimum(exhaustive.members(before, one.gang))
            # Its minimum may have been given places before, in the same plan, and this be its growth.
            kept = [step for step in plan.steps if isinstance(step, Nominate) and step.gang == one.gang]
            assert len(running) + len(bound) + len(kept) >= needed, one


@FEW
@given(crowded())
def test_whatever_is_evicted_for_budgets_gangs_and_runtimes_are_respected_in_every_cycle(events: list[Event]) -> None:
    """Budgets over a whole plan, whole gangs, minimum runtimes, who must stay, and what fits: see `testing.manners`."""
    world, now = world_of(events), NOW
    loop = Loop(world, ALL)
    for _ in range(4):
        release(world, now)
        before = kept_as_it_is(world)
        plan = loop.cycle(now).plan
        assert faults(before, plan) == []
        carry_out(world, plan)
        now += PERIOD


def kept_as_it_is(world: World) -> World:
    """Return a world that stays as this one is now."""
    kept = copy(world)
    kept.tasks = dict(world.tasks)
    return kept


@AGES
@FEW
@given(events=crowded())
def test_preemption_is_by_strictly_higher_priority_inside_one_queue_whatever_the_age(
    aged: bool, events: list[Event]
) -> None:
    world = world_of(events)
    plan = Loop(world_of(events), policy_of(PREEMPT, aged=aged)).cycle(NOW).plan
    for one in takings(world, plan):
        (claimant, *_) = exhaustive.members(world, one.gang)
        for victim in one.victims:
            assert victim.queue == claimant.queue
            assert victim.shape.priority < claimant.shape.priority


@AGES
@FEW
@given(events=crowded(BOOKED))
def test_reclaim_takes_only_what_the_rules_between_queues_allow_whatever_the_age(
    aged: bool, events: list[Event]
) -> None:
    """Without moving. Every taking is judged by the books as they stand after all that was decided before it."""
    world = world_of(events)
    policy = policy_of(TAKING, aged=aged)
    plan = Loop(world_of(events), policy).cycle(NOW).plan
    account = books(world, shares(world, policy))
    for one in retold(world, plan):
        if not isinstance(one, Taking):
            account.charge(one[0].queue or "", requests(one[0]))
            continue
        asked = exhaustive.added(*(requests(task) for task, _ in one.places))
        leaf = one.places[0][0].queue or ""
        taken = units_of(world, one.victims)
        assert not one.victims or account.may_reclaim(leaf, asked, taken), one
        for unit in taken:
            account.charge(unit.tasks[0].queue or "", unit.gives, -1)
        account.charge(leaf, asked)


@FEW
@given(crowded(BOOKED))
def test_who_may_not_be_taken_from_is_moved_and_has_another_place(events: list[Event]) -> None:
    """With moving: the victims of one claim are those that may be taken, and others who all fit elsewhere."""
    world = world_of(events)
    policy = policy_of(RECLAIM)
    plan = Loop(world_of(events), policy).cycle(NOW).plan
    found = takings(world, plan)
    assume(len(found) == 1)
    (one,) = found
    account = books(world, shares(world, policy))
    left = exhaustive.space(world)
    for bind in plan.binds:
        account.charge(world.tasks[bind.uid].queue or "", requests(world.tasks[bind.uid]))
        exhaustive.put(left[bind.node], world.tasks[bind.uid], -1)
    for victim in one.victims:
        exhaustive.put(left[victim.node or ""], victim, 1)
    for task, node in one.places:
        exhaustive.put(left[node], task, -1)
    # What the victims of its minimum leave beyond that is for its growth too: nobody was evicted for that.
    members = exhaustive.members(world, one.gang)
    needed = len(exhaustive.core_of(members)) - sum(task.state is State.RUNNING for task in members)
    asked = exhaustive.added(*(requests(task) for task, _ in one.places[: max(needed, 1)]))
    leaf = one.places[0][0].queue or ""
    taken = units_of(world, one.victims)
    assert any(
        account.may_reclaim(leaf, asked, chosen)
        and all(task.controlled and task.movable for task in moved)
        and exhaustive.all_fit(left, moved)
        for chosen in exhaustive.choices(taken)
        for moved in [[task for unit in taken if unit not in chosen for task in unit.tasks]]
    ), one


@FEW
@given(crowded(Wish(scattered=True)))
def test_whoever_is_moved_runs_again_and_so_does_whom_he_was_moved_for(events: list[Event]) -> None:
    """Whoever else waits: what is kept for him is his."""
    world, before = world_of(events), world_of(events)
    moved: set[str] = set()
    gangs: set[str] = set()
    for plan in play(Loop(world, policy_of(CONSOLIDATE)), NOW, 15):
        for step in plan.steps:
            if isinstance(step, Evict) and step.action == "consolidate":
                moved.add(step.uid)
                gangs.add(step.beneficiary or "")
    assert all(before.tasks[uid].controlled for uid in moved)
    assert all(world.tasks[uid].state is State.RUNNING for uid in moved)
    for gang in gangs:
        there = [task for task in exhaustive.members(world, gang) if task.state is State.RUNNING]
        assert len(there) >= minimum(there), gang


def test_nobody_takes_the_place_to_which_another_was_moved() -> None:
    given = """
        node n0 gpu=4
        node n1 gpu=4
        node n2 gpu=4
        gang g0 members=3 minimum=4 gpu=1 on=n0 created=1s
        gang g0 members=1 gpu=1 on=n2 created=1s
        gang g1 members=1 minimum=2 gpu=1 on=n0
        gang g1 members=1 gpu=1 on=n2
        pod  g2 gpu=3
        pod  g3 gpu=3
        pod  g4 gpu=3
        """
    late = scenario_plan(given, policy_of(CONSOLIDATE), cycles=4)
    assert [step.gang for step in late.steps if isinstance(step, Wait)] == ["default/g4"]


@FEW
@given(crowded())
def test_where_nobody_may_leave_nobody_is_evicted(events: list[Event]) -> None:
    running = {gang_name(one.task) for one in events if isinstance(one, TaskSeen) and one.task.node}
    fixed = [
        TaskSeen(_fixed(one.task)) if isinstance(one, TaskSeen) and gang_name(one.task) in running else one
        for one in events
    ]
    plan = Loop(world_of(fixed), ALL).cycle(NOW).plan
    assert not [step for step in plan.steps if isinstance(step, Evict)]


def _fixed(task: Task) -> Task:
    said = task.membership
    return replace(task, preemptible=False, membership=replace(said, preemptible=False) if said else None)


#: After so many cycles without arrivals nobody is evicted any more; see decision 12.
CALM = 10


@FEW
@given(crowded())
def test_without_arrivals_evictions_end(events: list[Event]) -> None:
    world = world_of(events)
    last = 0
    for cycle, plan in enumerate(play(Loop(world, ALL), NOW, 30), start=1):
        if any(isinstance(step, Evict) for step in plan.steps):
            last = cycle
    assert last <= CALM


def test_members_that_finished_their_work_do_not_break_a_gang() -> None:
    """One of three is done; the other two go on, although three are the minimum."""
    shape, said = Shape(((GPU, 1000), ("pods", 1))), Membership("default/g", 3)
    running = [
        Task(f"g{n}", "default", f"g{n}", shape, State.RUNNING, "n1", started=0.0, membership=said) for n in range(3)
    ]
    node = NodeSeen(Node("n1", allocatable={GPU: 3000, "pods": 9}))
    done = replace(running[0], state=State.SUCCEEDED, finished=100.0)
    whole = world_of([node, *(TaskSeen(task) for task in (done, *running[1:]))])
    assert [plan.text() for plan in play(Loop(whole, ALL), 200.0, 3)] == ["", "", ""]
    broken = world_of([node, *(TaskSeen(task) for task in running[1:])])
    assert [len(plan.steps) for plan in play(Loop(broken, ALL), 200.0, 2)] == [0, 2]


@FEW
@given(crowded(Wish(limits=False, nominated=False)))
def test_between_flat_queues_every_claim_lowers_what_is_beyond_shares_and_then_what_is_beyond_quotas(
    events: list[Event],
) -> None:
    """The potential of decision 12, on books kept by hand: no sequence of claims comes back to its start."""
    flat = [QueueSeen(replace(one.queue, parent=None)) if isinstance(one, QueueSeen) else one for one in events]
    assume(all(list(one.queue.terms) == [GPU] for one in flat if isinstance(one, QueueSeen)))
    world, policy = world_of(flat), policy_of(TAKING)
    account = books(world, shares(world, policy))
    plan = Loop(world_of(flat), policy).cycle(NOW).plan
    for one in retold(world, plan):
        before = beyond(account)
        charged = [one] if not isinstance(one, Taking) else one.places
        for task, _ in charged:
            account.charge(task.queue or "", requests(task))
        for task in one.victims if isinstance(one, Taking) else []:
            account.charge(task.queue or "", requests(task), -1)
        if isinstance(one, Taking) and one.victims:
            assert beyond(account) < before, one


def beyond(account: Books) -> tuple[int, int]:
    """Return what all queues have beyond what they may have, and beyond their quotas."""
    quotas = {name: queue.terms[GPU].quota for name, queue in account.queues.items()}
    may = {name: max(account.share[name][GPU], quota) for name, quota in quotas.items()}
    has = {name: account.has[name][GPU] for name in account.queues}
    return (
        sum(max(has[name] - may[name], 0) for name in has),
        sum(max(has[name] - quotas[name], 0) for name in has),
    )


@FEW
@given(crowded())
def test_every_preemption_raises_what_its_queue_runs_of_the_more_important(events: list[Event]) -> None:
    """The other potential: tasks that run or have a place, counted by priority, the highest first."""
    world = world_of(events)
    plan = Loop(world_of(events), policy_of(PREEMPT)).cycle(NOW).plan
    placed = Counter((task.queue, task.shape.priority) for task in world.tasks.values() if task.node)
    for one in retold(world, plan):
        queue = (one.places[0][0] if isinstance(one, Taking) else one[0]).queue
        before = [placed[queue, priority] for priority in (2, 1, 0)]
        placed.update(
            (task.queue, task.shape.priority) for task, _ in (one.places if isinstance(one, Taking) else [one])
        )
        placed.subtract((task.queue, task.shape.priority) for task in (one.victims if isinstance(one, Taking) else []))
        assert [placed[queue, priority] for priority in (2, 1, 0)] > before


def test_who_comes_back_has_no_place_of_its_former_life() -> None:
    """Nominated, bound, evicted and made again under one uid: it waits like everybody else."""
    shape = Shape(((GPU, 1000), ("pods", 1)))
    node = NodeSeen(Node("n1", allocatable={GPU: 1000, "pods": 9}))
    world = world_of([node, TaskSeen(Task("p", "default", "p", shape, owner="job"))])
    world.assume(Plan(0.0, (Nominate("default/p", "p", "n1", "default/p", "Pod/p"),)))
    world.assume(Plan(60.0, (Bind("default/p", "p", "n1", "default/p", "Pod/p"),)))
    world.confirm(Bound("p", "n1", Result.OK, 60.0))
    world.apply(TaskSeen(replace(world.tasks["p"], state=State.RELEASING, gone_at=90.0)))
    release(world, 120.0)
    assert (world.tasks["p"].state, world.tasks["p"].nominated) == (State.PENDING, None)
