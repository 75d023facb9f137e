"""Device rows: the devices of all nodes as columns, written anew only when those of some node changed."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from phalanx.model.axis import Int
from phalanx.model.device import DEVICE_RESOURCES, NO_DEVICES, Device, DeviceTable, devices_of
from phalanx.model.node import Node

#: Columns of one node's piece, in the order of its arrays.
_COLUMNS = ("resource", "model", "index", "memory", "numa", "group", "replicas", "seats", "side", "usable")


class DeviceRows:
    """Keeps the devices of the nodes that have some, and the last table."""

    def __init__(self) -> None:
        #: By node. A node without devices is not there, and costs nothing.
        self._of: dict[str, tuple[Device, ...]] = {}
        #: As they were when their devices were looked at: mostly it is a task on the node that changed.
        self._seen: dict[str, Node] = {}
        self._resources = DEVICE_RESOURCES
        self._table: DeviceTable | None = None
        self._names: tuple[str, ...] = ()

    def read(self, resources: tuple[str, ...]) -> bool:
        """Say which resources are devices; return whether that is something else than before."""
        changed, self._resources = resources != self._resources, resources
        if changed:
            self._seen.clear()
        return changed

    def table(self, names: tuple[str, ...], nodes: Mapping[str, Node], dirty: Iterable[str]) -> DeviceTable:
        """Return the table for these rows of nodes, of which the dirty ones may have changed."""
        for name in dirty:
            node = nodes.get(name)
            if node is self._seen.get(name):
                continue
            if node is None:
                del self._seen[name]
            else:
                self._seen[name] = node
            now = () if node is None else devices_of(node.devices, node.allocatable, self._resources)
            if now != self._of.get(name, ()):
                self._table = None
                if now:
                    self._of[name] = now
                else:
                    del self._of[name]
        if self._table is None or names is not self._names:
            self._table, self._names = _table(names, self._of), names
        return self._table


def _table(names: tuple[str, ...], of_node: Mapping[str, tuple[Device, ...]]) -> DeviceTable:
    """Put the devices of all nodes together. Nodes of one kind share a piece: most clusters have few kinds."""
    lists = [of_node.get(name, ()) for name in names]
    if not any(lists):
        return NO_DEVICES
    # Nodes of one kind have the same tuple, and it is not compared device by device.
    kinds = {id(listed): listed for listed in lists}
    every = {one for listed in kinds.values() for one in listed}
    resources = {name: code for code, name in enumerate(sorted({one.resource for one in every}))}
    models = {name: code for code, name in enumerate(sorted({one.model for one in every}))}
    sides = {name: code for code, name in enumerate(sorted({one.side for one in every}))}
    pieces = {kind: _piece(listed, resources, models, sides) for kind, listed in kinds.items()}
    whole = np.concatenate([pieces[id(listed)] for listed in lists])
    counts = np.fromiter((len(listed) for listed in lists), np.int64, len(lists))
    columns: dict[str, Any] = {name: np.ascontiguousarray(whole[:, at]) for at, name in enumerate(_COLUMNS)}
    first = np.concatenate([[0], np.cumsum(counts)])
    node = np.repeat(np.arange(len(lists)), counts)
    usable = columns.pop("usable").astype(np.bool_)
    for array in (first, node, usable, *columns.values()):
        array.flags.writeable = False
    return DeviceTable(
        first=first, node=node, usable=usable, ids=tuple(one.id for listed in lists for one in listed),
        resources=tuple(resources), models=tuple(models), sides=tuple(sides), **columns,
    )  # fmt: skip


def _piece(
    listed: tuple[Device, ...], resources: Mapping[str, int], models: Mapping[str, int], sides: Mapping[str, int]
) -> Int:
    rows = [
        (
            resources[one.resource], models[one.model], one.index, one.memory, one.numa, one.group, one.replicas,
            one.seats, sides[one.side], one.usable,
        )
        for one in listed
    ]  # fmt: skip
    return np.array(rows, np.int64).reshape(len(rows), len(_COLUMNS))
