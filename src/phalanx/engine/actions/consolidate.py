"""Consolidate: move small work together so that a large gang fits. Every task that is moved has a place to go to."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from phalanx.engine.eviction.budgets import affords_together
from phalanx.engine.eviction.candidates import Candidates, may_leave
from phalanx.engine.eviction.hopeless import not_enough
from phalanx.engine.eviction.making_room import MakingRoom
from phalanx.engine.eviction.prefix import Room, carry_out
from phalanx.engine.eviction.relocation import movable, relocate
from phalanx.engine.eviction.reprieve import reprieve
from phalanx.engine.eviction.rights import claimed_by, entitled
from phalanx.engine.eviction.search_budget import SearchBudget
from phalanx.engine.eviction.subset_search import SubsetSearch
from phalanx.engine.eviction.subsets import subset_table
from phalanx.engine.placement.copies import by_amounts, copies
from phalanx.engine.placement.find import request_of
from phalanx.engine.placement.place import objection, places_later
from phalanx.engine.policy import Policy
from phalanx.engine.session.request import When
from phalanx.engine.session.rows import distinct
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Unit, Units
from phalanx.model.axis import Bool, Int


@dataclass(frozen=True, slots=True)
class Consolidate:
    """Clear nodes for a waiting gang, those that cost least first: fewest tasks moved, least work lost, youngest.

    No pod is moved that is not preemptible, has no controller that makes it again, or says that it must stay; and none
    unless all that are moved fit elsewhere. `moves` bounds how many tasks are moved for one gang.
    """

    moves: int | Literal["unlimited"] = 16
    name: ClassVar[str] = "consolidate"
    reads_running: ClassVar[bool] = True
    evicts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.moves, str) and not 0 <= self.moves <= 1_000_000:
            raise ValueError(f"moves: found {self.moves}, allowed is 0 to 1000000, or unlimited")

    def run(self, session: Session, policy: Policy) -> None:
        """Try every unit that still waits, in order."""
        claimed = claimed_by(session)

        def hopeless(session: Session, units: Units) -> Bool:
            gangs = session.snapshot.gangs
            found = not_enough(session, units) | ~gangs.preemptible[units.gang]
            if claimed:
                # What is moved for a queue beyond its share is moved for nothing if another queue takes that back.
                alone = next(iter(claimed)) if len(claimed) == 1 else -2
                found |= (gangs.queue[units.gang] != alone) & ~entitled(session, units)
            return found

        MakingRoom(session, policy, self.name, self._attempt, hopeless).run()

    def _attempt(
        self, session: Session, policy: Policy, unit: Unit, candidates: Candidates, budget: SearchBudget
    ) -> bool:
        """Make room for one unit, if there is room enough in all and only its pieces lie apart."""
        start, why = session.checkpoint(), "moved together with others, so that it fits"
        session.drop_promise(unit.tasks)
        forbidden = objection(session, policy, unit) is not None
        session.rollback(start)
        if forbidden:
            # What is moved comes back, so moving gives nobody room below a bound.
            return False
        mine = self._mine(session, policy, candidates, unit)
        for victims in self._choices(session, policy, unit, candidates, mine):
            if not budget.take():
                break
            session.evict(candidates.tasks_of(victims))
            places = places_later(session, policy, unit)
            session.rollback(start)
            if places is None:
                continue
            room = Room(reprieve(session, policy, unit, candidates, victims, places), places, victims)
            carry_out(session, policy, unit, room, candidates, self.name, why)
            if room.victims and relocate(session, policy, candidates.tasks_of(room.victims)):
                return True
            session.rollback(start)
        table = subset_table(session, policy, unit, candidates, mine, budget)
        return table is not None and SubsetSearch(session, policy, candidates, table, budget, self.name, why).by_moving(
            np.ones(len(mine), np.bool_), None, self._most(session)
        )

    def _most(self, session: Session) -> int:
        return len(session.snapshot.running) if isinstance(self.moves, str) else self.moves

    def _mine(self, session: Session, policy: Policy, candidates: Candidates, unit: Unit) -> Int:
        """Return which candidates may be moved for a unit."""
        snapshot, table = session.snapshot, session.residents
        mask = may_leave(session, policy, unit) & movable(session, candidates)
        protected = np.array([queue.preempt_min_runtime or 0.0 for queue in snapshot.queues.queues] or [0.0])
        safe = snapshot.now < table.started[candidates.gang] + protected[candidates.queue]
        return np.flatnonzero(mask & ~safe & (candidates.queue >= 0))

    def _choices(
        self, session: Session, policy: Policy, unit: Unit, candidates: Candidates, mine: Int
    ) -> Iterator[list[int]]:
        """Yield sets of candidates: all on the nodes that are cheapest to clear, of growing number."""
        if not len(mine):
            return
        count = len(session.snapshot.nodes)
        tasks = candidates.tasks_of(mine.tolist())
        on_node = session.residents.node[tasks]
        pair = np.unique(np.repeat(np.arange(len(mine)), candidates.count[mine]) * count + on_node)
        of, on = pair // count, pair % count
        there, gained = _room(session, policy, unit, tasks)
        cheapest = _cheapest(session, candidates, mine[of], on)
        cheapest = cheapest[gained[cheapest] > 0]
        most = self._most(session)
        windows = _windows(cheapest, gained, len(unit.tasks) - int(np.minimum(there, len(unit.tasks)).sum()))
        for window in windows:
            chosen = np.unique(mine[of[np.isin(on, window)]])
            # Where the minimum of a gang leaves, all of the gang leaves.
            minimums = candidates.gang[chosen[candidates.is_minimum[chosen]]]
            whole = np.union1d(chosen, mine[np.isin(candidates.gang[mine], minimums)]).tolist()
            if int(candidates.count[whole].sum()) <= most:
                whole = _unsplit(candidates, affords_together(session, candidates.needs, whole))
                # What is hardest to move stands last: it is the first to be spared.
                yield sorted(whole, key=lambda one: (bool(candidates.is_minimum[one]), _size(session, candidates, one)))


def _windows(cheapest: Int, gained: Int, wanted: int) -> Iterator[Int]:
    """Yield nodes to clear: one after the other, then two at a time, four, … and all, where that could be enough."""
    gains = np.append(0, np.cumsum(np.minimum(gained[cheapest], max(wanted, 0))))
    length = 1
    while length < 2 * len(cheapest):
        length = min(length, len(cheapest))
        first = np.arange(0, len(cheapest), length)
        last = np.minimum(first + length, len(cheapest))
        for at in np.flatnonzero(gains[last] - gains[first] >= wanted).tolist():
            yield cheapest[first[at] : last[at]]
        length *= 2


def _cheapest(session: Session, candidates: Candidates, victims: Int, on: Int) -> Int:
    """Return the nodes from which tasks may be moved: fewest tasks first, least work lost, youngest."""
    table, now, count = session.residents, session.snapshot.now, len(session.snapshot.nodes)
    gang, moved = candidates.gang[victims], candidates.count[victims]
    tasks = np.bincount(on, moved, count)
    lost = np.bincount(on, (now - table.started[gang]) * moved, count)
    age = np.bincount(on, now - table.created[gang], count)
    cheapest = np.lexsort([age, lost, tasks])
    return cheapest[tasks[cheapest] > 0]


def _size(session: Session, candidates: Candidates, victim: int) -> float:
    """Return the largest part of the largest node that a candidate takes."""
    most = np.maximum(session.snapshot.nodes.allocatable.max(axis=0), 1)
    shapes = session.residents.shape[candidates.tasks(victim)]
    return float((session.snapshot.requests[shapes].sum(axis=0) / most).max())


def _unsplit(candidates: Candidates, chosen: list[int]) -> list[int]:
    """Return these candidates without the minimums of gangs of which something else would be left behind."""
    table, gangs = candidates.residents, candidates.gang[chosen]
    leaving = np.bincount(gangs, candidates.count[chosen], len(table.count))
    split = candidates.is_minimum[chosen] & (leaving[gangs] < table.count[gangs])
    return [one for one, out in zip(chosen, split.tolist(), strict=True) if not out]


def _smallest(session: Session, unit: Unit) -> Int:
    """Return the least that any task of a unit asks for, resource by resource."""
    snapshot = session.snapshot
    return np.asarray(snapshot.requests[np.unique(snapshot.tasks.shape[unit.tasks])].min(axis=0), np.int64)


def _copies(amounts: Int, ask: Int) -> Int:
    wanted = np.flatnonzero(ask)
    return np.asarray(np.maximum((amounts[:, wanted] // ask[wanted]).min(axis=1), 0), np.int64)


def _later(session: Session, unit: Unit) -> Int:
    """Return [node, resource]: what the unit may take once everybody who leaves has left."""
    shape = int(session.snapshot.tasks.shape[unit.tasks[0]])
    return session.spare_amounts(request_of(session, unit.gang, shape, when=When.LATER))


def _room(session: Session, policy: Policy, unit: Unit, moved: Int) -> tuple[Int, Int]:
    """Return, per node, how many tasks of the unit it can take at most, and how many more without what may be moved."""
    shapes = distinct(session.snapshot.tasks.shape[unit.tasks]).tolist()
    requests = [request_of(session, unit.gang, shape, when=When.LATER) for shape in shapes]
    if not all(by_amounts(session, policy, request) for request in requests):
        now = np.maximum.reduce([copies(session, policy, request) for request in requests])
        freed = np.maximum.reduce([copies(session, policy, request, moved) for request in requests])
        return now, freed - now
    table, ask, spare = session.residents, _smallest(session, unit), _later(session, unit)
    freed = spare.copy()
    np.add.at(freed, table.node[moved], session.snapshot.requests[table.shape[moved]])
    now = _copies(spare, ask)
    return now, _copies(freed, ask) - now
