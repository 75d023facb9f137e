"""Node rows: the node table of a snapshot, of which only dirty rows are written again."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from phalanx.model.axis import SUM_MAX, Axis, Bool, Int, add_up
from phalanx.model.node import Taint
from phalanx.model.selectors import HostPort
from phalanx.model.snapshot import DeviceTable, NodeTable
from phalanx.model.task import State
from phalanx.model.topology import Domains

if TYPE_CHECKING:
    from phalanx.world.world import World


class _Row(NamedTuple):
    """One node's part of the table."""

    allocatable: Int
    free: Int
    releasing: Int
    held: Int
    scored: Int
    ports: frozenset[HostPort]


class NodeRows:
    """Keeps the last table, and which of its rows no longer hold."""

    def __init__(self) -> None:
        self._dirty: set[str] = set()
        self._axis = Axis.of(())
        self._table: NodeTable | None = None
        self._devices: DeviceTable | None = None

    def touch(self, name: str) -> None:
        """Mark a node: it, or a task on it, changed."""
        self._dirty.add(name)

    @property
    def dirty(self) -> bool:
        """Tell whether some row no longer holds."""
        return bool(self._dirty)

    def table(self, world: "World") -> tuple[NodeTable, DeviceTable, Axis]:
        """Return the tables for the world as it is now."""
        axis = Axis.of(world.resources)
        old = self._table
        if old is not None and self._devices is not None and not self._dirty and axis == self._axis:
            return old, self._devices, axis
        known = (
            old is not None and axis == self._axis and all((n in old.row) == (n in world.nodes) for n in self._dirty)
        )
        if old is None or not known:
            names = tuple(sorted(world.nodes))
            old = _blank(names, axis)
            self._dirty = set(names)
        table = self._rewrite(world, old, axis, sorted(name for name in self._dirty if name in old.row))
        self._table, self._axis, self._devices = table, axis, _devices(world, table)
        self._dirty = set()
        return table, self._devices, axis

    def _rewrite(self, world: "World", old: NodeTable, axis: Axis, dirty: list[str]) -> NodeTable:
        """Copy the table and write the dirty rows. The old table stays as it was: plans refer to it."""
        columns = {
            name: getattr(old, name).copy(order="F")
            for name in ("allocatable", "free", "releasing", "held", "scored", "ready", "cordoned")
        }
        ports = dict(old.ports)
        labels = list(old.labels)
        relabelled = False
        # A loop over the nodes that changed since the last cycle, not over all.
        for name in dirty:
            row, node = old.row[name], world.nodes[name]
            values = _row(world, axis, name)
            for column in ("allocatable", "free", "releasing", "held", "scored"):
                columns[column][row] = getattr(values, column)
            columns["ready"][row], columns["cordoned"][row] = node.ready, node.cordoned
            ports.pop(row, None)
            if values.ports:
                ports[row] = values.ports
            if labels[row] != node.labels:
                labels[row], relabelled = node.labels, True
        taint_sets, taint_set = _taint_sets(world, old, dirty)
        for array in columns.values():
            array.flags.writeable = False
        kept: dict[str, Domains] = {} if relabelled else old._domains  # noqa: SLF001 (its own cache, handed on)
        return NodeTable(
            names=old.names, row=old.row, taint_set=taint_set, taint_sets=taint_sets,
            labels=tuple(labels) if relabelled else old.labels, ports=ports, _domains=kept, **columns,
        )  # fmt: skip


def _blank(names: tuple[str, ...], axis: Axis) -> NodeTable:
    """Return a table of these nodes that knows nothing of them yet."""
    wide = np.zeros((len(names), len(axis)), np.int64, order="F")
    no: Bool = np.zeros(len(names), np.bool_)
    return NodeTable(
        names=names, row={name: row for row, name in enumerate(names)}, allocatable=wide, free=wide, releasing=wide,
        held=wide, scored=np.zeros((len(names), 2), np.int64, order="F"), ready=no, cordoned=no,
        taint_set=np.zeros(len(names), np.int64), taint_sets=((),), labels=tuple({} for _ in names), ports={},
    )  # fmt: skip


def _row(world: "World", axis: Axis, name: str) -> _Row:
    """Add up one node from the tasks that are on it."""
    used: dict[str, int] = {}
    releasing: dict[str, int] = {}
    held: dict[str, int] = {}
    scored = [0, 0]
    ports: set[HostPort] = set()
    for uid in world.on_node.get(name, {}):
        task = world.tasks[uid]
        amounts = dict(task.shape.requests)
        add_up(used, amounts)
        if task.state is State.RELEASING and not task.stuck:
            add_up(releasing, amounts)
        scored = [min(have + more, SUM_MAX) for have, more in zip(scored, task.shape.scored, strict=True)]
        ports.update(task.shape.host_ports)
    for task in (*(world.tasks[uid] for uid in world.nominated.get(name, {})), *world.moves.on(name)):
        add_up(held, dict(task.shape.requests))
    allocatable = axis.vector(world.nodes[name].allocatable)
    return _Row(
        allocatable, allocatable - axis.vector(used), axis.vector(releasing), axis.vector(held),
        np.array(scored, np.int64), frozenset(ports),
    )  # fmt: skip


def _taint_sets(world: "World", old: NodeTable, dirty: list[str]) -> tuple[tuple[tuple[Taint, ...], ...], Int]:
    """Return the distinct sets of taints, sorted, and each node's number; the old ones if none changed."""
    if all(old.taint_sets[old.taint_set[old.row[name]]] == world.nodes[name].taints for name in dirty):
        return old.taint_sets, old.taint_set
    of_node = [world.nodes[name].taints for name in old.names]
    sets = tuple(sorted(set(of_node)))
    number = {taints: position for position, taints in enumerate(sets)}
    codes = np.fromiter((number[taints] for taints in of_node), np.int64, len(of_node))
    codes.flags.writeable = False
    return sets, codes


def _devices(world: "World", table: NodeTable) -> DeviceTable:
    """List every device that is placed by identity."""
    found = [
        (device.name, device.resource, row, device.size)
        for row, name in enumerate(table.names)
        for device in sorted(world.nodes[name].devices, key=lambda device: (device.resource, device.name))
    ]
    names, resources, rows, sizes = zip(*found, strict=True) if found else ((), (), (), ())
    return DeviceTable(tuple(names), tuple(resources), np.array(rows, np.int64), np.array(sizes, np.int64))
