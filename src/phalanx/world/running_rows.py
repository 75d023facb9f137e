"""Running rows: the running table of a snapshot, put together from pieces that are kept per gang."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from phalanx.model.axis import Axis
from phalanx.model.gang import Gang, leaves
from phalanx.model.queue_table import QueueTable
from phalanx.model.running import UNBUDGETED, RunningTable, nobody
from phalanx.model.task import Shape, Task
from phalanx.world.budgets import Budgets


@dataclass(frozen=True, slots=True)
class _Piece:
    """One gang with its tasks on nodes, the first to go last."""

    gang: Gang
    tasks: tuple[tuple[Task, Shape], ...]
    #: How many tasks count towards the minimum although they are not on nodes any more.
    finished: int
    #: None: in none.
    queue: str | None


#: A gang's key, its piece, and those of its tasks that are on nodes that we know.
_Found: TypeAlias = tuple[str, _Piece, list[tuple[Task, Shape]]]


class RunningRows:
    """Keeps a piece per gang that has tasks on nodes, and since when it is broken."""

    def __init__(self) -> None:
        #: Whether anybody looks at the table; it is empty otherwise.
        self.wanted = False
        self._pieces: dict[str, _Piece] = {}
        self._broken_since: dict[str, float] = {}
        #: Of the tasks in the table, by first one.
        self._shapes: list[Shape] = []
        self._kept: tuple[Axis, Mapping[str, int], Mapping[str, int], RunningTable] | None = None

    def put(self, gang: Gang, here: Sequence[tuple[Task, Shape]], counted: int, queue: str | None) -> None:
        """Replace the piece of one gang. `counted`: how many members count towards its minimum."""
        if not here:
            self.drop(gang.key)
            return
        self._kept = None
        ordered = sorted(here, key=lambda pair: (pair[0].created, pair[0].name, pair[0].uid))
        self._pieces[gang.key] = _Piece(gang, tuple(ordered), max(counted - len(here), 0), queue)

    def drop(self, key: str) -> None:
        """Forget a gang that has nothing on nodes."""
        if self._pieces.pop(key, None) is not None:
            self._kept = None
        self._broken_since.pop(key, None)

    def table(
        self,
        now: float,
        axis: Axis,
        node_row: Mapping[str, int],
        queues: QueueTable,
        waiting: tuple[Shape, ...],
        budgets: Budgets,
    ) -> tuple[RunningTable, tuple[Shape, ...]]:
        """Return the table, rows sorted by gang key, and the shapes: those of waiting tasks, then the others here."""
        if not self.wanted:
            return nobody(len(axis)), waiting
        kept = self._kept
        if kept is None or kept[0] != axis or kept[1] is not node_row or kept[2] is not queues.row:
            kept = self._kept = (axis, node_row, queues.row, self._build(now, axis, node_row, queues))
        budget, left = budgets.columns(kept[3].uids)
        return self._with_shapes(replace(kept[3], budget=budget, budgets=left), waiting)

    def next_look(self, now: float) -> float:
        """Return when to look again at gangs that run below their minimum: soon at first, then less and less often.

        Nobody here knows how long they are given; whatever it is, they are looked at within a tenth more.
        """
        if not self.wanted or not self._broken_since:
            return math.inf
        return now + max((now - max(self._broken_since.values())) / 10, 1.0)

    def _with_shapes(self, table: RunningTable, waiting: tuple[Shape, ...]) -> tuple[RunningTable, tuple[Shape, ...]]:
        """Number the shapes on top of those of waiting tasks."""
        number = {shape: row for row, shape in enumerate(waiting)}
        rows = [number.setdefault(shape, len(number)) for shape in self._shapes]
        return replace(table, shape=np.array(rows, np.int64)[table.shape]), tuple(number)

    def _build(self, now: float, axis: Axis, node_row: Mapping[str, int], queues: QueueTable) -> RunningTable:
        found: list[_Found] = []
        for key in sorted(self._pieces):
            piece = self._pieces[key]
            known = [pair for pair in piece.tasks if pair[0].node in node_row]
            if known:
                found.append((key, piece, known))
        self._shapes = list(dict.fromkeys(shape for *_, known in found for _, shape in known))
        return self._table(now, found, axis, node_row, queues) if found else nobody(len(axis))

    def _table(
        self, now: float, found: list[_Found], axis: Axis, node_row: Mapping[str, int], queues: QueueTable
    ) -> RunningTable:
        gangs = [piece.gang for _, piece, _ in found]
        tasks = [task for *_, known in found for task, _ in known]
        count = np.array([len(known) for *_, known in found], np.int64)
        number = {shape: row for row, shape in enumerate(self._shapes)}
        queue = np.array([queues.row.get(piece.queue or "", -1) for _, piece, _ in found], np.int64)
        stays = {name for name, row in queues.row.items() if not queues.queues[row].consolidation}
        may = np.repeat(np.array([piece.queue not in stays for _, piece, _ in found], np.bool_), count)
        shape = np.array([number[own] for *_, known in found for _, own in known], np.int64)
        vectors = np.array([axis.vector(dict(shape.requests)) for shape in self._shapes], np.int64)
        return RunningTable(
            uids=tuple(task.uid for task in tasks),
            names=tuple(task.full_name for task in tasks),
            gang=np.repeat(np.arange(len(found)), count),
            node=np.array([node_row[task.node or ""] for task in tasks], np.int64),
            shape=shape,
            requests=vectors[shape],
            movable=np.array([task.controlled and task.movable for task in tasks], np.bool_) & may,
            # Another column with each cycle: see `table`.
            budget=np.full(len(tasks), UNBUDGETED),
            budgets=np.zeros(0, np.int64),
            gangs=tuple(gangs),
            first=np.cumsum(count) - count,
            count=count,
            needed=np.array([max(_minimum(piece.gang) - piece.finished, 0) for _, piece, _ in found], np.int64),
            queue=queue,
            priority=np.array([gang.priority for gang in gangs], np.int64),
            preemptible=np.array([gang.preemptible for gang in gangs], np.bool_),
            created=np.array([gang.created for gang in gangs], np.float64),
            started=np.array([_started(known) for *_, known in found], np.float64),
            broken_since=np.array([self._since(key, piece, now) for key, piece, _ in found], np.float64),
        )

    def _since(self, key: str, piece: _Piece, now: float) -> float:
        """Return since when a gang runs below its minimum, as far as we saw it."""
        if len(piece.tasks) + piece.finished >= _minimum(piece.gang):
            self._broken_since.pop(key, None)
            return math.inf
        return self._broken_since.setdefault(key, now)


def _minimum(gang: Gang) -> int:
    return max(gang.minimum, sum(part.minimum for part in leaves(gang.subgroups)))


def _started(tasks: Sequence[tuple[Task, Shape]]) -> float:
    return max(task.started if task.started is not None else task.created for task, _ in tasks)
