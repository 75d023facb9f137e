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
    #: How many tasks must stay if any does, and how many of those are missing.
    needed: int
    missing: int
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

    def put(
        self, gang: Gang, here: Sequence[tuple[Task, Shape]], counted: Mapping[str, int], queue: str | None
    ) -> None:
        """Replace the piece of one gang. `counted`: how many members count towards each minimum, "" in all."""
        if not here:
            self.drop(gang.key)
            return
        self._kept = None
        self._pieces[gang.key] = _piece(gang, here, counted, queue)

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

    def next_look(self, now: float, table: RunningTable, queues: QueueTable) -> float:
        """Return when to look again although nothing changes: at broken gangs, and when somebody's protection ends.

        At gangs that run below their minimum soon at first, then less and less often: nobody here knows how long they
        are given; whatever it is, they are looked at within a tenth more.
        """
        look = _protection_ends(now, table, queues)
        if not self.wanted or not self._broken_since:
            return look
        return min(look, now + max((now - max(self._broken_since.values())) / 10, 1.0))

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
            needed=np.array([_needed(piece, len(known)) for _, piece, known in found], np.int64),
            queue=queue,
            priority=np.array([gang.priority for gang in gangs], np.int64),
            preemptible=np.array([gang.preemptible for gang in gangs], np.bool_),
            created=np.array([gang.created for gang in gangs], np.float64),
            started=np.array([_started(known[: max(piece.needed, 1)]) for _, piece, known in found], np.float64),
            broken_since=np.array([self._since(key, piece, now) for key, piece, _ in found], np.float64),
        )

    def _since(self, key: str, piece: _Piece, now: float) -> float:
        """Return since when a gang runs below its minimum, as far as we saw it."""
        if not piece.missing:
            self._broken_since.pop(key, None)
            return math.inf
        return self._broken_since.setdefault(key, now)


def _protection_ends(now: float, table: RunningTable, queues: QueueTable) -> float:
    """Return when the next minimum has run for as long as its queue, or one above it, protects it."""
    soonest = math.inf
    for row, path in queues.paths.items() if len(table) else ():
        above = [queues.queues[other].reclaim_min_runtime for other in path.tolist()]
        for runtime in {runtime for runtime in (queues.queues[row].preempt_min_runtime, *above) if runtime}:
            ends = table.started[table.queue == row] + runtime
            soonest = float(ends.min(initial=soonest, where=ends > now))
    return soonest


def _piece(gang: Gang, here: Sequence[tuple[Task, Shape]], counted: Mapping[str, int], queue: str | None) -> _Piece:
    """Order the tasks of a gang: those of its minimums first, by age; then those of its first subgroup, and so on."""
    ordered = sorted(here, key=lambda pair: (pair[0].created, pair[0].name, pair[0].uid))
    own: dict[str, list[tuple[Task, Shape]]] = {}
    for pair in ordered:
        own.setdefault(_subgroup(pair[0]), []).append(pair)
    kept: list[tuple[Task, Shape]] = []
    missing = 0
    for part in leaves(gang.subgroups):
        mine = own.get(part.name, [])
        # Members that finished count although they are not on nodes any more.
        wanted = max(part.minimum - (counted.get(part.name, 0) - len(mine)), 0)
        kept += mine[:wanted]
        missing += max(wanted - len(mine), 0)
    wanted = max(gang.minimum - (counted[""] - len(here)), 0)
    missing = max(missing, wanted - len(here))
    ids = {id(pair) for pair in kept}
    others = [pair for pair in ordered if id(pair) not in ids]
    more = max(wanted - len(kept), 0)
    rank = {part.name: at for at, part in enumerate(leaves(gang.subgroups))}
    last = sorted(others[more:], key=lambda pair: rank.get(_subgroup(pair[0]), -1))
    needed = len(here) + missing if missing else len(kept) + len(others[:more])
    return _Piece(gang, (*kept, *others[:more], *last), needed, missing, queue)


def _subgroup(task: Task) -> str:
    return (task.membership.subgroup if task.membership else None) or ""


def _needed(piece: _Piece, known: int) -> int:
    """Without those that it needs nothing of a gang may stay; of some gangs nobody may go alone."""
    return piece.needed if piece.gang.disrupted_singly else max(piece.needed, known)


def _started(tasks: Sequence[tuple[Task, Shape]]) -> float:
    return max(task.started if task.started is not None else task.created for task, _ in tasks)
