"""Arrival: of equals, the gang that came first goes first; one that let its start timeout pass queues again."""

from dataclasses import dataclass
from typing import ClassVar

from phalanx.engine.plugin import Plugin
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Units
from phalanx.model.axis import Float, Int
from phalanx.model.requeue import turns


@dataclass(frozen=True, slots=True)
class Arrival(Plugin):
    """Order by creation. After each full start timeout a gang that has not started is ordered as if created then."""

    name: ClassVar[str] = "arrival"
    requeues: ClassVar[bool] = True

    def gang_key(self, session: Session, units: Units) -> Int | Float:
        """Return the time from which a unit queues."""
        gangs = session.snapshot.gangs
        timeout, running = gangs.start_timeout[units.gang], gangs.running[units.gang]
        return units.created + turns(session.snapshot.now, units.created, timeout, running) * timeout
