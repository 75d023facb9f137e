"""Sides: programs on nodes that give out parts of devices, and read in annotations of a pod which ones it has."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from phalanx.dialects.core.pod_objects import Pod
from phalanx.model.device import Device
from phalanx.model.sharing import MIB, WHOLE, Part, mebibytes

#: Of a pod: the program has not taken it yet.
ALLOCATING = "allocating"
_TERMINAL = {"Failed", "Succeeded"}


class Given(NamedTuple):
    """What a pod gets, where and when."""

    part: Part
    devices: Sequence[Device]
    node: str
    #: Seconds since 1970.
    now: float

    def mebibytes(self, device: Device) -> int:
        """Return how many MiB it has of one of them."""
        return mebibytes(self.part.memory) or self.part.milli * (device.memory // MIB) // WHOLE


class NodeSide(NamedTuple):
    """One such program."""

    #: As of parts and of devices.
    name: str
    #: The annotations that its Binding carries. Raises FieldError where the program could not be told.
    told: Callable[[Pod, Given], Mapping[str, str]]
    #: An annotation of pods, which the program changes from `allocating` once it has given a pod its devices. It takes
    #: one pod at a time, and knows it by this word. Empty: it takes any number.
    phase: str = ""
    #: An annotation of nodes that says until then whose turn it is: time, namespace and name. Empty: there is none.
    lock: str = ""


def is_allocating(pod: Pod, sides: Mapping[str, NodeSide]) -> bool:
    """Tell whether a pod on a node has not been given its devices there yet."""
    said = pod.metadata.annotations
    if not said or not pod.spec.node_name or (pod.status is not None and pod.status.phase in _TERMINAL):
        return False
    return any(side.phase and said.get(side.phase) == ALLOCATING for side in sides.values())
