"""Reservations: pods that keep shared devices from the kubelet and from other schedulers, and whom they keep them for.

A device that is shared counts once: those who share it count, and the pod that reserves it does not. While nobody does,
at the beginning and at the end, that pod has it for itself.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from phalanx.model.sharing import RESOURCE, WHOLE
from phalanx.model.task import Task
from phalanx.world.indexes import take_out


class Place(NamedTuple):
    """A shared device: the node, and the id of the group."""

    node: str
    group: str


class Reservations:
    """Knows who shares the devices of nodes, and who reserves them there."""

    def __init__(self) -> None:
        #: The shared devices, with the uids of those who share each.
        self.shared: dict[Place, dict[str, None]] = {}
        self._reserved: dict[Place, dict[str, None]] = {}
        #: How often somebody came to share a device, or left it.
        self.changes = 0
        #: Devices that have become shared, or are not any more.
        self._changed: dict[Place, None] = {}

    def sized(self, task: Task) -> Task:
        """Return a pod that reserves devices with those that nobody shares; any other as it is."""
        if not _reserves(task):
            return task
        amounts = dict(task.shape.requests)
        amounts.pop(RESOURCE, None)
        alone = sum(place not in self.shared for place in _places(task))
        if alone:
            amounts[RESOURCE] = WHOLE * alone
        return replace(task, shape=replace(task.shape, requests=tuple(sorted(amounts.items()))))

    def put(self, task: Task) -> None:
        """Note a task."""
        index = self._index(task)
        if index is not None:
            self.changes += 1
            for place in _places(task):
                if index is self.shared and place not in index:
                    self._changed[place] = None
                index.setdefault(place, {})[task.uid] = None

    def take(self, task: Task) -> None:
        """Forget a task as it was put."""
        index = self._index(task)
        if index is not None:
            self.changes += 1
            for place in _places(task):
                take_out(index, place, task.uid)
                if index is self.shared and place not in index:
                    self._changed[place] = None

    def outdated(self, tasks: Mapping[str, Task]) -> list[Task]:
        """Return, once, the pods that reserve devices and may count otherwise now."""
        changed, self._changed = self._changed, {}
        return [tasks[uid] for place in changed for uid in self._reserved.get(place, ())]

    def _index(self, task: Task) -> dict[Place, dict[str, None]] | None:
        if not (task.groups and task.charged):
            return None
        if task.shape.part is not None:
            # What a program on the node gives out needs nobody to keep it.
            return None if task.shape.part.side else self.shared
        return self._reserved if _reserves(task) else None


def _reserves(task: Task) -> bool:
    return bool(task.groups) and task.part is None and not task.ours


def _places(task: Task) -> list[Place]:
    return [Place(task.node or "", group) for group in task.groups]
