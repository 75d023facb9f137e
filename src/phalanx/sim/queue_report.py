"""What a run was worth to each queue."""

from dataclasses import dataclass

import numpy as np

from phalanx.model.axis import unit
from phalanx.model.queue import UNLIMITED
from phalanx.model.queue_table import QueueTable
from phalanx.sim.life import Life
from phalanx.sim.queue_meter import QueueMeter
from phalanx.sim.steps import Steps


@dataclass(frozen=True, slots=True)
class Waiting:
    """From the moment a gang had enough members to the start of its work, over the gangs that started."""

    mean: float
    p50: float
    p99: float


@dataclass(frozen=True, slots=True)
class QueueUse:
    """One resource of one queue: means over the run, in whole units, and lines over equal parts of it."""

    resource: str
    quota: float | None
    #: None: unlimited.
    limit: float | None
    #: None here and below: no queue lists the resource, so it is not divided.
    weight: float | None
    allocated: float
    share: float | None
    requested: float | None
    allocated_over_time: tuple[float, ...]
    share_over_time: tuple[float, ...]
    requested_over_time: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class QueueRun:
    """One queue, with everything below it; its gangs are its own."""

    queue: str
    parent: str | None
    depth: int
    leaf: bool
    device: QueueUse
    cpu: QueueUse
    gangs: int
    started: int
    finished: int
    waiting: Waiting | None


def waiting(lives: list[Life]) -> Waiting | None:
    """Return how long gangs waited; None where nothing started. The percentiles are waits that happened."""
    waits = [life.started - life.complete for life in lives if life.started is not None and life.complete is not None]
    if not waits:
        return None
    p50, p99 = np.percentile(waits, [50, 99], method="inverted_cdf").tolist()
    return Waiting(float(np.mean(waits)), p50, p99)


def queue_reports(meter: QueueMeter, lives: list[Life], end: float, points: int) -> tuple[QueueRun, ...]:
    """Return a line per queue, children behind their parent."""
    table = meter.table
    if table is None:
        return ()
    inside: dict[str, list[Life]] = {}
    for life in lives:
        inside.setdefault(life.queue or "", []).append(life)
    cpu, device = meter.resources
    found = []
    for row in _tree(table):
        queue = table.queues[row]
        own = inside.get(queue.name, [])
        found.append(
            QueueRun(
                queue=queue.name,
                parent=queue.parent,
                depth=int(table.depth[row]),
                leaf=bool(table.leaf[row]),
                device=_use(meter, table, row, device, end, points),
                cpu=_use(meter, table, row, cpu, end, points),
                gangs=len(own),
                started=sum(life.started is not None for life in own),
                finished=sum(life.finished is not None for life in own),
                waiting=waiting(own),
            )
        )
    return tuple(found)


def _tree(table: QueueTable) -> list[int]:
    """Return the rows as a tree is read: each queue before those below it, siblings by name."""
    paths: list[tuple[str, ...]] = []
    # Parents have smaller rows, so theirs are known.
    for queue in table.queues:
        above = paths[table.row[queue.parent]] if queue.parent is not None else ()
        paths.append((*above, queue.name))
    return sorted(range(len(paths)), key=paths.__getitem__)


def _use(meter: QueueMeter, table: QueueTable, row: int, resource: str, end: float, points: int) -> QueueUse:
    name, units = table.queues[row].name, unit(resource)
    divided = resource in table.resources
    column = table.resources.index(resource) if divided else 0
    allocated, share, requested = (
        meter.allocated(name, resource), meter.share(name, resource), meter.requested(name, resource),
    )  # fmt: skip
    return QueueUse(
        resource=resource,
        quota=_bound(int(table.quota[row, column]), units) if divided else None,
        limit=_bound(int(table.limit[row, column]), units) if divided else None,
        weight=int(table.weight[row, column]) / 1000 if divided else None,
        allocated=allocated.mean(0.0, end) / units,
        share=None if share is None else share.mean(0.0, end) / units,
        requested=None if requested is None else requested.mean(0.0, end) / units,
        allocated_over_time=_line(allocated, end, points, units),
        share_over_time=_line(share, end, points, units),
        requested_over_time=_line(requested, end, points, units),
    )


def _bound(amount: int, units: int) -> float | None:
    return None if amount >= UNLIMITED else amount / units


def _line(steps: Steps | None, end: float, points: int, units: int) -> tuple[float, ...]:
    return () if steps is None else tuple((steps.means(end, points) / units).round(6).tolist())
