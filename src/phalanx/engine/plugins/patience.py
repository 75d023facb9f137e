"""Patience: a gang that says it can wait lets others of its queue pass until then, and no longer."""

from dataclasses import dataclass
from typing import ClassVar

from phalanx.engine.plugin import Plugin
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Units
from phalanx.model.axis import Float, Int


@dataclass(frozen=True, slots=True)
class Patience(Plugin):
    """Order a patient gang behind all others of its queue. It still takes what they leave."""

    name: ClassVar[str] = "patience"
    band: ClassVar[bool] = True

    def gang_key(self, session: Session, units: Units) -> Int | Float:
        """Return 1 while a gang's patience lasts."""
        patience = session.snapshot.gangs.patience[units.gang]
        still = session.snapshot.now < units.created + patience
        return (still & (patience > 0)).astype("int64")
