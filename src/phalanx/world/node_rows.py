"""Node rows: the node table of a snapshot, of which only dirty rows are written again."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from phalanx.model.axis import SUM_MAX, Axis, Bool, Int
from phalanx.model.image import Image
from phalanx.model.node import Node, Taint
from phalanx.model.snapshot import NodeTable
from phalanx.model.task import Shape, State
from phalanx.model.topology import Domains
from phalanx.world.device_rows import DeviceRows
from phalanx.world.island_rows import IslandRows
from phalanx.world.occupancy import Counts, Occupancies
from phalanx.world.shared_rows import SharedRows

if TYPE_CHECKING:
    from phalanx.world.world import World

#: What a node may have several of, and what can be sorted.
T = TypeVar("T", Taint, str)


class _Row(NamedTuple):
    """One node's part of the table."""

    allocatable: Int
    free: Int
    leaving: Int
    promised: Int
    scored: Int


class NodeRows:
    """Keeps the last table, and which of its rows no longer hold."""

    def __init__(self) -> None:
        self._dirty: set[str] = set()
        self._axis = Axis.of(())
        self._table: NodeTable | None = None
        self.occupancy = Occupancies()
        self.devices = DeviceRows()
        self.shared = SharedRows()
        self.islands = IslandRows()

    def touch(self, name: str) -> None:
        """Mark a node: it, or a task on it, changed."""
        self._dirty.add(name)
        self.shared.touch(name)
        self.islands.touch(name)

    @property
    def dirty(self) -> bool:
        """Tell whether some row no longer holds."""
        return bool(self._dirty)

    def table(self, world: "World") -> tuple[NodeTable, Axis]:
        """Return the table for the world as it is now."""
        axis = Axis.of(world.resources)
        old = self._table
        for name in world.said.domains.refresh(world.nodes, self._dirty):
            self.touch(name)
        same_levels = old is not None and old.tiers == world.said.domains.tiers
        if old is not None and not self._dirty and axis == self._axis and same_levels:
            return old, axis
        known = (
            old is not None and axis == self._axis and all((n in old.row) == (n in world.nodes) for n in self._dirty)
        )
        if old is None or not known:
            names = tuple(sorted(world.nodes))
            old = _blank(names, axis)
            # Those that are gone stay among the dirty ones: their devices go too.
            self._dirty.update(names)
            self.occupancy.forget_all_but(names)
        table = self._rewrite(world, old, axis, sorted(name for name in self._dirty if name in old.row))
        self._table, self._axis = table, axis
        self._dirty = set()
        return table, axis

    def _rewrite(self, world: "World", old: NodeTable, axis: Axis, dirty: list[str]) -> NodeTable:
        """Copy the table and write the dirty rows. The old table stays as it was: plans refer to it."""
        columns = {
            name: getattr(old, name).copy(order="F")
            for name in ("allocatable", "free", "leaving", "promised", "scored", "ready", "cordoned")
        }
        labels = list(old.labels)
        images = _images(world, old, dirty)
        tiers = world.said.domains.tiers
        relabelled = tiers != old.tiers
        # A loop over the nodes that changed since the last cycle, not over all.
        for name in dirty:
            row, node = old.row[name], world.nodes[name]
            counts = _counts(world, name)
            self.occupancy.put(name, counts)
            values = _row(world, axis, name, counts)
            for column in ("allocatable", "free", "leaving", "promised", "scored"):
                columns[column][row] = getattr(values, column)
            columns["ready"][row], columns["cordoned"][row] = node.ready, node.cordoned
            said = world.said.domains.labels(node)
            if labels[row] != said:
                labels[row], relabelled = said, True
        taint_sets, taint_set = _sets(world, old, dirty, old.taint_sets, old.taint_set, lambda node: node.taints)
        features = _sets(world, old, dirty, old.feature_sets, old.feature_set, lambda node: node.features)
        for array in columns.values():
            array.flags.writeable = False
        kept: dict[str, Domains] = {} if relabelled else old._domains  # noqa: SLF001 (its own cache, handed on)
        return NodeTable(
            names=old.names, row=old.row, taint_set=taint_set, taint_sets=taint_sets,
            labels=tuple(labels) if relabelled else old.labels, feature_sets=features[0], feature_set=features[1],
            devices=self.devices.table(old.names, world.nodes, self._dirty), _domains=kept, images=images,
            _holders=old._holders if images is old.images else [],  # noqa: SLF001 (as above)
            tiers=tiers, _trees={} if relabelled else old._trees, **columns,  # noqa: SLF001 (as above)
        )  # fmt: skip


def _blank(names: tuple[str, ...], axis: Axis) -> NodeTable:
    """Return a table of these nodes that knows nothing of them yet."""
    wide = np.zeros((len(names), len(axis)), np.int64, order="F")
    no: Bool = np.zeros(len(names), np.bool_)
    return NodeTable(
        names=names, row={name: row for row, name in enumerate(names)}, allocatable=wide, free=wide, leaving=wide,
        promised=wide, scored=np.zeros((len(names), 2), np.int64, order="F"), ready=no, cordoned=no,
        taint_set=np.zeros(len(names), np.int64), taint_sets=((),), labels=tuple({} for _ in names),
        feature_set=np.zeros(len(names), np.int64), feature_sets=((),),
    )  # fmt: skip


def _counts(world: "World", name: str) -> dict[Shape, Counts]:
    """Count what is on a node, by shape."""
    found: dict[Shape, Counts] = {}
    for uid in world.on_node.get(name, {}):
        task = world.tasks[uid]
        counts = found.setdefault(world.shape_of(task), Counts())
        # A pod that should have been gone long ago stays, as far as anybody knows.
        if task.state is State.RELEASING and not task.stuck:
            counts.leaving += 1
        else:
            counts.here += 1
    for uid in world.nominated.get(name, {}):
        task = world.tasks[uid]
        counts = found.setdefault(world.shape_of(task), Counts())
        if task.ours:
            counts.promised += 1
        else:
            counts.foreign += 1
    for task in world.moves.on(name):
        found.setdefault(world.shape_of(task), Counts()).promised += 1
    return found


def _row(world: "World", axis: Axis, name: str, found: dict[Shape, Counts]) -> _Row:
    """Add up one node from what is on it."""
    allocatable = axis.vector(world.nodes[name].allocatable)
    used, leaving, promised = (np.zeros(len(axis), np.int64) for _ in range(3))
    scored = [0, 0]
    for shape, counts in found.items():
        for resource, amount in shape.requests:
            column, there = axis.index[resource], counts.here + counts.leaving
            used[column] = min(int(used[column]) + there * amount, SUM_MAX)
            leaving[column] = min(int(leaving[column]) + counts.leaving * amount, SUM_MAX)
            promised[column] = min(int(promised[column]) + counts.promised * amount, SUM_MAX)
        there = counts.here + counts.leaving
        scored = [min(have + there * more, SUM_MAX) for have, more in zip(scored, shape.scored, strict=True)]
    return _Row(allocatable, allocatable - used, leaving, promised, np.array(scored, np.int64))


def _images(world: "World", old: NodeTable, dirty: list[str]) -> tuple[tuple[Image, ...], ...]:
    """Return what each node has, or nothing where nobody looks at it; the same value if nothing changed."""
    if not world.said.images:
        return ()
    if old.images and all(old.images[old.row[name]] == world.nodes[name].images for name in dirty):
        return old.images
    return tuple(world.nodes[name].images for name in old.names)


def _sets(
    world: "World", old: NodeTable, dirty: list[str], sets: tuple[tuple[T, ...], ...], codes: Int,
    of: Callable[[Node], tuple[T, ...]],
) -> tuple[tuple[tuple[T, ...], ...], Int]:  # fmt: skip
    """Return the distinct sets that nodes have, sorted, and each node's number; the old ones if none changed."""
    if all(sets[codes[old.row[name]]] == of(world.nodes[name]) for name in dirty):
        return sets, codes
    of_node = [of(world.nodes[name]) for name in old.names]
    sets = tuple(sorted(set(of_node)))
    number = {found: position for position, found in enumerate(sets)}
    codes = np.fromiter((number[found] for found in of_node), np.int64, len(of_node))
    codes.flags.writeable = False
    return sets, codes
