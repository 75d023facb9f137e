"""Units: what is decided at once. The missing minimum of a gang is one; each task of its growth is another.

Without a plugin that groups (`Plugin.groups`), every task is a unit of its own, as in a pod-by-pod scheduler.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from phalanx.engine.session.members import beyond_maximum, units_of
from phalanx.engine.session.rows import steps
from phalanx.model.axis import Bool, Float, Int
from phalanx.model.plan import Code, Reason
from phalanx.model.snapshot import UNBOUNDED, Snapshot


@dataclass(frozen=True, slots=True)
class Unit:
    """Tasks that are tried together."""

    gang: int
    #: Rows of the task table, in the order in which they get places.
    tasks: Int
    #: All or nothing; otherwise the first ones that fit.
    whole: bool
    #: Why it may not even be tried.
    hold: Reason | None


@dataclass(frozen=True, slots=True)
class Lack:
    """What a placement lacked: of `wanted` tasks only `fit` found a place; `own` of them are of this shape."""

    shape: int
    wanted: int
    fit: int
    own: int
    #: The tasks together ask for more than all nodes have.
    too_much: bool = False
    #: Where they must be in one domain: the subgroup that must (empty: the gang), and how much the best one takes.
    part: str = ""
    domain: str = ""
    #: Of a segment that must: its number.
    segment: int | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """What a placement found: `tasks[i]` got `nodes[i]`."""

    tasks: Int
    nodes: Int
    #: What the rest lacked; None when all found a place.
    lack: Lack | None = None
    #: The same in words, where they were asked for.
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Units:
    """Every unit of a cycle, as columns; the order plugins sort them."""

    gang: Int
    growth: Bool
    #: How far beyond its minimum the gang is with this unit; 0 for the minimum itself. All gangs of a band take their
    #: first step beyond before any takes its second.
    beyond: Int
    priority: Int
    created: Float
    #: A unit's tasks are rows[first : first + count].
    first: Int
    count: Int
    rows: Int
    holds: dict[int, Reason]

    def __len__(self) -> int:
        return len(self.gang)

    def unit(self, index: int) -> Unit:
        """Return one unit."""
        first, count = int(self.first[index]), int(self.count[index])
        # Of growth only whole subgroups are more than one task.
        whole = not self.growth[index] or count > 1
        return Unit(int(self.gang[index]), self.rows[first : first + count], whole, self.holds.get(index))


def task_units(snapshot: Snapshot) -> Units:
    """Return one unit per pending task, with its own priority and time."""
    tasks = snapshot.tasks
    count = len(tasks)
    rows = np.arange(count)
    priorities = np.fromiter((shape.priority for shape in snapshot.shapes), np.int64, len(snapshot.shapes))
    holds = {task: Reason(Code.HELD, f"{tasks.names[task]} {hold}") for task, hold in tasks.holds.items()}
    return Units(
        tasks.gang, np.ones(count, np.bool_), np.zeros(count, np.int64), priorities[tasks.shape], tasks.created,
        rows, (~tasks.held).astype(np.int64), rows, holds,
    )  # fmt: skip


def gang_units(snapshot: Snapshot) -> Units:
    """Return, per gang, a unit for what is missing to its minimum and one for each task of its growth."""
    gangs = snapshot.gangs
    missing = np.clip(gangs.minimum - gangs.running, 0, gangs.count)
    grown = np.clip(gangs.maximum - gangs.present - missing, 0, gangs.count - missing)
    plain = ~gangs.irregular & (gangs.running + gangs.count >= gangs.minimum)
    whole = np.flatnonzero(plain & (missing > 0))
    parts = _Parts()
    parts.add(whole, 0, gangs.first[whole], missing[whole])
    of, step = _steps(np.flatnonzero(plain & (grown > 0)), grown)
    surplus = np.maximum(gangs.running - gangs.minimum, 0)
    parts.add(of, surplus[of] + step + 1, gangs.first[of] + missing[of] + step, np.ones(len(of), np.int64))
    # A gang beyond its maximum has members that wait for nothing but each other.
    for row in np.flatnonzero(plain & (grown < gangs.count - missing)).tolist():
        parts.hold(row, growth=True, why=beyond_maximum(int(gangs.maximum[row])))
    rows = [np.arange(len(snapshot.tasks))]
    filled = len(snapshot.tasks)
    # A loop over the few gangs with subgroups, holds or members missing, never over all.
    for row in np.flatnonzero(~plain).tolist():
        for is_growth, tasks, hold, block in units_of(snapshot, row):
            if block:
                parts.add(np.array([row]), surplus[row] + 1, np.array([filled]), np.array([len(tasks)]))
            elif is_growth:
                of, step = _steps(np.array([row]), np.full(row + 1, len(tasks)))
                parts.add(of, surplus[of] + step + 1, filled + step, np.ones(len(of), np.int64))
            elif len(tasks):
                parts.add(np.array([row]), 0, np.array([filled]), np.array([len(tasks)]))
            if hold is not None:
                parts.hold(row, growth=is_growth, why=hold)
            rows.append(tasks)
            filled += len(tasks)
    return parts.units(snapshot, np.concatenate(rows))


class _Parts:
    """Columns of units, put together piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[tuple[Int, Int, Int, Int]] = []
        self._made = 0
        self._holds: dict[int, Reason] = {}

    def add(self, gang: Int, beyond: Int | int, first: Int, count: Int) -> None:
        self._pieces.append((gang, np.broadcast_to(beyond, gang.shape), first, count))
        self._made += len(gang)

    def hold(self, gang: int, *, growth: bool, why: Reason) -> None:
        """A unit without tasks, which only says why; of growth, after all that may grow."""
        self._holds[self._made] = why
        self.add(np.array([gang]), UNBOUNDED if growth else 0, np.zeros(1, np.int64), np.zeros(1, np.int64))

    def units(self, snapshot: Snapshot, rows: Int) -> Units:
        gang, beyond, first, count = (np.concatenate(column) for column in zip(*self._pieces, strict=True))
        gangs = snapshot.gangs
        return Units(
            gang, beyond > 0, beyond, gangs.priority[gang], gangs.created[gang], first, count, rows, self._holds
        )


def leading(line: Int, holds: Callable[[Int], Bool]) -> int:
    """Return for how many units at the front of a line this holds."""
    # Looked at in growing pieces: lines are long, and most such fronts are short or very long.
    length = 0
    while length < len(line):
        piece = holds(line[length : 2 * length + 1])
        if not piece.all():
            return length + int(piece.argmin())
        length += len(piece)
    return length


def _steps(rows: Int, counts: Int) -> tuple[Int, Int]:
    """Return each row as often as it counts, and 0, 1, 2, … along each of them."""
    of, step = steps(counts[rows])
    return rows[of], step
