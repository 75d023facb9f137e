"""What a session notes down, in the order of decision. The plan's steps are made from it."""

from dataclasses import dataclass
from typing import TypeAlias

from phalanx.model.axis import Bool, Int


@dataclass(frozen=True, slots=True)
class Placed:
    """Tasks that got nodes, in order."""

    tasks: Int
    nodes: Int


@dataclass(frozen=True, slots=True)
class Promised:
    """Tasks for which places are kept until they are free, in order."""

    tasks: Int
    nodes: Int


@dataclass(frozen=True, slots=True)
class Released:
    """Tasks whose promise is given up, and why."""

    tasks: Int
    reason: str


@dataclass(frozen=True, slots=True)
class Moved:
    """Residents that must leave, and where places are kept for their successors, in order."""

    residents: Int
    nodes: Int
    #: [entry, device]: the devices that they will share; None: they share none.
    devices: Int | None = None


@dataclass(frozen=True, slots=True)
class Evicted:
    """Residents that must leave, for which gang (None: for nobody) and by which action and rule.

    Those that only have a promise lose it.
    """

    residents: Int
    action: str
    gang: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """Gangs that were refused; `Session.reasons` has why."""

    gangs: Int


Entry: TypeAlias = Placed | Promised | Released | Moved | Evicted | Waiting


@dataclass(frozen=True, slots=True)
class Reservation:
    """The place and time that backfill keeps for a blocked gang."""

    gang: int
    start: float
    #: [resident]: it will still be there then.
    lasting: Bool
