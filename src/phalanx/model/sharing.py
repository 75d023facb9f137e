"""Sharing: devices of which several tasks each take a part, and who sits on which of them.

The kubelet picks the index of a plain `nvidia.com/gpu` itself, so what tells one shared device from another is a
*group*: an id that all who share it carry. A node has as many slots as devices; a group has one of them.
"""

from collections.abc import Iterable, Mapping
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
#: What is counted of each device, one row of the books each: memory, compute, and how many share it. The last one is no
#: limit: how many of those compute side by side, which nobody does beside who takes turns.
MEMORY, CORES, SEATS, ABREAST = range(4)
COUNTED = 4


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """What a task takes of devices that it shares: the same of each."""

    devices: int = 1
    #: Thousandths of a device's memory; 0 where it says so in bytes.
    milli: int = 0
    #: Bytes; 0 where it asks for a fraction alone. With both the greater part is taken.
    memory: int = 0
    #: Thousandths of a device's compute; 0: it does not limit what it uses of it.
    cores: int = 0
    #: It computes side by side with others of its device, and not in turns.
    abreast: bool = False
    #: Whose program on the node gives it out; empty: nobody's, the device is reserved for those who share it.
    side: str = ""


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
    #: How many may share it; 0: any number.
    seats: Int
    usable: Bool
    #: [what is counted, device], as `levels` has it: of pods that stay, of pods that terminate, and what is promised to
    #: pods that are not there yet.
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
    #: By whose program on the node parts are given out, as a position in `sides`; None: it does not matter here.
    side: Int | None = None
    sides: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.node)

    def capacity(self, rows: int) -> Int:
        """Return what each device has of the first things that are counted, [what is counted, device]."""
        return capacity_of(self.memory, self.seats, rows)

    def of_side(self, side: str) -> Bool | None:
        """Return the devices of which a side gives out parts; None: all of them."""
        if self.side is None:
            return None
        chosen: Bool = self.side == (self.sides.index(side) if side in self.sides else NOWHERE)
        return chosen


def capacity_of(memory: Int, seats: Int, rows: int) -> Int:
    """Return [what is counted, device]: what devices of so many MiB have, in the unit in which parts are counted."""
    found = np.empty((rows, len(memory)), np.int64)
    found[MEMORY] = WHOLE * np.maximum(memory, 1)
    found[CORES:SEATS] = WHOLE
    if rows > SEATS:
        found[SEATS:] = np.where(seats > 0, seats, NEVER)
    return found


def levels(part: Part, memory: Int, rows: int = COUNTED) -> Int:
    """Return [what is counted, device]: what a part takes of devices of so many MiB.

    Memory in thousandths of a MiB, or of the device where its memory is not known: so fractions and bytes add up.
    """
    found = np.empty((rows, *np.shape(memory)), np.int64)
    if part.memory:
        found[MEMORY] = np.where(memory > 0, np.maximum(WHOLE * mebibytes(part.memory), part.milli * memory), NEVER)
    else:
        found[MEMORY] = part.milli * np.maximum(memory, 1)
    found[CORES:SEATS], found[SEATS:ABREAST], found[ABREAST:] = part.cores, 1, part.abreast
    return found


def counted_of(parts: Iterable[Part], seats: Int) -> int:
    """Return how many rows must be counted where these parts are given out: what memory implies need not be."""
    parts = list(parts)
    if any(part.abreast for part in parts):
        return ABREAST + 1
    if seats.any():
        return SEATS + 1
    return CORES + 1 if any(part.cores != part.milli for part in parts) else MEMORY + 1


def mebibytes(memory: int) -> int:
    """Return a request for memory in MiB, rounded up."""
    return -(-memory // MIB)


def milli_of(part: Part, memory: int) -> int:
    """Return which part of the memory of a device of so many MiB this is, in thousandths, rounded up."""
    return max(-(-WHOLE * mebibytes(part.memory) // memory), part.milli) if part.memory else part.milli
