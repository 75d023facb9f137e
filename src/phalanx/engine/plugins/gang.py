"""Gang: the members that make up a minimum start together or not at all; a gang that lost one is made whole first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.plugin import Heads, Plugin
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Units
from phalanx.model.axis import Bool, Float, Int


@dataclass(frozen=True, slots=True)
class Gang(Plugin):
    """Make gangs, and the minimums of their subgroups, the units of decision.

    Without it every task is decided alone, as a pod-by-pod scheduler does, and gangs are split.
    """

    name: ClassVar[str] = "gang"
    groups: ClassVar[bool] = True
    #: Before priority: what a broken gang holds is of no use to anybody until it is whole or gone.
    band: ClassVar[bool] = True
    only_lifts: ClassVar[bool] = True

    def gang_key(self, session: Session, units: Units) -> Int | Float:
        """Return 0 for a gang that runs below its minimum: until it is whole, what it holds may be of no use."""
        return np.where(_broken(session, units, slice(None)), 0, 1)

    def queue_key(self, session: Session, queues: Int, heads: Heads) -> Sequence[Int | Float | Bool]:
        """Return 0 for queues in which such a gang stands first."""
        del queues
        assert heads.units is not None, "victims are not found by this"
        return (~_broken(session, heads.units, heads.index),)


def _broken(session: Session, units: Units, some: Int | slice) -> Bool:
    broken: Bool = (session.snapshot.gangs.running[units.gang[some]] > 0) & ~units.growth[some]
    return broken
