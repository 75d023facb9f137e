"""A model of communication: how much longer the work of a gang takes by where its members are.

A step computes, then all members add up what they have (an all-reduce in a ring): each sends 2 (n - 1) / n of the bytes
over the slowest level that the ring crosses. Nothing of it overlaps, and gangs do not slow each other down.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from phalanx.model.axis import MEMORY, Int
from phalanx.model.quantity import QuantityError, capacity
from phalanx.model.tree import Tree

#: The level above all levels: members that share no domain.
BEYOND = "beyond"
_ALLOWED = "allowed is LEVEL:SPEED,… with bytes a second, such as node:400Gi,rack:50Gi,beyond:12Gi"


@dataclass(frozen=True, slots=True)
class Communication:
    """What a gang talks. One of the two forms is given."""

    #: The part of its time that it talks where all members are as close as can be.
    part: float = 0.0
    #: Or what one step is.
    bytes: int = 0
    compute: float = 0.0


@dataclass(frozen=True, slots=True)
class Network:
    """How fast members talk to each other inside one domain of a level, in bytes a second, by the level's name."""

    speeds: Mapping[str, int]

    def stretch(self, of: Communication, tree: Tree, nodes: Int) -> float:
        """Return how many times as long work takes on these nodes, one entry per member, as on the fastest level."""
        best, here = max(self.speeds.values()), self.speed(tree, nodes)
        if len(nodes) < 2:
            return 1.0
        if not of.bytes:
            return 1.0 - of.part + of.part * best / here
        sent = 2 * (len(nodes) - 1) / len(nodes) * of.bytes
        return (of.compute + sent / here) / (of.compute + sent / best)

    def speed(self, tree: Tree, nodes: Int) -> int:
        """Return the speed of the lowest level of which one domain holds these nodes; unknown: of the next above."""
        shared = next((at for at in range(tree.lowest, -1, -1) if _in_one(tree.domain_of(at)[nodes])), -1)
        above = (self._of(tree, at) for at in range(shared, -1, -1))
        return next((speed for speed in above if speed is not None), self.speeds[BEYOND])

    def _of(self, tree: Tree, level: int) -> int | None:
        known = tree.levels[level]
        return next((self.speeds[name] for name in (known.name, known.key, *known.also) if name in self.speeds), None)


def _in_one(domains: Int) -> bool:
    return bool(len(domains)) and int(domains[0]) >= 0 and bool(np.all(domains == domains[0]))


def speeds(text: str) -> Network:
    """Read `node:400Gi,rack:50Gi,beyond:12Gi`, or raise ValueError with what is allowed."""
    found: dict[str, int] = {}
    for part in text.split(","):
        level, colon, speed = part.rpartition(":")
        try:
            amount = capacity(speed, MEMORY)
        except QuantityError:
            raise ValueError(_ALLOWED) from None
        if not (colon and level and amount > 0) or level in found:
            raise ValueError(_ALLOWED)
        found[level] = amount
    if BEYOND not in found:
        raise ValueError(f"{_ALLOWED}: {BEYOND} is missing")
    return Network(found)


def part(text: str) -> float:
    """Read a percentage."""
    form = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,4})?)%", text, re.ASCII)
    if form is None or float(form[1]) > 100:
        raise ValueError("allowed is a percentage from 0% to 100%")
    return float(form[1]) / 100


def size(text: str) -> int:
    """Read a number of bytes."""
    try:
        return capacity(text, MEMORY)
    except QuantityError as error:
        raise ValueError(str(error).replace("found ", "", 1)) from None


def communication(part_: float | None, bytes_: int | None, compute: float | None) -> Communication | None:
    """Return what a gang talks; None: nothing is said. Raises ValueError where the two forms are mixed."""
    if part_ is None and bytes_ is None and compute is None:
        return None
    if (part_ is None) == (bytes_ is None) or (bytes_ is None) != (compute is None):
        raise ValueError("allowed is communication=…, or both of step-bytes=… and step-compute=…")
    return Communication(part_ or 0.0, bytes_ or 0, compute or 0.0)


@dataclass(frozen=True, slots=True)
class JobTimes:
    """What communication made of the runtimes of gangs whose work began."""

    gangs: int
    #: Mean time of the work as it is placed, and how long it would take on the fastest level.
    mean: float
    fastest: float
    #: The same as a ratio, gang by gang: the mean, and the largest.
    stretch: float
    stretch_max: float


def job_times(works: Sequence[tuple[float, float]]) -> JobTimes | None:
    """Return the sum of (runtime on the fastest level, stretch) of each gang; None: there is none."""
    if not works:
        return None
    runtime, stretch = np.array(works).T
    return JobTimes(
        len(works),
        float((runtime * stretch).mean()),
        float(runtime.mean()),
        float(stretch.mean()),
        float(stretch.max()),
    )
