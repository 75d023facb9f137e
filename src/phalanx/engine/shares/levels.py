"""Levels: the queue tree from the top down, siblings next to each other, one level at a time."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from phalanx.engine.kernels.stretches import Stretches
from phalanx.model.axis import SUM_MAX, Int
from phalanx.model.queue import UNLIMITED
from phalanx.model.queue_table import QueueTable


@dataclass(frozen=True, slots=True)
class Level:
    """The queues of one depth, by (parent, priority falling)."""

    #: Rows of the table.
    rows: Int
    siblings: Stretches
    #: Row of the parent, per group of siblings.
    parent: Int


#: (level, total[siblings, resource], guarantee[row, resource], requestable[row, resource]) -> share[row, resource]
Divide = Callable[[Level, Int, Int, Int], Int]


def top_down(table: QueueTable, divide: Divide) -> Int:
    """Return the share of every queue: a level divides what its parents got, the first one the cluster."""
    levels = [_level(table, depth) for depth in range(table.levels)]
    requestable = _requestable(table, levels)
    share = np.zeros_like(table.quota)
    for level in levels:
        top = level.parent[0] < 0
        total = np.maximum(table.total, 0)[np.newaxis] if top else share[level.parent]
        quota, wanted = table.quota[level.rows], requestable[level.rows]
        quota = np.where(quota >= UNLIMITED, total[level.siblings.of], quota)
        share[level.rows] = divide(level, total, np.minimum(quota, wanted), wanted)
    return share


def _level(table: QueueTable, depth: int) -> Level:
    reach = table.level(depth)
    rows = np.arange(reach.start, reach.stop)
    rows = rows[np.lexsort((-table.priority[rows], table.parent[rows]))]
    siblings = Stretches.by(table.parent[rows])
    return Level(rows, siblings, table.parent[rows[siblings.first]])


def _requestable(table: QueueTable, levels: list[Level]) -> Int:
    """Return what each queue could use: its request within its limit; of a parent, what its children could use."""
    wanted = np.minimum(table.requested, table.limit)
    for level in levels[:0:-1]:
        below = np.minimum(level.siblings.sums(wanted[level.rows]), SUM_MAX)
        wanted[level.parent] = np.minimum(below, table.limit[level.parent])
    return wanted
