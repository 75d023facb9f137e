"""Queue books: what runs and waits in each queue, from one row of amounts per gang.

An event marks a gang; its row is then written afresh, and the sums of its queue are formed again from all rows of
that queue. Nothing is added to a sum or taken off it.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from phalanx.model.axis import SUM_MAX, Int
from phalanx.model.charges import Charges
from phalanx.model.gang import Gang
from phalanx.model.queue_table import QueueTable
from phalanx.model.task import State, Task
from phalanx.world.queue_rows import group_sums, sum_up

#: The parts of a row: on nodes or on the way there; of that, what must not be preempted; waiting, and waiting for
#: places that must not be preempted.
_ALLOCATED, _FIXED, _PENDING, _PENDING_FIXED = range(4)
_PARTS = 4
_FIRST_CAPACITY = 64


class QueueBooks:
    """A row per gang that is in a queue."""

    def __init__(self) -> None:
        self._slot: dict[str, int] = {}
        self._free: list[int] = []
        #: Row of the gang's queue, -1 where no gang is.
        self._leaf: Int = np.full(_FIRST_CAPACITY, -1)
        #: [slot, part and resource]
        self._amounts: Int = np.zeros((_FIRST_CAPACITY, 0), np.int64)
        self._column: Mapping[str, int] = {}
        self._charges = Charges()
        #: [queue, part and resource], of leaves alone; those in `_stale` no longer hold.
        self._sums: Int = np.zeros((0, 0), np.int64)
        self._stale: set[int] = set()

    def __contains__(self, key: str) -> bool:
        return key in self._slot

    def open(self, old: QueueTable | None, table: QueueTable, charges: Charges) -> None:
        """Go on with other queues. If they list or count other resources, every gang must be put again."""
        width = _PARTS * len(table.resources)
        if old is None or old.resources != table.resources or self._charges != charges:
            self._charges = charges
            self._slot, self._free = {}, []
            self._leaf = np.full(_FIRST_CAPACITY, -1)
            self._amounts = np.zeros((_FIRST_CAPACITY, width), np.int64)
            self._column = {name: column for column, name in enumerate(table.resources)}
        else:
            # One more at the end for -1, which stays -1. Gangs whose queue is gone are put again anyway.
            moved = np.array([*(table.row.get(queue.name, -1) for queue in old.queues), -1], np.int64)
            self._leaf = moved[self._leaf]
        self._sums = np.zeros((len(table), width), np.int64)
        self._stale = set(np.flatnonzero(table.leaf).tolist())

    def put(self, key: str, leaf: int, gang: Gang, members: Iterable[Task]) -> None:
        """Write the row of a gang that is in a queue, from its unfinished members."""
        slot = self._slot.get(key)
        if slot is None:
            slot = self._slot[key] = self._take_slot()
        self._stale.update({leaf, int(self._leaf[slot])} - {-1})
        self._leaf[slot] = leaf
        self._amounts[slot] = self._row(gang, members)

    def drop(self, key: str) -> None:
        """Forget a gang that is in no queue, or gone."""
        slot = self._slot.pop(key, None)
        if slot is not None:
            self._stale.update({int(self._leaf[slot])} - {-1})
            self._leaf[slot], self._amounts[slot] = -1, 0
            self._free.append(slot)

    def sums(self, table: QueueTable) -> tuple[Int, Int, Int]:
        """Return what is allocated, fixed and requested, [queue, resource], parents with their children's."""
        if self._stale:
            stale = np.zeros(len(table) + 1, np.bool_)
            stale[list(self._stale)] = True
            slots = np.flatnonzero(stale[self._leaf])
            rows = stale[:-1]
            self._sums[rows] = group_sums(self._leaf[slots], self._amounts[slots], len(table))[rows]
            self._stale = set()
        allocated, fixed, pending, bound = np.split(self._sums, _PARTS, axis=1)
        # What is not preemptible can only ask for what is left of the quota: it will not get more.
        left = np.where(table.listed, np.maximum(table.quota - fixed, 0), SUM_MAX)
        pending = pending + np.minimum(np.minimum(bound, left), SUM_MAX - pending)
        asked = allocated + np.minimum(pending, SUM_MAX - allocated)
        leaves = np.concatenate([allocated, fixed, asked], axis=1)
        whole = sum_up(leaves, table.parent, table.depth, np.broadcast_to(~table.leaf[:, None], leaves.shape))
        allocated, fixed, requested = (part.copy() for part in np.split(whole, 3, axis=1))
        return allocated, fixed, requested

    def amounts(self, task: Task) -> list[int]:
        """Return what a task asks of the listed resources."""
        own = dict(self._charges.of_shape(task.shape))
        return [own.get(name, 0) for name in self._column]

    def _row(self, gang: Gang, members: Iterable[Task]) -> list[int]:
        width = len(self._column)
        row = [0] * (_PARTS * width)
        parts = [(task, _part(gang, task)) for task in members]
        here = sum(part is not None for _, part in parts)
        for task, part in parts:
            # A gang that lacks members cannot start, whatever its queue has.
            if part is None or (part != _ALLOCATED and here < gang.minimum):
                continue
            for name, amount in self._charges.of_shape(task.shape):
                column = self._column.get(name)
                if column is not None:
                    row[part * width + column] += amount
        if not gang.preemptible:
            row[_FIXED * width : _PENDING * width] = row[:width]
        return [min(amount, SUM_MAX) for amount in row]

    def _take_slot(self) -> int:
        if self._free:
            return self._free.pop()
        slot = len(self._slot)
        if slot == len(self._leaf):
            self._leaf = np.concatenate([self._leaf, np.full(slot, -1)])
            self._amounts = np.concatenate([self._amounts, np.zeros_like(self._amounts)])
        return slot


def _part(gang: Gang, task: Task) -> int | None:
    """Return which part of a gang's row a task belongs to; None: to none."""
    if task.charged and task.state is not State.RELEASING:
        return _ALLOCATED
    if task.state is State.PENDING and gang.hold is None and task.hold is None:
        return _PENDING if gang.preemptible else _PENDING_FIXED
    return None
