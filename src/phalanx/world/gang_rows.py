"""Gang rows: the gang, task and shape tables of a snapshot, put together from pieces that are kept per gang."""

from collections.abc import Mapping
from itertools import chain

import numpy as np

from phalanx.model.axis import Axis, Int
from phalanx.model.requeue import turns
from phalanx.model.snapshot import UNBOUNDED, GangTable, TaskTable
from phalanx.model.task import Shape
from phalanx.world.gangs import Piece

Tables = tuple[GangTable, TaskTable, tuple[Shape, ...], Int, Int]


class GangRows:
    """Keeps a piece per gang that waits, and the tables as long as no piece changes."""

    def __init__(self) -> None:
        self._pieces: dict[str, Piece] = {}
        #: Interned shapes: a dataclass of tuples is slow to hash, its number is not.
        self._numbers: dict[Shape, int] = {}
        self._shapes: list[Shape] = []
        self._piece_numbers: dict[str, tuple[int, ...]] = {}
        #: Beyond this, shapes that nobody has any more are dropped: twice what was live the last time.
        self._shapes_max = 1024
        #: The queue that each gang is in, by name; None: in none, and then it is held.
        self._queues: dict[str, str | None] = {}
        self._kept: tuple[Axis, Mapping[str, int], Mapping[str, int], Tables] | None = None

    def put(self, key: str, piece: Piece | None, queue: str | None = None) -> None:
        """Replace the piece of one gang, which is in this queue."""
        if piece is None and key not in self._pieces:
            return
        self._kept = None
        if piece is None:
            self._pieces.pop(key, None)
            self._piece_numbers.pop(key, None)
            self._queues.pop(key, None)
            return
        self._pieces[key] = piece
        self._queues[key] = queue
        self._piece_numbers[key] = tuple(self._number(shape) for shape in piece.shapes)

    def tables(self, axis: Axis, node_row: Mapping[str, int], queue_row: Mapping[str, int]) -> Tables:
        """Return the tables, rows sorted by gang key."""
        kept = self._kept
        if kept is not None and kept[0] == axis and kept[1] is node_row and kept[2] is queue_row:
            return kept[3]
        keys = sorted(self._pieces)
        pieces = [self._pieces[key] for key in keys]
        numbers = np.fromiter(chain.from_iterable(self._piece_numbers[key] for key in keys), np.int64)
        shape_of_task, shapes = self._renumber(numbers)
        tasks = _tasks(pieces, shape_of_task, node_row)
        requests = np.zeros((len(shapes), len(axis)), np.int64)
        for row, shape in enumerate(shapes):
            for name, amount in shape.requests:
                requests[row, axis.index[name]] = amount
        scored = np.array([shape.scored for shape in shapes], np.int64).reshape(len(shapes), 2)
        queue = np.array([queue_row.get(self._queues[key] or "", -1) for key in keys], np.int64)
        tables = (_gangs(pieces, queue), tasks, shapes, requests, scored)
        self._kept = (axis, node_row, queue_row, tables)
        return tables

    def _number(self, shape: Shape) -> int:
        number = self._numbers.get(shape)
        if number is None:
            if len(self._shapes) > self._shapes_max:
                self._forget()
            number = self._numbers[shape] = len(self._shapes)
            self._shapes.append(shape)
        return number

    def _forget(self) -> None:
        """Drop the shapes that no waiting task has any more, so that churn does not fill the memory."""
        old = self._shapes
        self._numbers, self._shapes = {}, []
        for key, numbers in self._piece_numbers.items():
            fresh = []
            for number in numbers:
                shape = old[number]
                if shape not in self._numbers:
                    self._numbers[shape] = len(self._shapes)
                    self._shapes.append(shape)
                fresh.append(self._numbers[shape])
            self._piece_numbers[key] = tuple(fresh)
        self._shapes_max = 2 * len(self._shapes) + 1024

    def _renumber(self, numbers: Int) -> tuple[Int, tuple[Shape, ...]]:
        """Number shapes by their first task, so that a snapshot does not depend on who was seen first."""
        kinds, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty(len(kinds), np.int64)
        rank[order] = np.arange(len(kinds))
        return rank[inverse], tuple(self._shapes[number] for number in kinds[order].tolist())


def next_turn(gangs: GangTable, now: float) -> float:
    """Return when the next start timeout or patience of a waiting gang runs out; infinity when none will."""
    passed = turns(now, gangs.created, gangs.start_timeout, gangs.running)
    waiting = (gangs.start_timeout > 0) & (gangs.running == 0)
    moments = gangs.created + (passed + 1) * gangs.start_timeout
    soonest = moments.min(initial=np.inf, where=waiting)
    yielding = gangs.created + gangs.patience
    return float(yielding.min(initial=soonest, where=yielding > now))


def _gangs(pieces: list[Piece], queue: Int) -> GangTable:
    gangs = tuple(piece.gang for piece in pieces)
    count = np.array([len(piece.tasks) for piece in pieces], np.int64)
    return GangTable(
        gangs=gangs,
        first=np.cumsum(count) - count,
        count=count,
        minimum=np.array([gang.minimum for gang in gangs], np.int64),
        maximum=np.array([UNBOUNDED if gang.maximum is None else gang.maximum for gang in gangs], np.int64),
        priority=np.array([gang.priority for gang in gangs], np.int64),
        created=np.array([gang.created for gang in gangs], np.float64),
        start_timeout=np.array([gang.start_timeout or 0.0 for gang in gangs], np.float64),
        running=np.array([piece.running for piece in pieces], np.int64),
        present=np.array([piece.present for piece in pieces], np.int64),
        intricate=np.array([piece.intricate for piece in pieces], np.bool_),
        queue=queue,
        preemptible=np.array([gang.preemptible for gang in gangs], np.bool_),
        patience=np.array([gang.patience or 0.0 for gang in gangs], np.float64),
        running_in={row: piece.running_in for row, piece in enumerate(pieces) if piece.running_in},
    )


def _tasks(pieces: list[Piece], shape: Int, node_row: Mapping[str, int]) -> TaskTable:
    tasks = [task for piece in pieces for task in piece.tasks]
    holds = {row: task.hold for row, task in enumerate(tasks) if task.hold is not None}
    held = np.zeros(len(tasks), np.bool_)
    held[list(holds)] = True
    return TaskTable(
        uids=tuple(task.uid for task in tasks),
        names=tuple(task.full_name for task in tasks),
        gang=np.repeat(np.arange(len(pieces)), [len(piece.tasks) for piece in pieces]),
        shape=shape,
        created=np.array([task.created for task in tasks], np.float64),
        subgroups=tuple(task.membership.subgroup if task.membership else None for task in tasks),
        nominated=np.array([node_row.get(task.nominated or "", -1) for task in tasks], np.int64),
        held=held,
        holds=holds,
    )
