"""Stretches: rows that belong together lie next to each other, and are added up without wrapping."""

from dataclasses import dataclass

import numpy as np

from phalanx.model.axis import Int

#: Sums stop here.
TOP = np.int64(2**63 - 1)
_HALF = 31
_LOW = np.int64(2**_HALF - 1)


@dataclass(frozen=True, slots=True)
class Stretches:
    """Rows in stretches of equal ids."""

    #: The first row of each.
    first: Int
    #: The number of its stretch, per row.
    of: Int

    @classmethod
    def by(cls, ids: Int) -> "Stretches":
        """Return the stretches of equal neighbours."""
        new = np.ones(len(ids), np.bool_)
        new[1:] = ids[1:] != ids[:-1]
        return cls(np.flatnonzero(new), np.cumsum(new) - 1)

    def sums(self, values: Int) -> Int:
        """Return the sum of each stretch, per column. Values are not negative.

        In two halves of 31 bits, so that a sum above TOP is seen before it wraps.
        """
        high = np.add.reduceat(values >> _HALF, self.first, axis=0)
        low = np.add.reduceat(values & _LOW, self.first, axis=0)
        return _joined(high, low)

    def before(self, values: Int) -> Int:
        """Return, per row, the sum of the rows before it in its stretch."""
        high, low = (np.cumsum(half, axis=0) - half for half in (values >> _HALF, values & _LOW))
        return _joined(high - high[self.first][self.of], low - low[self.first][self.of])


def _joined(high: Int, low: Int) -> Int:
    high = high + (low >> _HALF)
    return np.where(high >> (63 - _HALF), TOP, (high << _HALF) | (low & _LOW))
