"""What each queue has, asks for and is entitled to after a cycle: for its status, and for Prometheus."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from phalanx.loop import Cycle
from phalanx.model.axis import Int
from phalanx.model.queue_table import QueueTable
from phalanx.world.queue_rows import sum_up


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """The queues that are in order, and how many gangs wait in those that are not."""

    table: QueueTable
    #: [queue, resource]
    share: Int
    #: [queue]: gangs that wait, for whatever reason; a parent's are its children's.
    pending: Int
    #: Gangs that name a queue which is no leaf of the tree, by that name.
    stranded: Mapping[str, int]


def queue_figures(cycle: Cycle) -> QueueFigures:
    """Return the figures of a cycle."""
    table, gangs = cycle.snapshot.queues, cycle.snapshot.gangs
    share = cycle.shares if cycle.shares is not None else np.zeros_like(table.quota)
    inside = gangs.queue >= 0
    counts = np.bincount(gangs.queue[inside], minlength=len(table))[:, np.newaxis]
    pending = sum_up(counts, table.parent, table.depth, ~table.leaf[:, np.newaxis])[:, 0]
    # A loop over the gangs that are in no queue: they are held until somebody mends that.
    stranded = Counter(gangs.gangs[row].queue for row in np.flatnonzero(~inside).tolist())
    return QueueFigures(table, share, pending, stranded)
