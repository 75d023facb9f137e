"""Gang: the members that make up a minimum start together or not at all; who lost one is made whole first."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.plugin import Plugin
from phalanx.engine.session import Session
from phalanx.engine.units import Units
from phalanx.model.axis import Float, Int


@dataclass(frozen=True, slots=True)
class Gang(Plugin):
    """Make gangs, and the minimums of their subgroups, the units of decision.

    Without it every task is decided alone, as a pod-by-pod scheduler does, and gangs are split.
    """

    name: ClassVar[str] = "gang"
    groups: ClassVar[bool] = True

    def gang_key(self, session: Session, units: Units) -> Int | Float:
        """Return 0 for a gang that runs below its minimum: until it is whole, what it holds may be of no use."""
        broken = (session.snapshot.gangs.running[units.gang] > 0) & ~units.growth
        return np.where(broken, 0, 1)
