"""A node as the scheduler sees it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from phalanx.model.axis import Amounts
from phalanx.model.device import Device
from phalanx.model.image import Image


@dataclass(frozen=True, slots=True, order=True)
class Taint:
    """Keeps pods away that do not tolerate it. Effects: NoSchedule, NoExecute, PreferNoSchedule."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"

    def __str__(self) -> str:
        return f"{self.key}={self.value}" if self.value else self.key


@dataclass(frozen=True, slots=True, order=True)
class Zone:
    """A NUMA node: what it has, and what of it is in use as far as the node says."""

    id: int
    amounts: tuple[tuple[str, int], ...] = ()
    used: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """Capacity with a name."""

    name: str
    uid: str = ""
    #: What may be given out: cordoned devices are taken off.
    allocatable: Amounts = field(default_factory=dict[str, int])
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    taints: tuple[Taint, ...] = ()
    ready: bool = True
    #: Cordoned: takes no new pods but those that tolerate it.
    cordoned: bool = False
    #: What its kubelet declares that it can do, sorted.
    features: tuple[str, ...] = ()
    images: tuple[Image, ...] = ()
    #: Those of which it says more than how many there are: by labels or annotations, sorted.
    devices: tuple[Device, ...] = ()
    #: What its labels, annotations and counts say of devices and contradicts itself or cannot be read, one line each.
    remarks: tuple[str, ...] = ()
    #: The kubelet's topology manager policy, such as `single-numa-node`; empty: not known.
    numa_policy: str = ""
    #: Its NUMA nodes where somebody describes them, sorted.
    zones: tuple[Zone, ...] = ()
