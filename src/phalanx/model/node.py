"""A node as the scheduler sees it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from phalanx.model.axis import Amounts


@dataclass(frozen=True, slots=True, order=True)
class Taint:
    """Keeps pods away that do not tolerate it. Effects: NoSchedule, NoExecute, PreferNoSchedule."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"

    def __str__(self) -> str:
        return f"{self.key}={self.value}" if self.value else self.key


@dataclass(frozen=True, slots=True)
class Device:
    """One GPU, or one slice of it, that is placed by identity and not by count."""

    resource: str
    name: str
    #: In milli-devices: what may be shared of it.
    size: int = 1000


@dataclass(frozen=True, slots=True)
class Node:
    """Capacity with a name."""

    name: str
    uid: str = ""
    allocatable: Amounts = field(default_factory=dict[str, int])
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    taints: tuple[Taint, ...] = ()
    ready: bool = True
    #: Cordoned: takes no new pods but those that tolerate it.
    cordoned: bool = False
    devices: tuple[Device, ...] = ()
