"""The queue meter: what each queue has, asks for and is entitled to, at every instant at which that changed.

Only what changed is kept: a thousand queues over a long run are as many short lists. A queue that has others below it
has what they have, in the tree as it stands in the end.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from phalanx.model.axis import CPU, Int
from phalanx.model.queue_table import QueueTable
from phalanx.model.task import Task
from phalanx.sim.steps import Steps, total


@dataclass(slots=True)
class _Trace:
    """Times and values of one quantity, in smallest units."""

    times: list[float] = field(default_factory=list[float])
    values: list[int] = field(default_factory=list[int])

    def note(self, now: float, value: int) -> None:
        """Note a value: it holds from now on."""
        if self.times and self.times[-1] == now:
            self.values[-1] = value
        elif not self.values or self.values[-1] != value:
            self.times.append(now)
            self.values.append(value)

    def steps(self) -> Steps:
        return Steps(np.array(self.times), np.array(self.values, np.float64))


class QueueMeter:
    """Books of the queues, by name, in [cpu, device]."""

    def __init__(self, device: str) -> None:
        self.resources = (CPU, device)
        #: As the last cycle saw it; None before the first one.
        self.table: QueueTable | None = None
        #: Per gang: its queue, and what its members on nodes hold there.
        self._has: dict[str, tuple[str, int, int]] = {}
        self._totals: dict[str, list[int]] = {}
        self._changed: set[str] = set()
        self._allocated: dict[tuple[str, str], _Trace] = {}
        self._requested: dict[tuple[str, str], _Trace] = {}
        self._share: dict[tuple[str, str], _Trace] = {}

    def put(self, gang: str, queue: str | None, tasks: Iterable[Task]) -> None:
        """Take in what a gang holds now, in the place of what it held before."""
        before = self._has.pop(gang, None)
        if before is not None:
            self._add(before, -1)
        cpu, device = 0, 0
        for task in tasks:
            requests = dict(task.shape.requests)
            cpu += requests.get(self.resources[0], 0)
            device += requests.get(self.resources[1], 0)
        if queue is not None and (cpu or device):
            self._has[gang] = (queue, cpu, device)
            self._add(self._has[gang], 1)

    def entitle(self, now: float, table: QueueTable, shares: Int | None) -> None:
        """Take in what a cycle saw: what the queues ask for, and their shares. Both hold after its binds as before."""
        self.table = table
        for resource in self.resources:
            if resource not in table.resources:
                continue
            column = table.resources.index(resource)
            # One pass over the queues of a pretend cluster, outside the engine.
            for queue, requested in zip(table.row, table.requested[:, column].tolist(), strict=True):
                _note(self._requested, queue, resource, now, requested)
            if shares is not None:
                for queue, share in zip(table.row, shares[:, column].tolist(), strict=True):
                    _note(self._share, queue, resource, now, share)

    def note(self, now: float) -> None:
        """Note what the queues have: it holds from now on."""
        for queue in self._changed:
            for column, resource in enumerate(self.resources):
                _note(self._allocated, queue, resource, now, self._totals[queue][column])
        self._changed.clear()

    def allocated(self, queue: str, resource: str) -> Steps:
        """Return what a queue and those below it had."""
        if self.table is None or queue not in self.table.row:
            names = [queue]
        else:
            row = self.table.row[queue]
            names = [self.table.queues[leaf].name for leaf, path in self.table.paths.items() if row in path]
        known = [self._allocated[name, resource].steps() for name in names if (name, resource) in self._allocated]
        return known[0] if len(known) == 1 else total(known)

    def requested(self, queue: str, resource: str) -> Steps | None:
        """Return what a queue had and waited for; None where no queue lists the resource."""
        trace = self._requested.get((queue, resource))
        return trace.steps() if trace else None

    def share(self, queue: str, resource: str) -> Steps | None:
        """Return what a queue was entitled to; None where the policy divides nothing."""
        trace = self._share.get((queue, resource))
        return trace.steps() if trace else None

    def _add(self, held: tuple[str, int, int], sign: int) -> None:
        queue, *amounts = held
        totals = self._totals.setdefault(queue, [0, 0])
        for column, amount in enumerate(amounts):
            totals[column] += sign * amount
        self._changed.add(queue)


def _note(traces: dict[tuple[str, str], _Trace], queue: str, resource: str, now: float, value: int) -> None:
    trace = traces.get((queue, resource))
    if trace is None:
        trace = traces[queue, resource] = _Trace()
    trace.note(now, value)
