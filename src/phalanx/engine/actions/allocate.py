"""Allocate: give free resources to waiting gangs, in order, disturbing nobody."""

from dataclasses import dataclass
from typing import ClassVar

from phalanx.engine.holding import hold_for
from phalanx.engine.landing import land
from phalanx.engine.policy import Policy
from phalanx.engine.round import Round, wait_behind
from phalanx.engine.session import Session
from phalanx.engine.units import gang_units, task_units
from phalanx.engine.waiting import take_turns


@dataclass(frozen=True, slots=True)
class Allocate:
    """Try every unit once. The minimum of a gang is placed whole or not at all.

    Who finds no place is passed over. With the action `backfill` behind it, the first whose place will be free at a
    known time gets it kept, and all behind it are left to that action. With `strict` nobody is passed over by others
    of its queue.
    """

    strict: bool = False
    name: ClassVar[str] = "allocate"

    def run(self, session: Session, policy: Policy) -> None:
        """Go through the units in order; equal single tasks in a row are decided at once."""
        units = gang_units(session.snapshot) if policy.groups else task_units(session.snapshot)
        landed = land(session, policy, units)
        round_ = Round(session, policy, units)
        turns = take_turns(session, policy, units, ~landed)
        while len(line := turns.line()):
            count = round_.decide(line, alone=turns.alone)
            if round_.blocked is not None and self.strict:
                wait_behind(round_, line[count:])
                count = len(line)
            elif round_.blocked is not None and policy.backfills and session.hold is None:
                session.hold = hold_for(session, policy, units.unit(round_.blocked))
                if session.hold is not None:
                    return
            round_.blocked = None
            turns.done(count)
