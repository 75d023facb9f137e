"""The meter: what of the cluster is held and what of it works, at every instant at which that changed.

Held is not the same as working: the members of a gang that is not whole hold their devices and do nothing.
Nodes that are not ready count for nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from phalanx.model.axis import CPU, GPU, Float, is_extended
from phalanx.model.node import Node
from phalanx.model.task import Task


def device_of(nodes: Iterable[Node]) -> str:
    """Return the device that a cluster is measured by: GPUs, else its first other device, else GPUs of which none."""
    found = sorted({name for node in nodes for name in node.allocatable if is_extended(name)})
    return found[0] if found and GPU not in found else GPU


@dataclass(slots=True)
class _Row:
    """One node, in [cpu, device]."""

    capacity: tuple[int, int]
    ready: bool
    held: list[int] = field(default_factory=lambda: [0, 0])
    working: list[int] = field(default_factory=lambda: [0, 0])

    def columns(self) -> tuple[int, ...]:
        """Return what it adds to the totals, in the order of `Meter.COLUMNS`."""
        if not self.ready:
            return (0,) * 8
        free = max(self.capacity[1] - self.held[1], 0)
        partly = free if self.held[1] else 0
        return (*self.capacity, *self.held, *self.working, free, partly)


class Meter:
    """Running totals, noted whenever an instant is over."""

    COLUMNS = (
        "cpu_capacity", "device_capacity", "cpu_held", "device_held", "cpu_working", "device_working",
        "device_free", "device_free_on_partly_used_nodes",
    )  # fmt: skip

    def __init__(self, nodes: Iterable[Node]) -> None:
        nodes = list(nodes)
        self.device = device_of(nodes)
        self._rows: dict[str, _Row] = {}
        self._totals = [0] * len(self.COLUMNS)
        self._times: list[float] = []
        self._notes: list[tuple[int, ...]] = []
        for node in nodes:
            self.node(node)

    def node(self, node: Node) -> None:
        """Take in a node that is new or has changed."""
        row = self._rows.setdefault(node.name, _Row((0, 0), ready=False))
        self._count(row, -1)
        row.capacity = (node.allocatable.get(CPU, 0), node.allocatable.get(self.device, 0))
        row.ready = node.ready
        self._count(row, 1)

    def hold(self, task: Task, sign: int) -> None:
        """A task takes its place (+1) or leaves it (-1)."""
        self._change(task, sign, working=False)

    def work(self, task: Task, sign: int) -> None:
        """A task on its place begins to work (+1) or stops (-1)."""
        self._change(task, sign, working=True)

    def note(self, now: float) -> None:
        """Note the totals: they hold from now on."""
        if self._times and self._times[-1] == now:
            self._notes[-1] = tuple(self._totals)
        else:
            self._times.append(now)
            self._notes.append(tuple(self._totals))

    @property
    def held(self) -> int:
        """Return how much of the device is held now."""
        return self._totals[self.COLUMNS.index("device_held")]

    def history(self) -> tuple[Float, Float]:
        """Return the times, and [time, column] the totals that hold from each on."""
        return np.array(self._times), np.array(self._notes, np.float64).reshape(-1, len(self.COLUMNS))

    def _change(self, task: Task, sign: int, *, working: bool) -> None:
        row = self._rows.get(task.node or "")
        if row is None:
            return
        self._count(row, -1)
        requests = dict(task.shape.requests)
        amounts = row.working if working else row.held
        amounts[0] += sign * requests.get(CPU, 0)
        amounts[1] += sign * requests.get(self.device, 0)
        self._count(row, 1)

    def _count(self, row: _Row, sign: int) -> None:
        for column, amount in enumerate(row.columns()):
            self._totals[column] += sign * amount
