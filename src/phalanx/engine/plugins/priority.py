"""Priority: the more important gang goes first."""

from dataclasses import dataclass
from typing import ClassVar

from phalanx.engine.plugin import Plugin
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Units
from phalanx.model.axis import Float, Int


@dataclass(frozen=True, slots=True)
class Priority(Plugin):
    """Order by priority, highest first."""

    name: ClassVar[str] = "priority"
    band: ClassVar[bool] = True

    def gang_key(self, session: Session, units: Units) -> Int | Float:
        """Return the priority, turned round."""
        del session
        return -units.priority
