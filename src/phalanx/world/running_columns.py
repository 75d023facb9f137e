"""Running columns: what the pieces of running gangs say, as arrays; gangs that changed are cut in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from phalanx.model.axis import Bool, Float, Int
from phalanx.model.gang import Gang
from phalanx.model.queue_table import QueueTable
from phalanx.model.task import Shape, Task
from phalanx.world.cutting import cut_array, cut_list, cuts_of


@dataclass(frozen=True, slots=True)
class Piece:
    """One gang with its tasks on nodes, the first to go last."""

    gang: Gang
    tasks: tuple[tuple[Task, Shape], ...]
    #: How many tasks must stay if any does, and how many of those are missing.
    minimum: int
    missing: int
    #: None: in none.
    queue: str | None
    #: It lost members that it had; and: others that should have started with these did not.
    lost: bool = False
    split: bool = False


class Found(NamedTuple):
    """A piece with those of its tasks that are on nodes that we know, and since when it is broken or split."""

    piece: Piece
    known: list[tuple[Task, Shape]]
    broken_since: float
    split_since: float


@dataclass(slots=True)
class Columns:
    """One row per gang, sorted by key; one row per task, gang by gang. Arrays are replaced, never written."""

    keys: list[str]
    gangs: list[Gang]
    count: Int
    minimum: Int
    queue: Int
    priority: Int
    preemptible: Bool
    created: Float
    started: Float
    expected_runtime: Float
    broken_since: Float
    split_since: Float
    uids: list[str]
    names: list[str]
    node: Int
    #: Numbers that are given once per shape and kept.
    shape: Int
    movable: Bool

    def cut_in(self, changed: Sequence[str], fresh: "Columns") -> None:
        """Let these gangs, sorted by key, be as they are in `fresh`, or gone where they are not."""
        gang_cuts, task_cuts = cuts_of(changed, self.keys, self.count, fresh.keys, fresh.count)
        for name in _OF_GANGS + _OF_TASKS:
            cuts = gang_cuts if name in _OF_GANGS else task_cuts
            old, new = getattr(self, name), getattr(fresh, name)
            if isinstance(old, list):
                cut_list(old, new, cuts)
            else:
                setattr(self, name, cut_array(old, new, cuts))


_OF_GANGS = (
    "keys", "gangs", "count", "minimum", "queue", "priority", "preemptible", "created", "started",
    "expected_runtime", "broken_since", "split_since",
)  # fmt: skip
_OF_TASKS = ("uids", "names", "node", "shape", "movable")


def columns_of(
    found: Sequence[Found], node_row: Mapping[str, int], queues: QueueTable, number: dict[Shape, int]
) -> Columns:
    """Return the columns of these pieces, sorted by key; shapes that have no number yet get one."""
    gangs = [one.piece.gang for one in found]
    tasks = [task for one in found for task, _ in one.known]
    count = np.array([len(one.known) for one in found], np.int64)
    stays = {name for name, row in queues.row.items() if not queues.queues[row].consolidation}
    may = np.repeat(np.array([one.piece.queue not in stays for one in found], np.bool_), count)
    return Columns(
        keys=[gang.key for gang in gangs],
        gangs=gangs,
        count=count,
        minimum=np.array([_minimum(one) for one in found], np.int64),
        queue=np.array([queues.row.get(one.piece.queue or "", -1) for one in found], np.int64),
        priority=np.array([gang.priority for gang in gangs], np.int64),
        preemptible=np.array([gang.preemptible for gang in gangs], np.bool_),
        created=np.array([gang.created for gang in gangs], np.float64),
        started=np.array([_started(one) for one in found], np.float64),
        expected_runtime=np.array([gang.runtime for gang in gangs], np.float64),
        broken_since=np.array([one.broken_since for one in found], np.float64),
        split_since=np.array([one.split_since for one in found], np.float64),
        uids=[task.uid for task in tasks],
        names=[task.full_name for task in tasks],
        node=np.array([node_row[task.node or ""] for task in tasks], np.int64),
        shape=np.array([number.setdefault(shape, len(number)) for one in found for _, shape in one.known], np.int64),
        movable=np.array([task.controlled and task.movable for task in tasks], np.bool_) & may,
    )


def _minimum(one: Found) -> int:
    """Without those that it needs nothing of a gang may stay; of some gangs nobody may go alone."""
    return one.piece.minimum if one.piece.gang.disrupted_singly else max(one.piece.minimum, len(one.known))


def _started(one: Found) -> float:
    """Return when the last of its minimum started."""
    minimum = one.known[: max(one.piece.minimum, 1)]
    return max(task.started if task.started is not None else task.created for task, _ in minimum)
