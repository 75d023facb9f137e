"""Allocate: give free resources to waiting gangs, in order, disturbing nobody."""

from dataclasses import dataclass
from typing import ClassVar

from phalanx.engine.policy import Policy
from phalanx.engine.session.session import Session
from phalanx.engine.waiting.allocation import Allocation
from phalanx.engine.waiting.order import none_of, waiting_units
from phalanx.engine.waiting.reservation import reserve
from phalanx.model.plan import Code, Reason


@dataclass(frozen=True, slots=True)
class Allocate:
    """Try every unit once. The minimum of a gang is placed whole or not at all.

    A unit without a place is passed over. With the action `backfill` behind it, the first whose place will be free at a
    known time gets it reserved, and all behind it are left to that action. With `strict` no unit is
    placed behind a blocked one of its queue.
    """

    strict: bool = False
    name: ClassVar[str] = "allocate"

    def run(self, session: Session, policy: Policy) -> None:
        """Go through the units in order; equal single tasks in a row are decided at once."""
        units = waiting_units(session, policy)
        # Those that landed have their places; units without tasks only say why they wait.
        open_ = none_of(units, (session.place >= 0) | (session.disputed > 0)) | (units.count == 0)
        allocation = Allocation(session, policy, units, open_)
        while len(line := allocation.line()):
            count = allocation.decide(line)
            blocked, allocation.blocked = allocation.blocked, None
            if blocked is not None and self.strict:
                name = session.snapshot.gangs.gangs[int(units.gang[blocked])].name
                reason = Reason(Code.FULL, f"behind {name}, which finds no place (allocate is strict)")
                allocation.tell(line[count:], [reason] * (len(line) - count))
                count = len(line)
            elif (
                blocked is not None
                and policy.backfills
                and session.reservation is None
                and reserve(session, policy, units.unit(blocked))
            ):
                return
            allocation.done(count)
