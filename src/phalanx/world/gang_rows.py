"""Gang rows: the gang, task and shape tables of a snapshot, put together from pieces that are kept per gang."""

from bisect import bisect_left
from collections.abc import Mapping
from operator import is_
from typing import TypeAlias

import numpy as np

from phalanx.model.axis import AMOUNT_MAX, Axis, Int
from phalanx.model.charges import Charges
from phalanx.model.requeue import turns
from phalanx.model.sharing import RESOURCE
from phalanx.model.snapshot import GangTable, TaskTable
from phalanx.model.task import Shape
from phalanx.model.volume import TaskVolumes
from phalanx.world.gang_columns import Columns, Kept, columns_of
from phalanx.world.gangs import Piece

_Rows: TypeAlias = Mapping[str, int]
UserKey: TypeAlias = tuple[str, str]
Tables = tuple[GangTable, TaskTable, tuple[Shape, ...]]
#: When more than one gang in so many changed, or more than so many, all columns are built again: cheaper than the cuts.
_FEW = 4
_FEW_MAX = 2000


class GangRows:
    """Keeps a piece per gang that waits, and the columns of those that did not change."""

    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}
        #: Interned shapes: a dataclass of tuples is slow to hash, its number is not.
        self._numbers: dict[Shape, int] = {}
        self._shapes: list[Shape] = []
        #: Beyond this, shapes that nobody has any more are dropped: twice what was live the last time.
        self._shapes_max = 1024
        #: Names of queues by number; 0: in none.
        self._queues: dict[str, int] = {"": 0}
        #: The same of users.
        self._users: dict[UserKey | None, int] = {None: 0}
        #: Gangs of which members run already in subgroups: few, so they are looked up each time.
        self._inside: dict[str, Mapping[str, int]] = {}
        #: The same of gangs whose waiting tasks mount claims.
        self._mounting: dict[str, Mapping[int, TaskVolumes]] = {}
        #: The same of gangs that wish to be in one domain: on which nodes members are.
        self._located: dict[str, Mapping[str, tuple[tuple[str, int], ...]]] = {}
        self._columns: Columns | None = None
        self._changed: set[str] = set()
        self._last: tuple[Axis, tuple[_Rows, _Rows, Mapping[UserKey, int]], Tables] | None = None

    def put(self, key: str, piece: Piece | None, queue: str | None = None, user: UserKey | None = None) -> None:
        """Replace the piece of one gang, which is in this queue; None: in none, and then it is held."""
        if piece is None and key not in self._kept:
            return
        self._changed.add(key)
        self._inside.pop(key, None)
        self._mounting.pop(key, None)
        self._located.pop(key, None)
        if piece is None:
            del self._kept[key]
            return
        # Before the first of them is numbered: a number of this piece must not be forgotten while it is put together.
        if len(self._shapes) > self._shapes_max:
            self._forget()
        numbers = tuple(self._number(shape) for shape in piece.shapes)
        in_queue = self._queues.setdefault(queue or "", len(self._queues))
        self._kept[key] = Kept(piece, in_queue, self._users.setdefault(user, len(self._users)), numbers)
        if piece.running_in:
            self._inside[key] = piece.running_in
        if piece.volumes:
            self._mounting[key] = piece.volumes
        if piece.located:
            self._located[key] = piece.located

    def waits(self, key: str) -> bool:
        """Tell whether a gang has tasks that wait."""
        return key in self._kept

    def tables(
        self, axis: Axis, node_row: Mapping[str, int], queue_row: Mapping[str, int], user_row: Mapping[UserKey, int],
        since: Mapping[str, float],
    ) -> Tables:  # fmt: skip
        """Return the tables, rows sorted by gang key. `since`: when each nomination began, by uid."""
        last, basis = self._last, (node_row, queue_row, user_row)
        if last and not self._changed and last[0] == axis and all(map(is_, last[1], basis)):
            return last[2]
        columns = self._columns = self._refreshed()
        self._changed = set()
        shape_of_task, shapes = self._renumber(columns.shape)
        rows = np.array([queue_row.get(name, -1) for name in self._queues], np.int64)
        users = np.array([-1 if name is None else user_row.get(name, -1) for name in self._users], np.int64)
        tasks = _tasks(columns, shape_of_task, node_row, since, self._volumes(columns))
        tables = self._gangs(columns, rows[columns.queue], users[columns.user], node_row), tasks, shapes
        self._last = (axis, basis, tables)
        return tables

    def _volumes(self, columns: Columns) -> dict[int, TaskVolumes]:
        """Return what waiting tasks mount, by row."""
        found: dict[int, TaskVolumes] = {}
        first = np.cumsum(columns.count) - columns.count if self._mounting else columns.count
        for key in sorted(self._mounting):
            start = int(first[bisect_left(columns.keys, key)])
            found.update((start + place, volumes) for place, volumes in self._mounting[key].items())
        return found

    def _refreshed(self) -> Columns:
        columns = self._columns
        if columns is not None and not self._changed:
            return columns
        if columns is None or len(self._changed) > min(_FEW_MAX, len(columns.keys) // _FEW):
            return columns_of([self._kept[key] for key in sorted(self._kept)])
        changed = sorted(self._changed)
        columns.cut_in(changed, columns_of([self._kept[key] for key in changed if key in self._kept]))
        return columns

    def _number(self, shape: Shape) -> int:
        number = self._numbers.get(shape)
        if number is None:
            number = self._numbers[shape] = len(self._shapes)
            self._shapes.append(shape)
        return number

    def _forget(self) -> None:
        """Drop the shapes that no waiting task has any more, so that churn does not fill the memory."""
        old = self._shapes
        self._numbers, self._shapes, self._columns = {}, [], None
        for key, kept in self._kept.items():
            for shape in {old[number]: None for number in kept.shapes}:
                if shape not in self._numbers:
                    self._numbers[shape] = len(self._shapes)
                    self._shapes.append(shape)
            self._kept[key] = kept._replace(shapes=tuple(self._numbers[old[number]] for number in kept.shapes))
        self._shapes_max = 2 * len(self._shapes) + 1024

    def _renumber(self, numbers: Int) -> tuple[Int, tuple[Shape, ...]]:
        """Number shapes by their first task, so that a snapshot does not depend on who was seen first."""
        first = np.full(len(self._shapes), len(numbers))
        np.minimum.at(first, numbers, np.arange(len(numbers)))
        order = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(numbers))]
        rank = np.zeros(len(self._shapes), np.int64)
        rank[order] = np.arange(len(order))
        return rank[numbers], tuple(self._shapes[number] for number in order.tolist())

    def _gangs(self, columns: Columns, queue: Int, user: Int, node_row: Mapping[str, int]) -> GangTable:
        return GangTable(
            gangs=columns.tuple_of("gangs"), first=np.cumsum(columns.count) - columns.count, count=columns.count,
            minimum=columns.minimum, maximum=columns.maximum, priority=columns.priority, created=columns.created,
            start_timeout=columns.start_timeout, running=columns.running, present=columns.present,
            irregular=columns.irregular, queue=queue, user=user, preemptible=columns.preemptible,
            patience=columns.patience, evicts=columns.evicts, expected_runtime=columns.expected_runtime,
            wishes=columns.wishes,
            running_in={bisect_left(columns.keys, key): self._inside[key] for key in sorted(self._inside)},
            located={
                bisect_left(columns.keys, key): {
                    part: tuple((node_row[name], segment) for name, segment in nodes if name in node_row)
                    for part, nodes in self._located[key].items()
                }
                for key in sorted(self._located)
            },
        )  # fmt: skip


def amounts(shapes: tuple[Shape, ...], axis: Axis, table: Charges, listed: tuple[str, ...]) -> tuple[Int, Int, Int]:
    """Return what each shape asks for, what queues count for it (mostly the same array), and what is scored.

    `listed`: the resources that some queue lists.
    """
    requests = np.zeros((len(shapes), len(axis)), np.int64)
    for row, shape in enumerate(shapes):
        for name, amount in shape.requests:
            requests[row, axis.index[name]] = amount
    differing = [row for row, shape in enumerate(shapes) if shape.counted]
    also = [(column, worth) for column, worth in table.on(axis, listed) if requests[:, column].any()]
    named = [row for row, shape in enumerate(shapes) if shape.devices is not None] if table.models else []
    charges = requests.copy() if differing or also or named else requests
    for row in differing:
        charges[row, axis.index[RESOURCE]] = shapes[row].counted
    for column, worth in also:
        counted = charges[:, axis.index[worth.resource]]
        np.minimum(counted + worth.of_all(requests[:, column]), AMOUNT_MAX, out=counted)
    for row in named:
        for name, amount in table.of_shape(shapes[row]):
            if name in axis.index:
                charges[row, axis.index[name]] = amount
    return requests, charges, np.array([shape.scored for shape in shapes], np.int64).reshape(len(shapes), 2)


def next_turn(gangs: GangTable, now: float) -> float:
    """Return when the next start timeout or patience of a waiting gang runs out; infinity when none will."""
    passed = turns(now, gangs.created, gangs.start_timeout, gangs.running)
    waiting = (gangs.start_timeout > 0) & (gangs.running == 0)
    moments = gangs.created + (passed + 1) * gangs.start_timeout
    soonest = moments.min(initial=np.inf, where=waiting)
    yielding = gangs.created + gangs.patience
    return float(yielding.min(initial=soonest, where=(gangs.patience > 0) & (yielding > now)))


def _tasks(
    columns: Columns, shape: Int, node_row: Mapping[str, int], since: Mapping[str, float],
    volumes: Mapping[int, TaskVolumes],
) -> TaskTable:  # fmt: skip
    nominated = np.full(len(columns.tasks), -1)
    began = np.full(len(columns.tasks), np.inf)
    lost: dict[int, str] = {}
    # A loop over the tasks with a nomination, which are few.
    for row in np.flatnonzero(columns.nominated).tolist():
        node = columns.tasks[row].nominated or ""
        nominated[row] = node_row.get(node, -1)
        began[row] = since[columns.uids[row]]
        if node not in node_row:
            lost[row] = node
    held = np.flatnonzero(columns.held).tolist()
    return TaskTable(
        uids=columns.tuple_of("uids"), names=columns.tuple_of("names"),
        gang=np.repeat(np.arange(len(columns.keys)), columns.count), shape=shape, created=columns.task_created,
        subgroups=columns.tuple_of("subgroups"), rank=columns.rank, segment=columns.segment, nominated=nominated,
        nominated_since=began, lost=lost,
        held=columns.held, holds={row: hold for row in held if (hold := columns.tasks[row].hold) is not None},
        volumes=volumes,
    )  # fmt: skip
