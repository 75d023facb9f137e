"""Gang columns: what a piece says, as arrays over all gangs and all waiting tasks; changed gangs are cut in.

Between two cycles few gangs change. Their rows are built from their pieces and put in the place of the old ones;
everything else is copied in whole stretches, never looked at.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from phalanx.model.axis import Bool, Float, Int
from phalanx.model.gang import Gang
from phalanx.model.snapshot import UNBOUNDED
from phalanx.model.task import Task
from phalanx.world.cutting import cut_array, cut_list, cuts_of
from phalanx.world.gangs import Piece
from phalanx.world.ranks import NO_SEGMENT


class Kept(NamedTuple):
    """A piece with what is numbered in it: its queue, whose it is, and the shape of each task."""

    piece: Piece
    queue: int
    user: int
    shapes: tuple[int, ...]


@dataclass(slots=True)
class Columns:
    """One row per gang, sorted by key; one row per waiting task, gang by gang.

    Arrays are replaced, never written: snapshots have them. Lists are changed in place, for to copy a hundred
    thousand names touches each of them; snapshots get them as `tuples`.
    """

    keys: list[str]
    gangs: list[Gang]
    count: Int
    minimum: Int
    maximum: Int
    priority: Int
    created: Float
    start_timeout: Float
    running: Int
    present: Int
    irregular: Bool
    queue: Int
    user: Int
    preemptible: Bool
    patience: Float
    evicts: Bool
    wishes: Bool
    expected_runtime: Float
    tasks: list[Task]
    uids: list[str]
    names: list[str]
    subgroups: list[str | None]
    rank: Int
    segment: Int
    shape: Int
    task_created: Float
    nominated: Bool
    held: Bool
    _tuples: dict[str, tuple[Any, ...]] = field(default_factory=dict[str, tuple[Any, ...]])

    def tuple_of(self, name: str) -> tuple[Any, ...]:
        """Return a list as snapshots have it; made again only when it changed."""
        if name not in self._tuples:
            self._tuples[name] = tuple(getattr(self, name))
        return self._tuples[name]

    def cut_in(self, changed: Sequence[str], fresh: "Columns") -> None:
        """Let these gangs, sorted by key, be as they are in `fresh`, or gone where they are not."""
        gang_cuts, task_cuts = cuts_of(changed, self.keys, self.count, fresh.keys, fresh.count)
        for name in _OF_GANGS + _OF_TASKS:
            cuts = gang_cuts if name in _OF_GANGS else task_cuts
            old, new = getattr(self, name), getattr(fresh, name)
            if not isinstance(old, list):
                setattr(self, name, cut_array(old, new, cuts))
            elif cut_list(old, new, cuts):
                self._tuples.pop(name, None)


_OF_GANGS = (
    "keys", "gangs", "count", "minimum", "maximum", "priority", "created", "start_timeout", "running", "present",
    "irregular", "queue", "user", "preemptible", "patience", "evicts", "wishes", "expected_runtime",
)  # fmt: skip
_OF_TASKS = ("tasks", "uids", "names", "subgroups", "rank", "segment", "shape", "task_created", "nominated", "held")


def columns_of(kept: Sequence[Kept]) -> Columns:
    """Return the columns of these pieces, sorted by key."""
    pieces = [one.piece for one in kept]
    gangs = [piece.gang for piece in pieces]
    tasks = [task for piece in pieces for task in piece.tasks]
    return Columns(
        keys=[gang.key for gang in gangs],
        gangs=gangs,
        count=np.array([len(piece.tasks) for piece in pieces], np.int64),
        minimum=np.array([gang.minimum for gang in gangs], np.int64),
        maximum=np.array([UNBOUNDED if gang.maximum is None else gang.maximum for gang in gangs], np.int64),
        priority=np.array([gang.priority for gang in gangs], np.int64),
        created=np.array([gang.created for gang in gangs], np.float64),
        start_timeout=np.array([gang.start_timeout or 0.0 for gang in gangs], np.float64),
        running=np.array([piece.running for piece in pieces], np.int64),
        present=np.array([piece.present for piece in pieces], np.int64),
        irregular=np.array([piece.irregular for piece in pieces], np.bool_),
        queue=np.array([one.queue for one in kept], np.int64),
        user=np.array([one.user for one in kept], np.int64),
        preemptible=np.array([gang.preemptible for gang in gangs], np.bool_),
        patience=np.array([gang.patience or 0.0 for gang in gangs], np.float64),
        evicts=np.array([gang.evicts for gang in gangs], np.bool_),
        wishes=np.array([gang.wishes for gang in gangs], np.bool_),
        expected_runtime=np.array([gang.runtime for gang in gangs], np.float64),
        tasks=tasks,
        uids=[task.uid for task in tasks],
        names=[task.full_name for task in tasks],
        subgroups=[task.membership.subgroup if task.membership else None for task in tasks],
        rank=np.array([rank for piece in pieces for rank in piece.ranks or [0] * len(piece.tasks)], np.int64),
        segment=np.array(
            [one for piece in pieces for one in piece.segments or [NO_SEGMENT] * len(piece.tasks)], np.int64
        ),
        shape=np.array([number for one in kept for number in one.shapes], np.int64),
        task_created=np.array([task.created for task in tasks], np.float64),
        nominated=np.array([task.nominated is not None for task in tasks], np.bool_),
        held=np.array([task.hold is not None for task in tasks], np.bool_),
    )
