"""One property per promise of the actions that evict, for any crowded cluster hypothesis can think of.

Rights are worked out from the objects by hand (`testing.rights_by_hand`, `testing.exhaustive`), never by the engine.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import HealthCheck, assume, given, settings

from phalanx.engine.plugins.ageing import Ageing
from phalanx.engine.policy import Policy, Weighted
from phalanx.loop import Loop
from phalanx.model.duration import Seconds
from phalanx.model.events import Event, NodeSeen, QueueSeen, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.node import Node
from phalanx.model.plan import Bind, Evict, Nominate, Plan, Wait
from phalanx.model.task import Shape, State, Task
from phalanx.policy.load import parse_policy
from phalanx.sim.cycles import play
from phalanx.testing import exhaustive
from phalanx.testing.exhaustive import Amounts, Leaving, gang_name, requests
from phalanx.testing.rights_by_hand import Books, books
from phalanx.testing.tenants import GPU, crowded
from phalanx.world.world import World

NOW = 10.0


def policy_of(*actions: str, aged: bool = False) -> Policy:
    """A policy with these actions after allocate; `aged`: everybody has waited long enough to go first."""
    text = f"extends: default\nactions: [{', '.join(['{name: allocate}', *actions])}]\n"
    policy = parse_policy(text, "room.yaml")
    if not aged:
        return policy
    at_once = Weighted(Ageing(Seconds(1.0)))
    plugins = tuple(at_once if one.plugin.name == "ageing" else one for one in policy.plugins)
    return Policy(policy.name, policy.actions, plugins, share=policy.share)


RECLAIM, TAKING = "{name: reclaim}", "{name: reclaim, arguments: {moving: false}}"
PREEMPT, CONSOLIDATE, STALE = "{name: preempt}", "{name: consolidate}", "{name: evict_stale}"
ALL = policy_of(CONSOLIDATE, RECLAIM, PREEMPT, STALE)
#: These clusters are costly to draw, and many of them ask no question.
FEW = settings(max_examples=40, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
AGES = pytest.mark.parametrize("aged", [False, True], ids=["young", "aged"])


def world_of(events: Sequence[Event]) -> World:
    world = World()
    for event in events:
        world.apply(event)
    return world


def shares(world: World, policy: Policy) -> dict[str, Amounts]:
    """Return what each queue is entitled to: data for the rules, with an oracle of its own."""
    snapshot = world.compile(NOW)
    assert policy.share is not None
    rows, table = policy.share.deserved(snapshot), snapshot.queues
    return {
        queue.name: dict(zip(table.resources, rows[row].tolist(), strict=True))
        for row, queue in enumerate(table.queues)
    }


@dataclass
class Taking:
    """What was taken for one gang, and what it got."""

    action: str
    gang: str
    victims: list[Task] = field(default_factory=list[Task])
    places: list[tuple[Task, str]] = field(default_factory=list[tuple[Task, str]])

    def told(self) -> list["Taking"]:
        """Return it, if anything was taken or given."""
        return [self] if self.victims or self.places else []


def retold(world: World, plan: Plan) -> Iterator[Taking | tuple[Task, str]]:
    """Tell a plan again, in order: tasks that were bound, and takings with all their victims and places."""
    now = Taking("", "")
    for step in plan.steps:
        if isinstance(step, Evict):
            if now.places or (now.action, now.gang) != (step.action, step.beneficiary or ""):
                yield from now.told()
                now = Taking(step.action, step.beneficiary or "")
            now.victims.append(world.tasks[step.uid])
        elif isinstance(step, Nominate):
            if now.gang != step.gang:
                yield from now.told()
                # What others left behind is enough for it.
                now = Taking("", step.gang)
            now.places.append((world.tasks[step.uid], step.node))
        elif isinstance(step, Bind):
            yield from now.told()
            now = Taking("", "")
            yield world.tasks[step.uid], step.node
    yield from now.told()


def takings(world: World, plan: Plan) -> list[Taking]:
    return [one for one in retold(world, plan) if isinstance(one, Taking) and one.victims]


def preemptible(task: Task) -> bool:
    return task.membership.preemptible if task.membership else task.preemptible


def minimum(tasks: Sequence[Task]) -> int:
    said = tasks[0].membership
    return (said.minimum or 1) if said else 1


@FEW
@given(crowded())
def test_whoever_is_evicted_for_has_a_place_in_the_same_plan(events: list[Event]) -> None:
    world = world_of(events)
    before = world_of(events)
    plan = Loop(world, ALL).cycle(NOW)
    for one in takings(before, plan):
        if one.action != "evict_stale":
            running = [task for task in exhaustive.members(before, one.gang) if task.state is State.RUNNING]
            bound = [bind for bind in plan.binds if bind.gang == one.gang]
            assert one.places, one
            assert all(gang_name(task) == one.gang for task, _ in one.places)
            needed = minimum(exhaustive.members(before, one.gang))
            assert len(running) + len(bound) + len(one.places) >= needed, one


@FEW
@given(crowded())
def test_nobody_leaves_twice_and_nobody_who_is_not_preemptible_leaves(events: list[Event]) -> None:
    before = world_of(events)
    plan = Loop(world_of(events), ALL).cycle(NOW)
    evicted = [step.uid for step in plan.steps if isinstance(step, Evict)]
    assert max(Counter(evicted).values(), default=1) == 1
    assert all(preemptible(before.tasks[uid]) for uid in evicted)


@FEW
@given(crowded())
def test_a_gang_keeps_its_minimum_or_leaves_whole(events: list[Event]) -> None:
    world = world_of(events)
    plan = Loop(world, ALL).cycle(NOW)
    evicted = {step.uid for step in plan.steps if isinstance(step, Evict)}
    for gang in {gang_name(world.tasks[uid]) for uid in evicted}:
        members = exhaustive.members(world, gang)
        there = [task for task in members if task.state in exhaustive.THERE and task.uid not in evicted]
        assert not there or len(there) >= minimum(members), gang


@FEW
@given(crowded())
def test_all_that_is_bound_or_nominated_fits_once_the_victims_have_left(events: list[Event]) -> None:
    world = world_of(events)
    left = exhaustive.space(world)
    plan = Loop(world_of(events), ALL).cycle(NOW)
    for step in plan.steps:
        if not isinstance(step, Wait):
            exhaustive.put(left[step.node], world.tasks[step.uid], 1 if isinstance(step, Evict) else -1)
    assert min(amount for amounts in left.values() for amount in amounts.values()) >= 0


@AGES
@FEW
@given(events=crowded())
def test_preemption_is_by_strictly_higher_priority_inside_one_queue_whatever_the_age(
    aged: bool, events: list[Event]
) -> None:
    world = world_of(events)
    plan = Loop(world_of(events), policy_of(PREEMPT, aged=aged)).cycle(NOW)
    for one in takings(world, plan):
        (claimant, *_) = exhaustive.members(world, one.gang)
        for victim in one.victims:
            assert victim.queue == claimant.queue
            assert victim.shape.priority < claimant.shape.priority


@AGES
@FEW
@given(events=crowded())
def test_reclaim_takes_only_what_the_rules_between_queues_allow_whatever_the_age(
    aged: bool, events: list[Event]
) -> None:
    """Without moving. Every taking is judged by the books as they stand after all that was decided before it."""
    world = world_of(events)
    policy = policy_of(TAKING, aged=aged)
    plan = Loop(world_of(events), policy).cycle(NOW)
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


def units_of(world: World, victims: Sequence[Task]) -> list[Leaving]:
    gone = {task.uid for task in victims}
    return [unit for unit in exhaustive.units(world) if {task.uid for task in unit.tasks} <= gone]


@FEW
@given(crowded())
def test_who_may_not_be_taken_from_is_moved_and_has_another_place(events: list[Event]) -> None:
    """With moving: the victims of one claim are those that may be taken, and others who all fit elsewhere."""
    world = world_of(events)
    policy = policy_of(RECLAIM)
    plan = Loop(world_of(events), policy).cycle(NOW)
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
    asked = exhaustive.added(*(requests(task) for task, _ in one.places))
    leaf = one.places[0][0].queue or ""
    taken = units_of(world, one.victims)
    assert any(
        account.may_reclaim(leaf, asked, chosen)
        and all(task.controlled for task in moved)
        and exhaustive.all_fit(left, moved)
        for chosen in exhaustive.choices(taken)
        for moved in [[task for unit in taken if unit not in chosen for task in unit.tasks]]
    ), one


@FEW
@given(crowded())
def test_whoever_is_moved_runs_again_and_so_does_whom_he_was_moved_for(events: list[Event]) -> None:
    world = world_of(events)
    before = world_of(events)
    moved: set[str] = set()
    gangs: set[str] = set()
    for plan in play(Loop(world, policy_of(CONSOLIDATE)), NOW, 6):
        for step in plan.steps:
            if isinstance(step, Evict):
                moved.add(step.uid)
                gangs.add(step.beneficiary or "")
    assert all(before.tasks[uid].controlled for uid in moved)
    assert all(world.tasks[uid].state is State.RUNNING for uid in moved)
    for gang in gangs:
        there = [task for task in exhaustive.members(world, gang) if task.state is State.RUNNING]
        assert len(there) >= minimum(there), gang


@FEW
@given(crowded())
def test_where_nobody_may_leave_nobody_is_evicted(events: list[Event]) -> None:
    running = {gang_name(one.task) for one in events if isinstance(one, TaskSeen) and one.task.node}
    fixed = [
        TaskSeen(_fixed(one.task)) if isinstance(one, TaskSeen) and gang_name(one.task) in running else one
        for one in events
    ]
    plan = Loop(world_of(fixed), ALL).cycle(NOW)
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


@dataclass
class Small:
    """A cluster with one gang of equal tasks that waits, and at most twelve that may leave."""

    world: World
    ask: Amounts
    copies: int
    claimant: Task
    able: list[Leaving]
    left: exhaustive.Space


def small(events: list[Event]) -> Small:
    """Leave only one waiting gang, the last, without growth; give up on clusters where that is no question."""
    tasks = [one.task for one in events if isinstance(one, TaskSeen)]
    running = {gang_name(task) for task in tasks if task.node}
    asking = [task for task in tasks if gang_name(task) not in running]
    assume(asking)
    gang = [_loose(task) for task in asking if gang_name(task) == gang_name(asking[-1])]
    whole = [
        replace(task, membership=replace(task.membership, minimum=len(gang)) if task.membership else None)
        for task in gang
    ]
    others = [one for one in events if not isinstance(one, TaskSeen) or one.task.node]
    world = world_of([*others, *(TaskSeen(task) for task in whole)])
    able, left, ask = exhaustive.units(world), exhaustive.space(world), requests(whole[0])
    assume(sum(len(unit.tasks) for unit in able) <= 12)
    assume(exhaustive.copies_that_fit(left, ask) < len(whole))
    return Small(world, ask, len(whole), whole[0], able, left)


def _loose(task: Task) -> Task:
    said = task.membership
    return replace(task, preemptible=True, membership=replace(said, preemptible=True) if said else None)


def found_by_us(case: Small, policy: Policy) -> list[Leaving] | None:
    """Return whom our search takes; None: it finds nobody. Late enough that no minimum runtime counts."""
    plan = Loop(case.world, policy).cycle(1000.0)
    evicted = [case.world.tasks[step.uid] for step in plan.steps if isinstance(step, Evict)]
    assert bool(evicted) == any(isinstance(step, Nominate) for step in plan.steps)
    return units_of(case.world, evicted) if evicted else None


def check_against_all(case: Small, legal: exhaustive.Legal, policy: Policy) -> bool:
    """What we do is legal, and nobody leaves who could stay. Tell whether we found a way if there is one.

    Ours takes the least important first, then what is beyond a minimum, then the youngest: not always the fewest. Since
    each unit is needed for at least one GPU (or core) of the places, the bound is one unit for each of those that are
    asked for. In 1,084 random clusters ours took at most 4 tasks more than the fewest, and mostly none.
    """
    best = exhaustive.fewest(case.left, case.ask, case.copies, case.able, legal)
    ours = found_by_us(case, policy)
    if ours is None:
        return best is None
    assert best is not None
    assert legal(ours)
    assert len(ours) <= case.copies * sum(amount for name, amount in case.ask.items() if name != "pods") // 1000
    leaving = {unit.gang for unit in ours if unit.core}
    for kept in ours:
        if kept.core or kept.gang not in leaving:
            rest = [unit for unit in ours if unit is not kept]
            assert exhaustive.copies_that_fit(exhaustive.without(case.left, rest), case.ask) < case.copies, kept
    return True


@FEW
@given(crowded(limits=False))
def test_preemption_finds_a_way_whenever_there_is_one_and_nobody_leaves_in_vain(events: list[Event]) -> None:
    case = small(events)
    mine = case.claimant
    case.able = [
        unit
        for unit in case.able
        if unit.tasks[0].queue == mine.queue and unit.tasks[0].shape.priority < mine.shape.priority
    ]
    assume(case.able)
    assert check_against_all(case, lambda _: True, policy_of(PREEMPT))


@FEW
@given(crowded(limits=False))
def test_reclaim_takes_nobody_in_vain(events: list[Event]) -> None:
    case = small(events)
    leaf = case.claimant.queue or ""
    case.able = [unit for unit in case.able if unit.tasks[0].queue != leaf]
    assume(case.able)
    policy = policy_of(TAKING)
    account = books(case.world, shares(case.world, policy))
    asked = {name: amount * case.copies for name, amount in case.ask.items()}
    check_against_all(case, lambda chosen: account.may_reclaim(leaf, asked, chosen), policy)


@FEW
@given(crowded(limits=False))
def test_between_flat_queues_every_claim_lowers_what_is_beyond_shares_and_then_what_is_beyond_quotas(
    events: list[Event],
) -> None:
    """The potential of decision 12, on books kept by hand: no sequence of claims comes back to its start."""
    flat = [QueueSeen(replace(one.queue, parent=None)) if isinstance(one, QueueSeen) else one for one in events]
    assume(all(list(one.queue.terms) == [GPU] for one in flat if isinstance(one, QueueSeen)))
    world, policy = world_of(flat), policy_of(TAKING)
    account = books(world, shares(world, policy))
    plan = Loop(world_of(flat), policy).cycle(NOW)
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
    plan = Loop(world_of(events), policy_of(PREEMPT)).cycle(NOW)
    placed = Counter((task.queue, task.shape.priority) for task in world.tasks.values() if task.node)
    for one in retold(world, plan):
        queue = (one.places[0][0] if isinstance(one, Taking) else one[0]).queue
        before = [placed[queue, priority] for priority in (2, 1, 0)]
        placed.update(
            (task.queue, task.shape.priority) for task, _ in (one.places if isinstance(one, Taking) else [one])
        )
        placed.subtract((task.queue, task.shape.priority) for task in (one.victims if isinstance(one, Taking) else []))
        assert [placed[queue, priority] for priority in (2, 1, 0)] > before
