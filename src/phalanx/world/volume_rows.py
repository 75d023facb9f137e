"""Volume rows: what a decision knows of volumes beside the shapes. Nothing where nobody mounts any."""

import numpy as np

from phalanx.model.axis import Bool, Int
from phalanx.model.snapshot import NodeTable
from phalanx.model.volume import Provision, StorageClass, VolumeTable
from phalanx.world.storage import StorageObjects

#: Where a driver sets no limit.
NO_LIMIT = 2**31


class VolumeRows:
    """Keeps the last table, and what is attached to each node beside what its pods mount."""

    def __init__(self) -> None:
        self._strays: dict[str, dict[str, int]] = {}
        self._last: tuple[int, tuple[str, ...], VolumeTable] | None = None

    def table(
        self, objects: StorageObjects, nodes: NodeTable, on_node: dict[str, dict[str, None]]
    ) -> VolumeTable | None:
        """Return the table; None: no unfinished task mounts a claim or a disk.

        `on_node`: the tasks on each node, by uid.
        """
        if not objects.mounting:
            self._last = None
            return None
        if self._last is not None and self._last[0] == objects.version and self._last[1] is nodes.names:
            return self._last[2]
        for name in objects.dirty:
            self._count(objects, name, on_node.get(name, {}))
        objects.dirty.clear()
        limits, missing = self._of_nodes(objects, nodes)
        makers = sorted((one for one in objects.classes.values() if one.provisioner), key=lambda one: one.name)
        table = VolumeTable(
            provisions={one.name: _provision(objects, one) for one in makers},
            free=tuple(sorted((objects.volumes[name] for name in objects.free), key=lambda one: (one.size, one.name))),
            limits=limits,
            missing=missing,
        )  # fmt: skip
        self._last = (objects.version, nodes.names, table)
        return table

    def _count(self, objects: StorageObjects, node: str, there: dict[str, None]) -> None:
        """Count what is attached to a node, or is to be, that no pod there mounts."""
        found: dict[str, int] = {}
        for name in objects.on_node.get(node, {}):
            one = objects.attachments[name]
            volume = objects.volumes.get(one.volume)
            claim = volume.claim if volume is not None else ""
            if one.volume and not any(uid in there for uid in objects.users.get(claim, {})):
                found[one.driver] = found.get(one.driver, 0) + 1
        self._strays.pop(node, None)
        if found:
            self._strays[node] = found

    def _of_nodes(self, objects: StorageObjects, nodes: NodeTable) -> tuple[dict[str, Int], dict[str, Bool]]:
        """Return per driver with a limit what is left of it for pods, and per driver that pods need where it is not."""
        limits: dict[str, Int] = {}
        needed = sorted(one.name for one in objects.drivers.values() if one.needed)
        missing = {name: np.ones(len(nodes), np.bool_) for name in needed}
        # A loop over the nodes that say something of drivers, when something of volumes changed.
        for name, drivers in objects.node_drivers.items():
            row = nodes.row.get(name)
            if row is None:
                continue
            for driver, limit in drivers.limits:
                if driver in missing:
                    missing[driver][row] = False
                if limit is None:
                    continue
                if driver not in limits:
                    limits[driver] = np.full(len(nodes), NO_LIMIT, np.int64)
                limits[driver][row] = limit - self._strays.get(name, {}).get(driver, 0)
        return {name: limits[name] for name in sorted(limits)}, missing


def _provision(objects: StorageObjects, kind: StorageClass) -> Provision:
    driver = objects.drivers.get(kind.provisioner)
    if driver is None or not driver.capacity:
        return Provision(kind.place, None)
    mine = [one for one in objects.capacities.values() if one.storage_class == kind.name]
    told = [(one.nodes, one.largest) for one in mine if one.nodes is not None and one.largest is not None]
    return Provision(kind.place, tuple(sorted(told, key=repr)))
