"""Lost devices: who sits on a device that is no longer healthy, and since when that is seen.

Only devices count that the node tells apart by ids, of pods that name theirs: who has which plain one nobody knows.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from phalanx.model.device import DeviceTable
from phalanx.model.node import Node
from phalanx.model.sharing import RESOURCE
from phalanx.model.task import State

if TYPE_CHECKING:
    from phalanx.world.world import World


class LostDevices:
    """Remembers since when, by uid of the task."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def see(self, world: "World", table: DeviceTable, names: tuple[str, ...], now: float) -> Mapping[str, float]:
        """Return who sits on a lost device, by uid, and since when."""
        away = sorted({names[row] for row in table.node[np.flatnonzero(~table.usable)].tolist()})
        found = {uid for name in away for uid in _on(world, world.nodes[name])}
        self._since = {uid: self._since.get(uid, now) for uid in sorted(found)}
        return dict(self._since)

    def next_look(self, now: float) -> float:
        """Return when to look again: soon at first, then less and less often, as at gangs that are broken."""
        since = max(self._since.values(), default=None)
        return np.inf if since is None else now + max((now - since) / 10, 1.0)


def _on(world: "World", node: Node) -> Iterator[str]:
    bad = [one for one in node.devices if one.resource == RESOURCE and one.id and not one.healthy]
    names = {name for one in bad for name in (one.id, str(one.index))}
    for uid in world.on_node.get(node.name, {}) if names else ():
        task = world.tasks[uid]
        if task.ours and task.state is State.RUNNING and not names.isdisjoint(task.groups):
            yield uid
