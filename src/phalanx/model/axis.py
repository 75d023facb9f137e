"""The resource axis: which resource is which column, and in which unit it is counted.

Any resource name may be a column. The four that every node has come first, the others follow by name, so
that the same cluster gives the same columns whatever order its objects arrived in.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Int: TypeAlias = NDArray[np.int64]
Float: TypeAlias = NDArray[np.float64]
Bool: TypeAlias = NDArray[np.bool_]

#: Amounts of several resources, in their smallest units. Absent means zero.
Amounts: TypeAlias = Mapping[str, int]

CPU = "cpu"
MEMORY = "memory"
STORAGE = "ephemeral-storage"
PODS = "pods"
GPU = "nvidia.com/gpu"
BASE = (CPU, MEMORY, STORAGE, PODS)

#: One amount is at most this. Up to here a float is exact, and a thousand of them still fit an int64.
AMOUNT_MAX = 2**53
#: Sums stop here instead of wrapping: the difference of two of them still fits an int64.
SUM_MAX = 2**62


def unit(name: str) -> int:
    """Return how many smallest units make one of a resource: milli-cores, milli-GPUs, else whole ones."""
    return 1000 if name == CPU or name.endswith("/gpu") else 1


def is_extended(name: str) -> bool:
    """Tell a device-like resource (`vendor.com/thing`) from those that every node has."""
    return "/" in name and not name.startswith(("kubernetes.io/", "requests."))


@dataclass(frozen=True, slots=True)
class Axis:
    """The columns of every [row, resource] array of one snapshot."""

    names: tuple[str, ...]
    index: Mapping[str, int] = field(repr=False, compare=False)

    @classmethod
    def of(cls, names: Iterable[str]) -> "Axis":
        """Return the axis of these resources: the base columns, then the others by name."""
        ordered = (*BASE, *sorted(set(names) - set(BASE)))
        return cls(ordered, {name: column for column, name in enumerate(ordered)})

    def __len__(self) -> int:
        return len(self.names)

    def vector(self, amounts: Amounts) -> Int:
        """Return the amounts as one row. Every name must be on the axis."""
        row = np.zeros(len(self.names), dtype=np.int64)
        for name, amount in amounts.items():
            row[self.index[name]] = amount
        return row


def add_up(total: dict[str, int], amounts: Amounts) -> None:
    """Add amounts to a running total, saturating."""
    for name, amount in amounts.items():
        total[name] = min(total.get(name, 0) + amount, SUM_MAX)
