"""Sharing: devices of which several tasks each take a part, and who sits on which of them.

The kubelet picks the index of a plain `nvidia.com/gpu` itself, so what tells one shared device from another is a
*group*: an id that all who share it carry. A node has as many slots as devices; a group has one of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from phalanx.model.axis import GPU, Bool, Int
from phalanx.model.queue import Placement

#: The resource of which parts are given out.
RESOURCE = GPU
WHOLE = 1000
MIB = 2**20
#: In the place of a row: no device.
NOWHERE = -1
#: More than any device has, and yet sums of it fit.
NEVER = 2**50
#: A pod asks for parts of so many devices at most.
DEVICES_MAX = 99


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """What a task takes of devices that it shares: the same of each."""

    devices: int = 1
    #: Thousandths of a device; 0 where it asks for memory alone.
    milli: int = 0
    #: Bytes; 0 where it asks for a fraction alone. With both, such as compute and memory, the greater part is taken.
    memory: int = 0


@dataclass(frozen=True, slots=True)
class Sharing:
    """That devices are shared, and what is taken for granted of them."""

    #: Bytes of a device of which the node does not say it; 0: nothing is known, and no request by memory fits.
    memory: int = 0
    #: The fullest device that has room first, or the emptiest.
    placement: Placement = "pack"


@dataclass(frozen=True, slots=True)
class SharedTable:
    """The devices that may be shared, one row each, sorted by node and index, and what is taken of each."""

    #: The devices of node row n are rows first[n] … first[n + 1] - 1.
    first: Int
    #: Row of the device table and of the node table; the device's number on its node.
    device: Int
    node: Int
    index: Int
    #: MiB; 0: not known.
    memory: Int
    usable: Bool
    #: In thousandths of a MiB, or of the device where its memory is not known (`levels`): of pods that stay, of pods
    #: that terminate, and what is promised to pods that are not there yet.
    here: Int
    leaving: Int
    promised: Int
    #: [node]: groups for which the node has no device.
    stray: Int
    #: The id of the group on a row, where it is not the device's number.
    groups: Mapping[int, str]
    #: [task of the running table, device] and [waiting task, device]: the rows on which it sits, or which are promised
    #: to it; NOWHERE: none.
    running: Int
    tasks: Int
    #: Of which nobody may be given a part: their device plugin must be told of it, and is not; None: there are none.
    barred: Bool | None = None

    def __len__(self) -> int:
        return len(self.node)

    @property
    def capacity(self) -> Int:
        """Return what each device has."""
        return capacity_of(self.memory)


def capacity_of(memory: Int) -> Int:
    """Return what devices of so many MiB have, in the unit in which parts of them are counted."""
    return np.asarray(WHOLE * np.maximum(memory, 1), np.int64)


def levels(part: Part, memory: Int) -> Int:
    """Return what a part takes of devices of so many MiB: a fraction is that of the memory, too.

    So one number per device says all: fractions never add up to more than one, and memory never to more than there is.
    """
    if part.memory:
        return np.where(memory > 0, np.maximum(WHOLE * mebibytes(part.memory), part.milli * memory), NEVER)
    return np.asarray(part.milli * np.maximum(memory, 1), np.int64)


def mebibytes(memory: int) -> int:
    """Return a request for memory in MiB, rounded up."""
    return -(-memory // MIB)


def milli_of(part: Part, memory: int) -> int:
    """Return which part of a device of so many MiB this is, in thousandths, rounded up."""
    return max(-(-WHOLE * mebibytes(part.memory) // memory), part.milli) if part.memory else part.milli
