"""Preempt: inside a queue the more important goes before the less important, even if that runs already."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.few import few_of
from phalanx.engine.making_room import Steps, carry_out, make_room
from phalanx.engine.policy import Policy
from phalanx.engine.rights import beyond_share, claimed_by
from phalanx.engine.session import Session
from phalanx.engine.taking import Taking
from phalanx.engine.units import Unit
from phalanx.engine.victims import VictimUnits, able, may_follow
from phalanx.engine.ways import Ways
from phalanx.model.axis import Int


@dataclass(frozen=True, slots=True)
class Preempt:
    """Evict gangs of the same queue that are of strictly lower priority."""

    name: ClassVar[str] = "preempt"
    reads_running: ClassVar[bool] = True
    evicts: ClassVar[bool] = True

    def run(self, session: Session, policy: Policy) -> None:
        """Try every unit that still waits, in order."""
        claimed = claimed_by(session)

        def attempt(session: Session, policy: Policy, unit: Unit, units: VictimUnits, steps: Steps) -> bool:
            start = session.checkpoint()
            made = self._attempt(session, policy, unit, units, steps)
            others = claimed - {int(session.snapshot.gangs.queue[unit.gang])}
            if made and others and beyond_share(session, unit):
                # A queue that grew beyond its share while another claims its own would give it back at once.
                session.rollback(start)
                return False
            return made

        Taking(session, policy, attempt).run()

    def _attempt(self, session: Session, policy: Policy, unit: Unit, units: VictimUnits, steps: Steps) -> bool:
        """Make room for one unit."""
        below, why = self._below(session, policy, unit, units), self._why(session, unit)
        room = make_room(session, policy, unit, units, self._line(session, units, below, steps), steps)
        if room is not None:
            carry_out(session, unit, room, units, self.name, why)
            return True
        shapes = session.snapshot.tasks.shape[unit.tasks]
        if (shapes == shapes[:1]).all() and not np.isin(below, units.needs.unit).any():
            # All of them together were of no help.
            return False
        # Who goes first may use up a budget and be of no help; tasks of several shapes may be in each other's way.
        few = few_of(session, policy, unit, units, below, steps)
        return few is not None and Ways(session, policy, units, few, steps, self.name, why).by_taking(lambda _: True)

    def _below(self, session: Session, policy: Policy, unit: Unit, units: VictimUnits) -> Int:
        """Return who may be evicted for a unit."""
        snapshot, running = session.snapshot, session.snapshot.running
        leaf = snapshot.gangs.queue[unit.gang]
        mask = able(session, policy, units, unit.gang) & (running.queue[units.gang] == leaf)
        mask &= running.priority[units.gang] < snapshot.gangs.priority[unit.gang]
        runtime = snapshot.queues.queues[int(leaf)].preempt_min_runtime or 0.0
        return np.flatnonzero(mask & (~units.core | (snapshot.now >= running.started[units.gang] + runtime)))

    def _line(self, session: Session, units: VictimUnits, below: Int, steps: Steps) -> Iterator[int]:
        for victim in below.tolist():
            if not steps.take():
                return
            if may_follow(session, units, victim):
                yield victim

    def _why(self, session: Session, unit: Unit) -> str:
        return f"of higher priority in its queue ({session.snapshot.gangs.priority[unit.gang]})"
