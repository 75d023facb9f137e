"""Running rows: the running table of a snapshot, put together from pieces that are kept per gang."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from phalanx.model.axis import Axis
from phalanx.model.gang import Gang, lacking, leaves
from phalanx.model.queue_table import QueueTable
from phalanx.model.running import UNBUDGETED, RunningTable, nobody
from phalanx.model.task import Shape, State, Task
from phalanx.world.budgets import Budgets
from phalanx.world.gangs import THERE, credit
from phalanx.world.running_columns import Columns, Found, Piece, columns_of

#: Shapes that nobody has any more keep their numbers until there are so many of them.
UNUSED_MAX = 256


class RunningRows:
    """Keeps a piece per gang that has tasks on nodes, and since when it is broken."""

    def __init__(self) -> None:
        #: Whether anybody looks at the table; it is empty otherwise.
        self.wanted = False
        self._pieces: dict[str, Piece] = {}
        self._broken_since: dict[str, float] = {}
        self._split_since: dict[str, float] = {}
        #: Per gang: the most members that counted since it was last whole, and whether it lost some.
        self._history: dict[str, tuple[int, bool]] = {}
        #: Gangs that changed since the columns were put together, for these rows of nodes and queues.
        self._dirty: set[str] = set()
        self._columns: Columns | None = None
        self._basis: tuple[Mapping[str, int], Mapping[str, int]] | None = None
        #: The number of each shape in the columns.
        self._number: dict[Shape, int] = {}
        #: The last table and its shapes, for an axis.
        self._kept: tuple[Axis, RunningTable, list[Shape]] | None = None

    def put(
        self,
        gang: Gang,
        here: Sequence[tuple[Task, Shape]],
        members: Sequence[Task],
        queue: str | None,
        moved: int = 0,
    ) -> None:
        """Replace the piece of one gang: its tasks on nodes, of all its members; so many more are being moved."""
        if not here:
            self.drop(gang.key)
            return
        self._dirty.add(gang.key)
        counted, inside = credit(members)
        piece = _piece(gang, here, {"": counted} | inside, queue)
        behind = left_behind(members)
        # A member whose bind is on its way is not there yet: if it never starts, the gang is split and lost nobody.
        # A member that is moved is not lost: its place is kept.
        began = counted + moved - sum(task.state is State.BINDING for task in members)
        seen, lost = self._history.get(gang.key, (began, behind or _absent(gang, members, counted + moved)))
        lost = bool(piece.missing) and (lost or began < seen)
        self._history[gang.key] = (max(seen, began) if piece.missing else began, lost)
        split = bool(piece.missing) and behind and gang.hold is None and not _on_the_way(members)
        self._pieces[gang.key] = replace(piece, lost=lost, split=split)

    def drop(self, key: str) -> None:
        """Forget a gang that has nothing on nodes."""
        if self._pieces.pop(key, None) is not None:
            self._dirty.add(key)
        self._broken_since.pop(key, None)
        self._split_since.pop(key, None)
        self._history.pop(key, None)

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
        columns = self._brought_up_to_date(now, node_row, queues)
        if self._kept is None or self._kept[0] != axis:
            self._kept = (axis, *self._table(columns, axis))
        _, table, shapes = self._kept
        budget, left = budgets.columns(table.uids)
        # Shapes are numbered on top of those of waiting tasks.
        number = {shape: row for row, shape in enumerate(waiting)}
        rows = np.array([number.setdefault(shape, len(number)) for shape in shapes], np.int64)
        return replace(table, budget=budget, budgets=left, shape=rows[table.shape]), tuple(number)

    def next_look(self, now: float, table: RunningTable, queues: QueueTable, deadline: float) -> float:
        """Return when to look again although nothing changes: at broken gangs, and when somebody's protection ends.

        At gangs that run below their minimum soon at first, then less and less often: nobody here knows how long they
        are given; whatever it is, they are looked at within a tenth more.
        """
        steps_back = (since + deadline for since in self._split_since.values())
        look = min(_protection_ends(now, table, queues), min((at for at in steps_back if at > now), default=math.inf))
        if not self.wanted or not self._broken_since:
            return look
        return min(look, now + max((now - max(self._broken_since.values())) / 10, 1.0))

    def _brought_up_to_date(self, now: float, node_row: Mapping[str, int], queues: QueueTable) -> Columns:
        basis = (node_row, queues.row)
        same = self._basis is not None and all(a is b for a, b in zip(self._basis, basis, strict=True))
        if self._columns is None or not same or len(self._number) > 2 * len(self._pieces) + UNUSED_MAX:
            self._number = {}
            self._columns, self._basis, self._kept = (
                self._built(now, sorted(self._pieces), queues, node_row),
                basis,
                None,
            )
        elif self._dirty:
            changed = sorted(self._dirty)
            self._columns.cut_in(changed, self._built(now, changed, queues, node_row))
            self._kept = None
        self._dirty.clear()
        return self._columns

    def _built(self, now: float, keys: Sequence[str], queues: QueueTable, node_row: Mapping[str, int]) -> Columns:
        found: list[Found] = []
        for key in keys:
            piece = self._pieces.get(key)
            known = [pair for pair in piece.tasks if pair[0].node in node_row] if piece is not None else []
            if piece is not None and known:
                # One that may not leave has the whole grace again once it has rested.
                broken = _since(self._broken_since, key, now, holds=piece.lost and not piece.gang.stays)
                split = _since(self._split_since, key, now, holds=piece.split)
                found.append(Found(piece, known, broken, split))
        return columns_of(found, node_row, queues, self._number)

    def _table(self, columns: Columns, axis: Axis) -> tuple[RunningTable, list[Shape]]:
        if not columns.keys:
            return nobody(len(axis)), []
        every = list(self._number)
        used, first, at = np.unique(columns.shape, return_index=True, return_inverse=True)
        order = np.argsort(first)
        # By first use, so that the table does not tell how it came to be.
        shapes = [every[number] for number in used[order].tolist()]
        shape = np.argsort(order)[at]
        vectors = np.array([axis.vector(dict(shape.requests)) for shape in shapes], np.int64)
        count = columns.count
        return RunningTable(
            uids=tuple(columns.uids),
            names=tuple(columns.names),
            gang=np.repeat(np.arange(len(count)), count),
            node=columns.node,
            shape=shape,
            requests=vectors[shape],
            movable=columns.movable,
            # Another column with each cycle: see `table`.
            budget=np.full(len(shape), UNBUDGETED),
            budgets=np.zeros(0, np.int64),
            gangs=tuple(columns.gangs),
            first=np.cumsum(count) - count,
            count=count,
            minimum=columns.minimum,
            queue=columns.queue,
            priority=columns.priority,
            preemptible=columns.preemptible,
            created=columns.created,
            started=columns.started,
            expected_runtime=columns.expected_runtime,
            broken_since=columns.broken_since,
            split_since=columns.split_since,
        ), shapes


def _protection_ends(now: float, table: RunningTable, queues: QueueTable) -> float:
    """Return when the next minimum has run for as long as its queue, or one above it, protects it."""
    soonest = math.inf
    for row, path in queues.paths.items() if len(table) else ():
        above = [queues.queues[other].reclaim_min_runtime for other in path.tolist()]
        for runtime in {runtime for runtime in (queues.queues[row].preempt_min_runtime, *above) if runtime}:
            ends = table.started[table.queue == row] + runtime
            soonest = float(ends.min(initial=soonest, where=ends > now))
    return soonest


def _piece(gang: Gang, here: Sequence[tuple[Task, Shape]], counted: Mapping[str, int], queue: str | None) -> Piece:
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
    if gang.chooses:
        # What runs of a subgroup stays together; one that does not run need not.
        missing = lacking(gang.subgroups, gang.groups, counted)
    wanted = max(gang.minimum - (counted[""] - len(here)), 0)
    missing = max(missing, wanted - len(here))
    ids = {id(pair) for pair in kept}
    others = [pair for pair in ordered if id(pair) not in ids]
    more = max(wanted - len(kept), 0)
    rank = {part.name: at for at, part in enumerate(leaves(gang.subgroups))}
    last = sorted(others[more:], key=lambda pair: rank.get(_subgroup(pair[0]), -1))
    minimum = len(here) + missing if missing else len(kept) + len(others[:more])
    return Piece(gang, (*kept, *others[:more], *last), minimum, missing, queue)


def _subgroup(task: Task) -> str:
    return (task.membership.subgroup if task.membership else None) or ""


def _since(known: dict[str, float], key: str, now: float, *, holds: bool) -> float:
    """Return since when something holds of a gang, as far as we saw it; infinity where it does not."""
    if not holds:
        known.pop(key, None)
        return math.inf
    return known.setdefault(key, now)


def left_behind(members: Sequence[Task]) -> bool:
    """Tell whether a member that should have started with those on nodes did not.

    Its bind was refused, a kubelet turned it away, or a scheduler was killed in between. What came later does not
    count: a minimum was raised.
    """
    begun = min((_began(task) for task in members if task.state in THERE), default=math.inf)
    return any(task.state in _BEHIND and task.created <= begun for task in members)


def _began(task: Task) -> float:
    return task.started if task.started is not None else math.inf


def _on_the_way(members: Sequence[Task]) -> bool:
    return any(task.state is State.BINDING for task in members)


def _absent(gang: Gang, members: Sequence[Task], counted: int) -> bool:
    """Tell whether members that the minimum asks for do not exist: of a gang that is first seen so, they are lost."""
    return counted + sum(task.state is State.PENDING for task in members) < gang.minimum


_BEHIND = frozenset({State.PENDING, State.FAILED})
