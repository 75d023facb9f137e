"""Gang: the members that make up a minimum start together or not at all."""

from dataclasses import dataclass
from typing import ClassVar

from phalanx.engine.plugin import Plugin


@dataclass(frozen=True, slots=True)
class Gang(Plugin):
    """Make gangs, and the minimums of their subgroups, the units of decision.

    Without it every task is decided alone, as a pod-by-pod scheduler does, and gangs are split.
    """

    name: ClassVar[str] = "gang"
    groups: ClassVar[bool] = True
