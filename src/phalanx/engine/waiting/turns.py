"""Turns: whose unit is decided next. Inside a leaf queue the order is fixed; between queues it follows what they have.

A queue is compared with its siblings by the unit that stands first in it, so after a decision only the queues on the
path from that leaf to the root are compared anew.
"""

from collections.abc import Sequence
from heapq import heappop, heapreplace
from typing import Any

import numpy as np

from phalanx.engine.plugin import Heads, QueueOrder
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Units
from phalanx.model.axis import Int

#: In the place of the parent of the topmost queues.
ROOT = -1
#: In the place of a unit where a queue has none left.
NOBODY = -1


class Turns:
    """Hands out units, one leaf queue's first at a time."""

    def __init__(
        self,
        session: Session,
        orders: Sequence[QueueOrder],
        order: Int,
        queue_of: Int,
        asks: Int,
        units: Units | None = None,
        *,
        last_first: bool = False,
    ) -> None:
        """Line up entries: `order` has them sorted, `queue_of` and `asks` are theirs by number.

        With `last_first` the queue that would be served last has its turn: victims are found so.
        """
        self._session = session
        self._orders = orders
        self._units = units
        self._asks = asks
        self._last_first = last_first
        table = session.snapshot.queues
        leaves = queue_of[order]
        if not orders or not table.resources:
            # Nobody tells queues apart: all stand in one line.
            leaves = np.full(len(order), ROOT)
        # What is in no queue is held; it comes last, to say so.
        self._outside = order[leaves < 0]
        self._lines = _lines(order, leaves)
        self._next = dict.fromkeys(self._lines, 0)
        self._heads = np.full(len(table), NOBODY)
        self._heaps: dict[int, list[tuple[tuple[Any, ...], int]]] = {}
        self._leaf = ROOT
        self._line_up()

    @property
    def alone(self) -> bool:
        """Tell whether one queue is left: its order is then the whole order."""
        return len(self._lines) <= 1

    def line(self) -> Int:
        """Return what is left of the line whose turn it is, first unit first; empty when all had their turn."""
        if not self._lines:
            return self._outside
        row = ROOT
        while row == ROOT or row in self._heaps:
            row = self._heaps[row][0][1]
        self._leaf = row
        return self._lines[row][self._next[row] :]

    def done(self, count: int) -> None:
        """Take so many units off the line whose turn it was, and compare its queue anew."""
        if not self._lines:
            self._outside = self._outside[count:]
            return
        leaf, line = self._leaf, self._lines[self._leaf]
        self._next[leaf] += count
        if self._next[leaf] == len(line):
            del self._lines[leaf]
            self._heads[leaf] = NOBODY
        else:
            self._heads[leaf] = line[self._next[leaf]]
        self._lift(leaf)

    def _lift(self, row: int) -> None:
        """Bring the comparison up to date from a leaf to the root. Each queue on the way stands first in its heap."""
        parents = self._session.snapshot.queues.parent
        while row != ROOT:
            parent = int(parents[row])
            heap = self._heaps[parent]
            if self._heads[row] == NOBODY:
                heappop(heap)
            elif len(heap) > 1:
                heapreplace(heap, (self._keys(np.array([row]))[0], row))
            if parent != ROOT:
                self._heads[parent] = self._heads[heap[0][1]] if heap else NOBODY
            row = parent

    def _line_up(self) -> None:
        """Compare all queues once, level by level from the leaves up."""
        table = self._session.snapshot.queues
        for leaf, line in self._lines.items():
            self._heads[leaf] = line[0]
        for depth in reversed(range(table.levels)):
            level = table.level(depth)
            rows = np.arange(level.start, level.stop)[self._heads[level] != NOBODY]
            keys = self._keys(rows)
            ranked = sorted(zip(keys, rows.tolist(), strict=True))
            # Sorted, so the lists are heaps already.
            for entry in ranked:
                self._heaps.setdefault(int(table.parent[entry[1]]), []).append(entry)
            for parent in set(table.parent[rows].tolist()) - {ROOT}:
                self._heads[parent] = self._heads[self._heaps[parent][0][1]]

    def _keys(self, rows: Int) -> list[tuple[Any, ...]]:
        """Return each queue's key among its siblings: the smallest goes first."""
        index = self._heads[rows]
        heads = Heads(self._units, index, self._asks[index])
        answers = [plugin.queue_key(self._session, rows, heads) for plugin in self._orders]
        columns = [column.tolist() for answer in answers for column in answer]
        age = self._session.snapshot.queues.age[rows].tolist()
        if self._last_first:
            columns, age = [[-value for value in column] for column in columns], [-value for value in age]
        return list(zip(*columns, age, strict=True))


def _lines(order: Int, leaves: Int) -> dict[int, Int]:
    """Return, per leaf queue, its entries in order."""
    if not len(leaves) or (leaves == leaves[0]).all():
        return {int(leaves[0]): order} if len(leaves) and leaves[0] >= 0 else {}
    sorted_ = np.argsort(leaves, kind="stable")
    found, first = np.unique(leaves[sorted_], return_index=True)
    parts = np.split(order[sorted_], first[1:])
    return {leaf: part for leaf, part in zip(found.tolist(), parts, strict=True) if leaf >= 0}


def asks(session: Session, units: Units, each_shape: Int) -> Int:
    """Return [unit, resource]: what each unit asks for, given [shape, resource]."""
    snapshot, shapes = session.snapshot, session.snapshot.tasks.shape[units.rows]
    total = np.zeros((len(units), len(snapshot.axis)), np.int64, order="F")
    running = np.zeros(len(shapes) + 1, np.int64)
    # A loop over resources: sums along one column are quick.
    for column, each in enumerate(each_shape.T):
        # Differences of a running sum: right even where the sum over all units wraps.
        np.cumsum(each[shapes], out=running[1:])
        total[:, column] = running[units.first + units.count] - running[units.first]
    return total
