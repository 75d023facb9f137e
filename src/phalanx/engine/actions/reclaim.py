"""Reclaim: a queue that has less than its share takes back from queues that have more."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.making_room import Steps, carry_out, make_room, tasks_of
from phalanx.engine.moving import movable, move
from phalanx.engine.policy import Policy
from phalanx.engine.rights import claim_of
from phalanx.engine.session import Session
from phalanx.engine.taking import Taking
from phalanx.engine.units import Unit
from phalanx.engine.victims import VictimUnits, able, by_queue, may_follow


@dataclass(frozen=True, slots=True)
class Reclaim:
    """Evict what other queues have beyond what they are entitled to, for units that stay within their queue's share."""

    #: Whoever is entitled to what he has may still be moved, if there is another place for him.
    moving: bool = True
    name: ClassVar[str] = "reclaim"
    reads_running: ClassVar[bool] = True
    evicts: ClassVar[bool] = True

    def run(self, session: Session, policy: Policy) -> None:
        """Try every unit that still waits, in order."""
        Taking(session, policy, self._attempt).run()

    def _attempt(self, session: Session, policy: Policy, unit: Unit, units: VictimUnits, steps: Steps) -> bool:
        """Make room for one unit."""
        start = session.checkpoint()
        illegal: set[int] = set()
        line = self._line(session, policy, unit, units, steps, illegal)
        room = make_room(session, policy, unit, units, line, steps)
        if room is None:
            return False
        carry_out(session, unit, room, units, self.name, self._why(session, unit))
        moved = [victim for victim in room.victims if victim in illegal]
        if moved and not move(session, policy, tasks_of(units, moved)):
            session.rollback(start)
            return False
        return True

    def _line(
        self, session: Session, policy: Policy, unit: Unit, units: VictimUnits, steps: Steps, illegal: set[int]
    ) -> Iterator[int]:
        """Yield whom we may take from, and then whom we may only move: they are noted as illegal."""
        snapshot = session.snapshot
        claim = claim_of(session, unit)
        if not snapshot.queues.resources or not claim.entitled():
            return
        running = snapshot.running
        mask = able(session, units) & (running.queue[units.gang] != claim.leaf)
        others: list[int] = []
        can_move = movable(session, units) & self.moving
        orders = tuple(plugin for plugin in policy.queue_orders if getattr(plugin, "finds_victims", False))
        for victim, _ in by_queue(session, orders, units, np.flatnonzero(mask)):
            if not steps.take():
                return
            sides = claim.parting(int(running.queue[units.gang[victim]]))
            if sides is None or self._protected(session, units, victim, sides[1]):
                continue
            if claim.may_take(*sides, units.gives[victim]) and may_follow(session, units, victim):
                yield victim
            elif can_move[victim]:
                others.append(victim)
        for victim in others:
            if may_follow(session, units, victim):
                illegal.add(victim)
                yield victim

    def _protected(self, session: Session, units: VictimUnits, victim: int, queue: int) -> bool:
        """A gang's minimum is safe for a while after its start."""
        runtime = session.snapshot.queues.queues[queue].reclaim_min_runtime or 0.0
        started = session.snapshot.running.started[units.gang[victim]]
        return bool(units.core[victim] and session.snapshot.now < started + runtime)

    def _why(self, session: Session, unit: Unit) -> str:
        table = session.snapshot.queues
        queue = table.queues[int(session.snapshot.gangs.queue[unit.gang])].name
        return f"queue {queue} takes back what is its share"
