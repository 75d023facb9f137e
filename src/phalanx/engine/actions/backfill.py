"""Backfill: use the gaps before a place that is kept, as far as that delays nobody for whom it is kept."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.policy import Policy
from phalanx.engine.round import Round
from phalanx.engine.session import Session, Waiting
from phalanx.engine.units import gang_units, task_units
from phalanx.engine.waiting import take_turns


@dataclass(frozen=True, slots=True)
class Backfill:
    """Go on where allocate stopped: it keeps a place for the first gang that is blocked.

    Who will be gone by then may go anywhere; everybody else goes where enough is left beside the kept place. Without
    expected runtimes no time is known, nothing is kept, and `ageing` bounds how often a gang is passed over.
    """

    name: ClassVar[str] = "backfill"
    reads_running: ClassVar[bool] = True

    def run(self, session: Session, policy: Policy) -> None:
        """Try every unit that had no turn yet, in order."""
        if session.hold is None:
            return
        units = gang_units(session.snapshot) if policy.groups else task_units(session.snapshot)
        told = {entry.gang for entry in session.log if isinstance(entry, Waiting)}
        placed = np.append(session.place >= 0, False)
        first = np.where(units.count > 0, units.rows[np.minimum(units.first, len(units.rows) - 1)], -1)
        fresh = ~placed[first] & ~np.isin(units.gang, np.array(sorted(told), np.int64))
        round_ = Round(session, policy, units)
        turns = take_turns(session, policy, units, fresh)
        while len(line := turns.line()):
            turns.done(round_.decide(line, alone=turns.alone))
