"""Consolidate: move small work together so that a large gang fits. Everybody who is moved has a place to go to."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from phalanx.engine.budgets import affords_together
from phalanx.engine.making_room import Room, Steps, carry_out, needed, tasks_of, tried
from phalanx.engine.moving import movable, move
from phalanx.engine.policy import Policy
from phalanx.engine.rights import claim_of, claimed_by
from phalanx.engine.session import Session
from phalanx.engine.taking import Taking
from phalanx.engine.units import Unit
from phalanx.engine.victims import VictimUnits, able
from phalanx.model.axis import Bool, Int


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
        if any(veto.check(session, unit, None) is not None for veto in policy.vetoes):
            # Whoever is moved comes back, so moving gives nobody room below a bound.
            return False
        start = session.checkpoint()
        for victims in self._choices(session, unit, units):
            if not steps.take():
                break
            session.evict(tasks_of(units, victims))
            places = tried(session, policy, unit)
            session.rollback(start)
            if places is None:
                continue
            room = Room(needed(session, units, victims, places), places, victims)
            carry_out(session, unit, room, units, self.name, "moved together with others, so that it fits")
            if room.victims and move(session, policy, tasks_of(units, room.victims)):
                return True
            session.rollback(start)
        return False

    def _choices(self, session: Session, unit: Unit, units: VictimUnits) -> Iterator[list[int]]:
        """Yield sets of victims: whoever is on the nodes that are cheapest to clear, of growing number."""
        snapshot, running = session.snapshot, session.snapshot.running
        mask = able(session, units) & movable(session, units)
        protected = np.array([queue.preempt_min_runtime or 0.0 for queue in snapshot.queues.queues] or [0.0])
        safe = snapshot.now < running.started[units.gang] + protected[running.queue[units.gang]]
        able_to_move = np.flatnonzero(mask & ~safe & (running.queue[units.gang] >= 0))
        if not len(able_to_move):
            return
        on = running.node[units.first[able_to_move]]
        lost = (snapshot.now - running.started[units.gang[able_to_move]]) * units.count[able_to_move]
        tasks = np.bincount(on, units.count[able_to_move], len(snapshot.nodes))
        work = np.bincount(on, lost, len(snapshot.nodes))
        age = np.bincount(on, snapshot.now - running.created[units.gang[able_to_move]], len(snapshot.nodes))
        cheapest = np.lexsort([age, work, tasks])
        cheapest = cheapest[
            (tasks[cheapest] > 0) & _cleared(session, unit, tasks_of(units, able_to_move.tolist()))[cheapest]
        ]
        most = len(running) if isinstance(self.moves, str) else self.moves
        wanted = min(len(unit.tasks), len(cheapest))
        # First as many nodes as the unit has tasks, one window after the other; then twice as many, and so on.
        while wanted:
            for first in range(0, len(cheapest) - wanted + 1, wanted):
                chosen = able_to_move[np.isin(on, cheapest[first : first + wanted])]
                if int(units.count[chosen].sum()) <= most:
                    yield _unsplit(session, units, affords_together(session, units.needs, chosen.tolist()))
            wanted = 2 * wanted if 2 * wanted <= len(cheapest) else 0


def _unsplit(session: Session, units: VictimUnits, chosen: list[int]) -> list[int]:
    """Return these victims without the minimums of gangs of which something else would stay behind."""
    gangs = units.gang[chosen]
    leaving = np.bincount(gangs, units.count[chosen], len(session.snapshot.running.gangs))
    split = units.core[chosen] & (leaving[gangs] < session.snapshot.running.count[gangs])
    return [victim for victim, out in zip(chosen, split.tolist(), strict=True) if not out]


def _cleared(session: Session, unit: Unit, moved: Int) -> Bool:
    """Return the nodes that, without whoever may be moved, would take a task of the unit at all."""
    running, snapshot = session.snapshot.running, session.snapshot
    freed = session.columns["free"] + session.columns["releasing"] - session.columns["held"]
    np.add.at(freed, running.node[moved], running.requests[moved])
    shapes = np.unique(snapshot.tasks.shape[unit.tasks])
    least = snapshot.requests[shapes].min(axis=0)
    enough: Bool = (freed >= least).all(axis=1)
    return enough


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
