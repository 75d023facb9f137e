"""The journal: every change to a session's arrays, so that any earlier moment can be had again, bit for bit."""

from typing import TypeAlias

import numpy as np

from phalanx.model.axis import Int

Rows: TypeAlias = Int


class Journal:
    """Writes arrays and remembers what was there. Marks nest."""

    def __init__(self) -> None:
        #: Names the state of all arrays: equal versions, equal arrays.
        self.version = 0
        self._versions = 0
        self._entries: list[tuple[Int, Rows, Int]] = []

    def write(self, array: Int, rows: Rows, values: Int | int) -> None:
        """Change some rows of an array."""
        self._entries.append((array, rows, array[rows]))
        array[rows] = values
        self._versions += 1
        self.version = self._versions

    def renew(self) -> None:
        """Give the state a new version: what was worked out before holds no longer."""
        self._versions += 1
        self.version = self._versions

    def shift(self, array: Int, rows: Rows, amounts: Int) -> None:
        """Add amounts to rows; a row may stand there more than once."""
        if len(rows) > 1:
            unique, at = np.unique(rows, return_inverse=True)
            if len(unique) < len(rows):
                total = np.zeros((len(unique), *amounts.shape[1:]), np.int64)
                np.add.at(total, at, amounts)
                rows, amounts = unique, total
        if len(rows):
            self.write(array, rows, array[rows] + amounts)

    def mark(self) -> tuple[int, int]:
        """Return a mark for now."""
        return len(self._entries), self.version

    def rollback(self, mark: tuple[int, int]) -> None:
        """Return to a mark."""
        length, version = mark
        while len(self._entries) > length:
            array, rows, values = self._entries.pop()
            array[rows] = values
        self.version = version
