"""Running rows: the running table of a snapshot, put together from pieces that are kept per gang."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from phalanx.model.axis import Axis, Int
from phalanx.model.gang import Gang, leaves
from phalanx.model.running import UNBUDGETED, RunningTable, nobody
from phalanx.model.task import State, Task

#: These may be victims. A terminating task is one already.
_HERE = frozenset({State.BINDING, State.RUNNING})


@dataclass(frozen=True, slots=True)
class _Piece:
    """One gang with its tasks on nodes, the first to go last."""

    gang: Gang
    tasks: tuple[Task, ...]
    #: How many tasks count towards the minimum although they are not on nodes any more.
    finished: int
    in_queue: bool


class RunningRows:
    """Keeps a piece per gang that has tasks on nodes, and since when it is broken."""

    def __init__(self) -> None:
        #: Whether anybody looks at the table; it is empty otherwise.
        self.wanted = False
        self._pieces: dict[str, _Piece] = {}
        self._broken_since: dict[str, float] = {}
        self._kept: tuple[Axis, Mapping[str, int], Mapping[str, int], RunningTable] | None = None

    def put(self, key: str, gang: Gang | None, members: Sequence[Task], counted: int, *, in_queue: bool) -> None:
        """Replace the piece of one gang. `counted`: how many members count towards its minimum."""
        self._kept = None
        here = [task for task in members if task.state in _HERE and task.node is not None]
        if gang is None or not here:
            self._pieces.pop(key, None)
            self._broken_since.pop(key, None)
            return
        ordered = sorted(here, key=lambda task: (task.created, task.name, task.uid))
        self._pieces[key] = _Piece(gang, tuple(ordered), max(counted - len(here), 0), in_queue)

    def table(self, now: float, axis: Axis, node_row: Mapping[str, int], queue_row: Mapping[str, int]) -> RunningTable:
        """Return the table, rows sorted by gang key."""
        if not self.wanted:
            return nobody(len(axis))
        kept = self._kept
        if kept is not None and kept[0] == axis and kept[1] is node_row and kept[2] is queue_row:
            return kept[3]
        found: list[tuple[str, _Piece, list[Task]]] = []
        for key in sorted(self._pieces):
            piece = self._pieces[key]
            known = [task for task in piece.tasks if task.node in node_row]
            if known:
                found.append((key, piece, known))
        made = self._table(now, found, axis, node_row, queue_row) if found else nobody(len(axis))
        self._kept = (axis, node_row, queue_row, made)
        return made

    def _table(
        self,
        now: float,
        found: list[tuple[str, _Piece, list[Task]]],
        axis: Axis,
        node_row: Mapping[str, int],
        queue_row: Mapping[str, int],
    ) -> RunningTable:
        gangs = [piece.gang for _, piece, _ in found]
        tasks = [task for *_, known in found for task in known]
        count = np.array([len(known) for *_, known in found], np.int64)
        vectors: dict[tuple[tuple[str, int], ...], Int] = {}
        for task in tasks:
            if task.shape.requests not in vectors:
                vectors[task.shape.requests] = axis.vector(dict(task.shape.requests))
        return RunningTable(
            uids=tuple(task.uid for task in tasks),
            names=tuple(task.full_name for task in tasks),
            gang=np.repeat(np.arange(len(found)), count),
            node=np.array([node_row[task.node or ""] for task in tasks], np.int64),
            requests=np.array([vectors[task.shape.requests] for task in tasks], np.int64),
            movable=np.array([task.controlled and task.movable for task in tasks], np.bool_),
            budget=np.full(len(tasks), UNBUDGETED),
            budgets=np.zeros(0, np.int64),
            gangs=tuple(gangs),
            first=np.cumsum(count) - count,
            count=count,
            needed=np.array([max(_minimum(piece.gang) - piece.finished, 0) for _, piece, _ in found], np.int64),
            queue=np.array(
                [queue_row.get(piece.gang.queue, -1) if piece.in_queue else -1 for _, piece, _ in found], np.int64
            ),
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


def _started(tasks: Sequence[Task]) -> float:
    return max(task.started if task.started is not None else task.created for task in tasks)
