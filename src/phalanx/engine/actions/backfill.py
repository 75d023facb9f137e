"""Backfill: use the gaps before a reserved place, as far as that does not delay the gang that has the reservation."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.policy import Policy
from phalanx.engine.session.session import Session
from phalanx.engine.waiting.allocation import Allocation
from phalanx.engine.waiting.order import none_of, waiting_units


@dataclass(frozen=True, slots=True)
class Backfill:
    """Go on where allocate stopped: it reserves a place for the first gang that is blocked.

    Gangs that will have ended by then may go anywhere; all others go where enough is left beside the reservation.
    Without expected runtimes no time is known and nothing is reserved: `ageing` bounds how often a gang is passed over.
    """

    name: ClassVar[str] = "backfill"
    reads_running: ClassVar[bool] = True

    def run(self, session: Session, policy: Policy) -> None:
        """Try every unit that had no turn yet, in order."""
        if session.reservation is None:
            return
        units = waiting_units(session, policy)
        told = np.zeros(len(session.snapshot.gangs), np.bool_)
        told[list(session.reasons)] = True
        open_ = none_of(units, (session.place >= 0) | (session.disputed > 0)) | (units.count == 0)
        Allocation(session, policy, units, open_ & ~told[units.gang]).run()
