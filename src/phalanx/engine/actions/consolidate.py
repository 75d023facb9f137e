"""Consolidate: move small work together so that a large gang fits. Everybody who is moved has a place to go to."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from phalanx.engine.budgets import affords_together
from phalanx.engine.few import few_of
from phalanx.engine.making_room import Room, Steps, carry_out, needed, tasks_of, tried
from phalanx.engine.moving import movable, move
from phalanx.engine.placing import forbidden
from phalanx.engine.policy import Policy
from phalanx.engine.rights import claim_of, claimed_by
from phalanx.engine.session import Session
from phalanx.engine.taking import Taking
from phalanx.engine.units import Unit
from phalanx.engine.victims import VictimUnits, able
from phalanx.engine.ways import Ways
from phalanx.model.axis import Int


@dataclass(frozen=True, slots=True)
class Consolidate:
    """Clear nodes for a waiting gang, those that cost least first: fewest tasks moved, least work lost, youngest.

    Nobody is moved who is not preemptible, has no controller that makes him again, or says that he must stay; and
    nobody unless all who are moved fit elsewhere. `moves` bounds how many tasks are moved for one gang.
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

        def attempt(session: Session, policy: Policy, unit: Unit, units: VictimUnits, steps: Steps) -> bool:
            # Whoever is moved for a queue beyond its share is moved for nothing if another queue takes that back.
            mine = int(session.snapshot.gangs.queue[unit.gang])
            if claimed - {mine} and not claim_of(session, unit).entitled():
                return False
            return self._attempt(session, policy, unit, units, steps)

        Taking(session, policy, attempt).run()

    def _attempt(self, session: Session, policy: Policy, unit: Unit, units: VictimUnits, steps: Steps) -> bool:
        """Make room for one unit, if there is room enough in all and only its pieces lie apart."""
        if not session.snapshot.gangs.preemptible[unit.gang] or not _enough(session, unit):
            return False
        if forbidden(session, policy, unit):
            # Whoever is moved comes back, so moving gives nobody room below a bound.
            return False
        start, why = session.checkpoint(), "moved together with others, so that it fits"
        mine = self._mine(session, policy, units, unit.gang)
        for victims in self._choices(session, unit, units, mine):
            if not steps.take():
                break
            session.evict(tasks_of(units, victims))
            places = tried(session, policy, unit)
            session.rollback(start)
            if places is None:
                continue
            room = Room(needed(session, units, victims, places), places, victims)
            carry_out(session, unit, room, units, self.name, why)
            if room.victims and move(session, policy, tasks_of(units, room.victims)):
                return True
            session.rollback(start)
        few = few_of(session, policy, unit, units, mine, steps)
        return few is not None and Ways(session, policy, units, few, steps, self.name, why).by_moving(
            np.ones(len(mine), np.bool_), None, self._most(session)
        )

    def _most(self, session: Session) -> int:
        return len(session.snapshot.running) if isinstance(self.moves, str) else self.moves

    def _mine(self, session: Session, policy: Policy, units: VictimUnits, gang: int) -> Int:
        """Return who may be moved for a gang."""
        snapshot, running = session.snapshot, session.snapshot.running
        mask = able(session, policy, units, gang) & movable(session, units)
        protected = np.array([queue.preempt_min_runtime or 0.0 for queue in snapshot.queues.queues] or [0.0])
        safe = snapshot.now < running.started[units.gang] + protected[running.queue[units.gang]]
        return np.flatnonzero(mask & ~safe & (running.queue[units.gang] >= 0))

    def _choices(self, session: Session, unit: Unit, units: VictimUnits, mine: Int) -> Iterator[list[int]]:
        """Yield sets of victims: whoever is on the nodes that are cheapest to clear, of growing number."""
        snapshot, running = session.snapshot, session.snapshot.running
        if not len(mine):
            return
        tasks = tasks_of(units, mine.tolist())
        pair = np.unique(np.repeat(np.arange(len(mine)), units.count[mine]) * len(snapshot.nodes) + running.node[tasks])
        of, on = pair // len(snapshot.nodes), pair % len(snapshot.nodes)
        gained = _gained(session, unit, tasks)
        cheapest = _cheapest(session, units, mine[of], on)
        cheapest = cheapest[gained[cheapest] > 0]
        most = self._most(session)
        windows = _windows(cheapest, gained, len(unit.tasks) - _there(session, unit))
        for window in windows:
            chosen = np.unique(mine[of[np.isin(on, window)]])
            # Of a gang whose minimum goes nothing stays.
            cores = units.gang[chosen[units.core[chosen]]]
            whole = np.union1d(chosen, mine[np.isin(units.gang[mine], cores)]).tolist()
            if int(units.count[whole].sum()) <= most:
                whole = _unsplit(session, units, affords_together(session, units.needs, whole))
                # Whoever is hardest to move stands last: he is the first to be kept back.
                yield sorted(whole, key=lambda victim: (bool(units.core[victim]), _size(session, units, victim)))


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


def _cheapest(session: Session, units: VictimUnits, victims: Int, on: Int) -> Int:
    """Return the nodes from which somebody may be moved: fewest tasks first, least work lost, youngest."""
    running, now, count = session.snapshot.running, session.snapshot.now, len(session.snapshot.nodes)
    gang, moved = units.gang[victims], units.count[victims]
    tasks = np.bincount(on, moved, count)
    lost = np.bincount(on, (now - running.started[gang]) * moved, count)
    age = np.bincount(on, now - running.created[gang], count)
    cheapest = np.lexsort([age, lost, tasks])
    return cheapest[tasks[cheapest] > 0]


def _size(session: Session, units: VictimUnits, victim: int) -> float:
    """Return the largest part of the largest node that a victim holds."""
    most = np.maximum(session.snapshot.nodes.allocatable.max(axis=0), 1)
    return float((session.snapshot.running.requests[units.tasks(victim)].sum(axis=0) / most).max())


def _unsplit(session: Session, units: VictimUnits, chosen: list[int]) -> list[int]:
    """Return these victims without the minimums of gangs of which something else would stay behind."""
    gangs = units.gang[chosen]
    leaving = np.bincount(gangs, units.count[chosen], len(session.snapshot.running.gangs))
    split = units.core[chosen] & (leaving[gangs] < session.snapshot.running.count[gangs])
    return [victim for victim, out in zip(chosen, split.tolist(), strict=True) if not out]


def _smallest(session: Session, unit: Unit) -> Int:
    """Return the least that any task of a unit asks for, resource by resource."""
    snapshot = session.snapshot
    return np.asarray(snapshot.requests[np.unique(snapshot.tasks.shape[unit.tasks])].min(axis=0), np.int64)


def _copies(amounts: Int, ask: Int) -> Int:
    wanted = np.flatnonzero(ask)
    return np.asarray(np.maximum((amounts[:, wanted] // ask[wanted]).min(axis=1), 0), np.int64)


def _gained(session: Session, unit: Unit, moved: Int) -> Int:
    """Return how many more tasks of the unit each node could take, at most, without whoever may be moved."""
    running, ask = session.snapshot.running, _smallest(session, unit)
    now = session.columns["free"] + session.columns["releasing"] - session.columns["held"]
    freed = now.copy()
    np.add.at(freed, running.node[moved], running.requests[moved])
    return _copies(freed, ask) - _copies(now, ask)


def _there(session: Session, unit: Unit) -> int:
    """Return how many tasks of the unit would find a place already, at most."""
    now = session.columns["free"] + session.columns["releasing"] - session.columns["held"]
    return int(np.minimum(_copies(now, _smallest(session, unit)), len(unit.tasks)).sum())


def _enough(session: Session, unit: Unit) -> bool:
    """Tell whether there is as much as the unit asks for, on all ready nodes together."""
    snapshot = session.snapshot
    ask = snapshot.requests[snapshot.tasks.shape[unit.tasks]].sum(axis=0)
    open_ = snapshot.nodes.ready & ~snapshot.nodes.cordoned
    session.ahead = True
    fine = all(
        int(np.maximum(session.spare(column)[open_], 0).sum()) >= ask[column] for column in np.flatnonzero(ask).tolist()
    )
    session.ahead = False
    return fine
