"""Arrival: of equals, the gang that came first goes first; one that let its start timeout pass queues again."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.plugin import Plugin
from phalanx.engine.session import Session
from phalanx.engine.units import Units
from phalanx.model.axis import Float, Int


@dataclass(frozen=True, slots=True)
class Arrival(Plugin):
    """Order by creation. After each full start timeout a gang is ordered as if created then."""

    name: ClassVar[str] = "arrival"

    def gang_key(self, session: Session, units: Units) -> Int | Float:
        """Return the time from which a unit queues."""
        timeout = session.snapshot.gangs.start_timeout[units.gang]
        waited = np.maximum(session.snapshot.now - units.created, 0.0)
        turns = np.floor_divide(waited, timeout, out=np.zeros(len(units)), where=timeout > 0)
        return units.created + turns * timeout
