"""Taking: what every action has in common that evicts for somebody who waits."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from phalanx.engine.making_room import Steps, carry_out, make_room
from phalanx.engine.policy import Policy
from phalanx.engine.session import Session
from phalanx.engine.units import Unit, gang_units
from phalanx.engine.victims import VictimUnits, victim_units
from phalanx.engine.waiting import take_turns

#: Victims for one unit, in an order of which every front part is legal.
Line: TypeAlias = Callable[[Session, Policy, Unit, VictimUnits, Steps], Iterator[int]]


@dataclass(frozen=True, slots=True)
class Taking:
    """Goes through the units that still wait, and makes room for them where that is right."""

    session: Session
    policy: Policy
    action: str
    line: Line
    why: Callable[[Session, Unit], str]

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
                candidates = self.line(session, policy, unit, victims, steps)
                room = make_room(session, policy, unit, victims, candidates, steps)
                if room is not None:
                    carry_out(session, unit, room, victims, self.action, self.why(session, unit))
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
