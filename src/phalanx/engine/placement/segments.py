"""Segments: every k tasks of a part in one domain. Those of k equal tasks are placed by count, others one by one."""

from typing import NamedTuple

import numpy as np

from phalanx.engine.session.rows import distinct
from phalanx.model.axis import Int
from phalanx.model.snapshot import TaskTable

#: In the place of a segment: none.
NO_SEGMENT = -1


class Odd(NamedTuple):
    """A segment that is placed by itself: it has members already, fewer tasks than it should, or several shapes."""

    number: int
    tasks: Int
    #: Of its members that have a place.
    nodes: Int
    #: How many of its tasks wait, with those that are placed later.
    waiting: int


def odd_segments(
    table: TaskTable, size: int, tasks: Int, homes: list[tuple[int, int]], waiting: Int
) -> tuple[Int, list[Odd]]:
    """Return the tasks of whole segments of equal tasks, and all other segments.

    `homes`: node and segment of members that have a place. `waiting`: all tasks that wait, those of other units too.
    """
    numbers, first, at, counts = np.unique(
        table.segment[tasks], return_index=True, return_inverse=True, return_counts=True
    )
    alike = np.ones(len(numbers), np.bool_)
    np.logical_and.at(alike, at, table.shape[tasks] == table.shape[tasks[first]][at])
    where, of = (np.array([pair[side] for pair in homes], np.int64) for side in (0, 1))
    even = alike & (counts == size) & ~np.isin(numbers, of)
    found = [
        Odd(number, tasks[at == row], where[of == number], int((table.segment[waiting] == number).sum()))
        for row, number in zip(np.flatnonzero(~even).tolist(), numbers[~even].tolist(), strict=True)
    ]
    return tasks[even[at]], found


def apart(table: TaskTable, tasks: Int) -> list[Odd]:
    """Return every segment by itself."""
    of = table.segment[tasks]
    found = ((number, tasks[of == number]) for number in distinct(of).tolist())
    return [Odd(number, mine, tasks[:0], len(mine)) for number, mine in found]


def scattered(of: Int, segments: Int, nodes: Int) -> bool:
    """Tell whether some segment is not in one domain with these places."""
    domain = of[nodes]
    if (domain < 0).any():
        return True
    pairs = np.unique(np.stack([segments, domain], axis=1), axis=0)
    return len(np.unique(pairs[:, 0])) < len(pairs)
