"""On small clusters every way to make room is tried: what our search finds is compared with all of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from phalanx.engine.policy import Policy
from phalanx.loop import Loop
from phalanx.model.budget import Budget, Portion
from phalanx.model.events import BudgetSeen, Event, TaskSeen
from phalanx.model.plan import Evict, Nominate
from phalanx.model.selectors import LabelSelector, Requirement
from phalanx.model.task import Task
from phalanx.testing.scenario import plan
from phalanx.world.world import World
from tests.oracles import exhaustive
from tests.oracles.crowds import GPU, contested, pieces
from tests.oracles.exhaustive import Amounts, Leaving, gang_name, requests
from tests.oracles.rights_by_hand import books
from tests.oracles.room import CONSOLIDATE, PREEMPT, RECLAIM, TAKING, policy_of, shares, world_of

#: These clusters are costly to draw, and many of them ask no question.
FEW = settings(max_examples=40, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


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
    before = exhaustive.units(case.world)
    plan = Loop(case.world, policy).cycle(1000.0).plan
    gone = {step.uid for step in plan.steps if isinstance(step, Evict)}
    assert bool(gone) == any(isinstance(step, Nominate) for step in plan.steps)
    ours = [unit for unit in before if gone.issuperset(task.uid for task in unit.tasks)]
    assert sum(len(unit.tasks) for unit in ours) == len(gone)
    return ours or None


def leavers(ours: list[Leaving]) -> int:
    """Return how many leave for themselves: a gang that goes whole is one, whatever it has beyond its minimum."""
    whole = {unit.gang for unit in ours if unit.core}
    return len(whole) + sum(unit.gang not in whole for unit in ours)


def asked(case: Small) -> int:
    """Return how many GPUs the gang asks for in all."""
    return case.copies * case.ask[GPU] // 1000


def check_against_all(case: Small, legal: exhaustive.Legal, policy: Policy) -> None:
    """We find a way whenever there is one. What we do is legal, and nobody leaves who could stay.

    Ours takes the least important first, then what is beyond a minimum, then the youngest: not always the fewest. Since
    each that leaves is needed for at least one GPU of the places, the bound is as many as there are GPUs asked for,
    where a gang that leaves whole counts once.
    """
    best = exhaustive.fewest(case.left, case.ask, case.copies, case.able, legal)
    ours = found_by_us(case, policy)
    assert (ours is None) == (best is None)
    if ours is None:
        return
    assert legal(ours)
    assert leavers(ours) <= asked(case)
    leaving = {unit.gang for unit in ours if unit.core}
    for kept in ours:
        if kept.core or kept.gang not in leaving:
            rest = [unit for unit in ours if unit is not kept]
            assert exhaustive.copies_that_fit(exhaustive.without(case.left, rest), case.ask) < case.copies, kept


@FEW
@given(contested(teams=1))
def test_preemption_finds_a_way_whenever_there_is_one_and_nobody_leaves_in_vain(events: list[Event]) -> None:
    case = small(events)
    mine = case.claimant
    case.able = [
        unit
        for unit in case.able
        if unit.tasks[0].queue == mine.queue and unit.tasks[0].shape.priority < mine.shape.priority
    ]
    assume(case.able)
    check_against_all(case, lambda _: True, policy_of(PREEMPT))


@FEW
@given(contested(teams=1), st.integers(0, 4), st.sets(st.integers(0, 11), min_size=1))
def test_preemption_finds_a_way_within_a_budget(events: list[Event], spared: int, under: set[int]) -> None:
    names = {f"default/g{number}" for number in under}
    seen = [replace(one.task, labels={"app": "web"}) for one in events if _is_of(one, names)]
    web = LabelSelector((Requirement("app", "In", ("web",)),))
    budget = BudgetSeen(Budget("default", "b", web, maximum=Portion(spared)))
    case = small([*(one for one in events if not _is_of(one, names)), *map(TaskSeen, seen), budget])
    assume(case.able)

    def legal(chosen: Sequence[Leaving]) -> bool:
        return sum(bool(task.labels) for task in exhaustive.tasks_of(chosen)) <= spared

    check_against_all(case, legal, policy_of(PREEMPT))


def _is_of(event: Event, names: set[str]) -> TypeGuard[TaskSeen]:
    return isinstance(event, TaskSeen) and gang_name(event.task) in names


def claimed(case: Small, policy: Policy) -> exhaustive.Legal:
    """Return what the claimant's queue may take; leave those of other queues."""
    leaf = case.claimant.queue or ""
    case.able = [unit for unit in case.able if unit.tasks[0].queue != leaf]
    assume(case.able)
    account = books(case.world, shares(case.world, policy))
    ask = {name: amount * case.copies for name, amount in case.ask.items()}
    assume(account.entitled(leaf, ask))
    return lambda chosen: account.may_reclaim(leaf, ask, chosen)


@FEW
@given(contested(teams=2) | contested(teams=3))
def test_reclaim_finds_a_way_whenever_there_is_one_and_takes_nobody_in_vain(events: list[Event]) -> None:
    case, policy = small(events), policy_of(TAKING)
    check_against_all(case, claimed(case, policy), policy)


@FEW
@given(contested(teams=2) | contested(teams=3))
def test_reclaim_finds_a_way_to_take_some_and_move_others(events: list[Event]) -> None:
    case, policy = small(events), policy_of(RECLAIM)
    legal = claimed(case, policy)
    way = exhaustive.with_some_moved(case.left, waiting(case), case.able, legal)
    assert way == (found_by_us(case, policy) is not None)


@FEW
@given(pieces())
def test_consolidation_finds_a_way_whenever_there_is_one_and_all_who_are_moved_fit(events: list[Event]) -> None:
    """It moves the fewest, or no more than GPUs are asked for."""
    case = small(events)
    case.able = [unit for unit in case.able if exhaustive.can_move(unit)]
    gang = waiting(case)
    best = exhaustive.fewest_moved(case.left, gang, case.able)
    ours = found_by_us(case, policy_of(CONSOLIDATE))
    assert (ours is None) == (best is None)
    if ours is not None:
        moved = exhaustive.tasks_of(ours)
        assert all(unit in case.able for unit in ours)
        assert exhaustive.all_fit(exhaustive.without(case.left, ours), exhaustive.largest_first([*gang, *moved]))
        assert len(moved) == best or leavers(ours) <= asked(case)


def waiting(case: Small) -> list[Task]:
    """Return the tasks of the gang that waits."""
    return [task for task in case.world.tasks.values() if not task.node]


#: Ways that the search over all found and ours once did not, at their smallest: (action, cluster).
WAYS = {
    "who is largest may be the last to be taken": (
        TAKING,
        """
        node  n0  gpu=2
        node  n1  gpu=4
        queue q1  quota:gpu=3
        queue q2  quota:gpu=4
        pod   g0  gpu=2 queue=q2 on=n0
        pod   g1  gpu=2 queue=q2 on=n1
        pod   g2  gpu=1 queue=q2 on=n1
        pod   g7  gpu=1 queue=q2 on=n1
        pod   p   gpu=3 queue=q1 created=1m
        """,
    ),
    "a gang gives on every node that it is on": (
        TAKING,
        """
        node  n2  gpu=2
        node  n3  gpu=1
        node  n4  gpu=4
        node  n5  gpu=3
        queue q0  quota:gpu=0
        queue q2  quota:gpu=0
        gang  g2  members=1 minimum=2 gpu=2 queue=q0 on=n5
        gang  g2  members=1 gpu=2 queue=q0 on=n4
        pod   g3  gpu=1 queue=q0 on=n3
        gang  g5  members=1 minimum=2 gpu=1 queue=q0 on=n2 preemptible=false
        gang  g5  members=1 gpu=1 queue=q0 on=n5 preemptible=false
        pod   p   gpu=4 queue=q2 created=1m
        """,
    ),
    "who is moved may need the room of who is taken": (
        RECLAIM,
        """
        node  n0  gpu=2
        node  n1  gpu=2
        queue q0  quota:gpu=0 weight:gpu=0
        queue q1  quota:gpu=3 weight:gpu=3
        queue q2  quota:gpu=4
        pod   r0  gpu=1 queue=q0 on=n0 priority=75 controlled
        gang  r1  members=1 minimum=2 gpu=1 queue=q2 on=n0
        gang  r1  members=1 gpu=1 queue=q2 on=n1
        pod   p   gpu=2 queue=q1 created=1m controlled
        """,
    ),
    "two tasks may share the node that is cleared": (
        CONSOLIDATE,
        """
        node  n0  gpu=4
        node  n2  gpu=3
        pod   g1  gpu=1 on=n0 controlled
        pod   g2  gpu=2 on=n2 controlled
        gang  p   members=2 gpu=2 created=1m
        """,
    ),
    "a gang lies in the way on every node that it is on": (
        CONSOLIDATE,
        """
        node  n1  gpu=2
        node  n3  gpu=4
        gang  g2  members=1 minimum=2 gpu=1 on=n1
        gang  g2  members=1 gpu=1 on=n3
        pod   p   gpu=4 created=1m
        """,
    ),
    "who would go before us again may be taken while there is more of his queue": (
        TAKING,
        """
        node  n0  gpu=4
        node  n2  gpu=4
        node  n4  gpu=1
        node  n5  gpu=3
        queue q0  quota:gpu=0
        queue q2  quota:gpu=2 weight:gpu=2
        pod   g0  gpu=2 queue=q0 on=n0
        gang  g2  members=1 minimum=2 gpu=2 queue=q0 on=n0
        gang  g2  members=1 gpu=2 queue=q0 on=n2
        pod   g3  gpu=1 queue=q0 on=n5
        gang  p   members=3 gpu=3 queue=q2 created=1m
        """,
    ),
    "of eleven who could leave, three are right": (
        TAKING,
        """
        node  n0  gpu=2
        node  n1  gpu=3
        node  n2  gpu=4
        node  n3  gpu=4
        node  n4  gpu=4
        node  n5  gpu=3
        queue q0  quota:gpu=0
        queue q1  quota:gpu=0
        pod   g0  gpu=2 queue=q0 on=n1
        gang  g1  members=1 minimum=2 gpu=2 queue=q0 on=n4
        gang  g1  members=1 gpu=2 queue=q0 on=n0
        gang  g2  members=1 minimum=2 gpu=2 queue=q0 on=n3
        gang  g2  members=1 gpu=2 queue=q0 on=n5
        pod   g3  gpu=1 queue=q0 on=n3
        pod   g4  gpu=1 queue=q0 on=n2
        pod   g5  gpu=1 queue=q0 on=n3
        pod   g6  gpu=1 queue=q0 on=n2
        pod   g7  gpu=1 queue=q0 on=n2
        pod   g8  gpu=1 queue=q0 on=n4
        gang  p   members=2 gpu=3 queue=q1 created=1m
        """,
    ),
    "where nobody may be taken alone, two may change places": (
        RECLAIM,
        """
        node  n0  gpu=3
        node  n1  gpu=4
        node  n2  gpu=2
        node  n3  gpu=4
        node  n4  gpu=2
        node  n5  gpu=2
        queue q0  quota:gpu=0
        queue q1  quota:gpu=0
        queue q2  quota:gpu=0 parent=q0
        pod   g0  gpu=3 queue=q1 on=n3 controlled
        gang  g1  members=1 minimum=4 gpu=2 queue=q1 on=n5
        gang  g1  members=2 gpu=2 queue=q1 on=n1
        gang  g1  members=1 gpu=2 queue=q1 on=n4
        pod   g2  gpu=2 queue=q1 on=n0 created=2s controlled
        pod   g3  gpu=1 queue=q1 on=n2 controlled
        pod   p   gpu=3 queue=q2 created=1m
        """,
    ),
    "who is least important may use up the budget of who could help": (
        PREEMPT,
        """
        node   n0  gpu=2
        node   n1  gpu=1
        budget web max-unavailable=1 label:app=web
        pod    g0  gpu=1 on=n1 label:app=web
        pod    g1  gpu=2 on=n0 label:app=web priority=1
        pod    p   gpu=2 priority=2 created=1m
        """,
    ),
    "the tasks of a gang may be in each other's way": (
        TAKING,
        """
        node  n0  gpu=4
        node  n1  gpu=3
        queue q0  quota:gpu=0
        queue q1  quota:gpu=7
        pod   g0  gpu=4 queue=q0 on=n0
        gang  p   members=1 minimum=3 gpu=3 queue=q1 created=1m
        gang  p   members=2 gpu=2 queue=q1 created=1m
        """,
    ),
    "who is moved may need the place of another who is moved": (
        CONSOLIDATE,
        """
        node  n2  gpu=3
        node  n4  gpu=4
        node  n5  gpu=1
        pod   g1  gpu=1 on=n2 controlled
        pod   g2  gpu=3 on=n4 controlled
        pod   p   gpu=4 created=1m
        """,
    ),
    "who is moved may not go where the gang goes": (
        CONSOLIDATE,
        """
        node  n0  gpu=4
        node  n1  gpu=5
        node  n2  gpu=2
        node  n4  gpu=5
        pod   g0  gpu=2 on=n0 controlled
        pod   g2  gpu=3 on=n1 priority=1 controlled
        gang  p   members=2 gpu=5 created=1m
        """,
    ),
    "a gang that is moved may need the best place itself": (
        CONSOLIDATE,
        """
        node  n0  gpu=4
        node  n1  gpu=2
        node  n2  gpu=3
        gang  g0  members=1 minimum=3 gpu=2 on=n1
        gang  g0  members=1 gpu=2 on=n2
        gang  g0  members=1 gpu=2 on=n0
        pod   p   gpu=3 created=1m
        """,
    ),
}


@pytest.mark.parametrize(("action", "given"), [pytest.param(*way, id=name) for name, way in WAYS.items()])
def test_a_way_that_exists_is_found(action: str, given: str) -> None:
    one = plan(given, policy_of(action))
    leave = {step.uid for step in one.steps if isinstance(step, Evict)}
    served = {step.gang for step in one.steps if isinstance(step, Nominate) and step.uid not in leave}
    assert served == {"default/p"}
