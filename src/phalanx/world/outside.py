"""What there is to divide among the queues: ready nodes, less what runs on them outside every queue."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from phalanx.model.axis import SUM_MAX, Axis, Bool, Int
from phalanx.model.charges import Charge, Charges, Worth
from phalanx.model.queue_table import QueueTable
from phalanx.model.snapshot import NodeTable
from phalanx.model.task import Task
from phalanx.world.models_apart import apart_on
from phalanx.world.queue_rows import total_of


class Outside:
    """Keeps a row per node: what tasks in no queue take of the listed resources. Only dirty rows are added up again."""

    def __init__(self) -> None:
        self._dirty: set[str] = set()
        self._resources: tuple[str, ...] = ()
        self._charges = Charges()
        self._row: Mapping[str, int] | None = None
        #: [node, resource]
        self._used: Int = np.zeros((0, 0), np.int64)

    def touch(self, name: str) -> None:
        """Mark a node: a task on it changed, or went into a queue or out of it."""
        self._dirty.add(name)

    def total(
        self,
        queues: QueueTable,
        axis: Axis,
        nodes: NodeTable,
        charges: Charges,
        on_node: Callable[[str], list[Task]],
        inside: Callable[[Task], bool],
    ) -> Int:
        """Return [resource]: what there is to divide, never below 0."""
        if (self._resources, self._charges) != (queues.resources, charges) or self._row is not nodes.row:
            self._resources, self._charges, self._row = queues.resources, charges, nodes.row
            self._used = np.zeros((len(nodes), len(queues.resources)), np.int64)
            self._dirty = set(nodes.names)
        apart = apart_on(charges, queues.resources, axis, nodes)
        if queues.resources:
            # A loop over the nodes that changed since the last cycle, not over all.
            for name in self._dirty & nodes.row.keys():
                strangers = [task for task in on_node(name) if not inside(task)]
                used = self._add_up(strangers)
                for at, line, more in apart:
                    # Who is in no queue takes of what the node has, whatever he asked for.
                    taken = sum(worth.of(amount) for worth, amount in _worths(line, strangers))
                    used[at] = min(taken, int(more[nodes.row[name]]))
                self._used[nodes.row[name]] = used
        self._dirty = set()
        ready: Bool = nodes.ready
        there = total_of(nodes.allocatable[np.ix_(ready, queues.columns)])
        for column, worth in charges.on(axis, queues.resources):
            more = total_of(worth.of_all(nodes.allocatable[ready, column])[:, None])
            at = queues.resources.index(worth.resource)
            there[at] += np.minimum(more[0], SUM_MAX - there[at])
        for at, _, more in apart:
            there[at] += np.minimum(total_of(more[ready][:, None])[0], SUM_MAX - there[at])
        left: Int = np.maximum(there - total_of(self._used[ready]), 0)
        return left

    def _add_up(self, tasks: Iterable[Task]) -> list[int]:
        used = dict.fromkeys(self._resources, 0)
        for task in tasks:
            for name, amount in self._charges.charged(task.shape.charged):
                if name in used:
                    used[name] = min(used[name] + amount, SUM_MAX)
        return list(used.values())


def _worths(line: Charge, tasks: Iterable[Task]) -> list[tuple[Worth, int]]:
    """Return what these tasks ask for that a line counts, and as what."""
    return [
        (worth, amount) for task in tasks for name, amount in task.shape.charged
        if (worth := line.worth(name)) is not None
    ]  # fmt: skip
