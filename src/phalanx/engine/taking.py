"""Taking: what every action has in common that evicts for somebody who waits."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from phalanx.engine.making_room import Steps
from phalanx.engine.policy import Policy
from phalanx.engine.session import Session
from phalanx.engine.units import Unit, gang_units
from phalanx.engine.victims import VictimUnits, victim_units
from phalanx.engine.waiting import take_turns

#: Makes room for one unit, or leaves no trace; tells which.
Attempt: TypeAlias = Callable[[Session, Policy, Unit, VictimUnits, Steps], bool]


@dataclass(frozen=True, slots=True)
class Taking:
    """Goes through the units that still wait, and makes room for them where that is right."""

    session: Session
    policy: Policy
    attempt: Attempt

    def run(self) -> None:
        """Try every unit once, in order."""
        session, policy = self.session, self.policy
        if not len(session.snapshot.running):
            return
        waiting = gang_units(session.snapshot)
        victims = victim_units(session.snapshot)
        steps = Steps(policy.search_steps)
        turns = take_turns(session, policy, waiting)
        while len(line := turns.line()) and not steps.stopped:
            unit = waiting.unit(int(line[0]))
            if self._worth_trying(unit):
                self.attempt(session, policy, unit, victims, steps)
            turns.done(1)

    def _worth_trying(self, unit: Unit) -> bool:
        """A unit that waits, of a gang that has its minimum or gets it now, and that no rule forbids to start."""
        session, gangs = self.session, self.session.snapshot.gangs
        if unit.hold is not None or not len(unit.tasks) or (session.place[unit.tasks] >= 0).any():
            return False
        mine = slice(gangs.first[unit.gang], gangs.first[unit.gang] + gangs.count[unit.gang])
        there = int(gangs.running[unit.gang]) + int(np.count_nonzero(session.place[mine] >= 0))
        if not unit.whole and there < gangs.minimum[unit.gang]:
            return False
        return all(veto.check(session, unit, None) is None for veto in self.policy.vetoes)
