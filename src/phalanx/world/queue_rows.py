"""Queue rows: the part of the queue table that only a change of the queues themselves changes, and sums up the tree."""

import numpy as np

from phalanx.model.axis import CPU, SUM_MAX, Axis, Bool, Int, unit
from phalanx.model.queue import UNLIMITED, WEIGHT_ONE
from phalanx.model.queue_table import QueueTable
from phalanx.world.queue_tree import Tree

#: Amounts are summed in two halves of so many bits: the sum of each half is exact, and the whole never wraps.
_HALF = 31
_LOW = 2**_HALF - 1


def blank(tree: Tree) -> QueueTable:
    """Return the table of a tree in which nothing runs or waits, on an axis of the listed resources alone."""
    listing = {name for queue in tree.queues for name in queue.terms}
    resources = tuple(name for name in Axis.of(listing).names if name in listing)
    parent = np.array([tree.parent(row) for row in range(len(tree.queues))], np.int64)
    depth = np.array(tree.depth, np.int64)
    leaf = np.ones(len(parent), np.bool_)
    leaf[list(tree.children)] = False
    quota, limit, weight, listed = _terms(tree, resources)
    quota = sum_up(quota, parent, depth, ~listed & ~leaf[:, None])
    nothing = np.zeros(quota.shape, np.int64)
    return QueueTable(
        queues=tree.queues, row=tree.row, parent=parent, depth=depth, leaf=leaf, resources=resources,
        columns=np.arange(len(resources)), grain=np.array([_grain(name) for name in resources], np.int64),
        total=np.zeros(len(resources), np.int64), quota=quota, limit=limit, weight=weight, listed=listed,
        priority=np.array([queue.priority for queue in tree.queues], np.int64), age=_age(tree),
        allocated=nothing, fixed=nothing, requested=nothing, usage=np.zeros(quota.shape),
        placement=tuple(queue.placement for queue in tree.queues), paths=_paths(parent, leaf),
    )  # fmt: skip


def sum_up(values: Int, parent: Int, depth: Int, filled: Bool) -> Int:
    """Return the values with each row in `filled` replaced by the sum of its children, from the leaves up."""
    summed = values.copy()
    levels = int(depth[-1]) + 1 if len(depth) else 0
    edges = np.searchsorted(depth, np.arange(levels + 1))
    for level in range(levels - 1, 0, -1):
        above, rows = slice(edges[level - 1], edges[level]), slice(edges[level], edges[level + 1])
        sums = group_sums(parent[rows] - edges[level - 1], summed[rows], int(edges[level] - edges[level - 1]))
        summed[above] = np.where(filled[above], sums, summed[above])
    return summed


def group_sums(group: Int, values: Int, count: int) -> Int:
    """Return [group, column]: the saturating sums of the rows of each group. No value may be negative."""
    sums = np.empty((count, values.shape[1]), np.int64)
    for column in range(values.shape[1]):
        own = values[:, column]
        # bincount adds floats: exact up to 2^53, which is four million halves.
        low = np.bincount(group, own & _LOW, count).astype(np.int64)
        high = np.bincount(group, own >> _HALF, count).astype(np.int64) + (low >> _HALF)
        sums[:, column] = np.where(high >= SUM_MAX >> _HALF, SUM_MAX, (high << _HALF) + (low & _LOW))
    return sums


def reserves(tree: Tree, resources: tuple[str, ...]) -> Int | None:
    """Return what each queue has reserved, whether or not it uses it; None: nobody has."""
    reserved = np.zeros((len(tree.queues), len(resources)), np.int64)
    column = {name: position for position, name in enumerate(resources)}
    for row, queue in enumerate(tree.queues):
        for name, terms in queue.terms.items():
            reserved[row, column[name]] = terms.reserved
    return reserved if reserved.any() else None


def within_reserves(table: QueueTable, limit: Int, reserved: Int, total: Int) -> Int:
    """Return the limits, from the top down, without what siblings have reserved of what their parent may have."""
    real = limit.copy()
    for depth in range(table.levels):
        rows = np.arange(table.level(depth).start, table.level(depth).stop)
        parent = table.parent[rows]
        sums = group_sums(parent - parent.min(), reserved[rows], int(parent.max() - parent.min()) + 1)
        others = sums[parent - parent.min()] - reserved[rows]
        above = np.minimum(real[parent], total) if depth else total
        real[rows] = np.where(others > 0, np.minimum(limit[rows], np.maximum(above - others, 0)), limit[rows])
    return real


def total_of(values: Int) -> Int:
    """Return [column]: the saturating sums over all rows. No value may be negative."""
    low, high = (values & _LOW).sum(axis=0), (values >> _HALF).sum(axis=0)
    high += low >> _HALF
    return np.where(high >= SUM_MAX >> _HALF, SUM_MAX, (high << _HALF) + (low & _LOW))


def _terms(tree: Tree, resources: tuple[str, ...]) -> tuple[Int, Int, Int, Bool]:
    """Return quota, limit and weight as each queue says them, and where it does."""
    shape = (len(tree.queues), len(resources))
    quota, limit, weight = np.zeros(shape, np.int64), np.full(shape, UNLIMITED), np.full(shape, WEIGHT_ONE)
    listed = np.zeros(shape, np.bool_)
    column = {name: position for position, name in enumerate(resources)}
    for row, queue in enumerate(tree.queues):
        for name, terms in queue.terms.items():
            at = row, column[name]
            most = terms.limit if queue.borrowing else min(terms.limit, terms.quota)
            quota[at], limit[at], weight[at], listed[at] = terms.quota, most, terms.weight, True
    return quota, limit, weight, listed


def _grain(resource: str) -> int:
    """A milli-core helps; half a GPU helps nobody."""
    return 1 if resource == CPU else unit(resource)


def _age(tree: Tree) -> Int:
    """Rank the queues by (creation, uid, name)."""
    told = [(queue.created, queue.uid, queue.name) for queue in tree.queues]
    age = np.empty(len(told), np.int64)
    age[sorted(range(len(told)), key=told.__getitem__)] = np.arange(len(told))
    return age


def _paths(parent: Int, leaf: Bool) -> dict[int, Int]:
    """Return each leaf's row with those of its ancestors, the leaf first."""
    above = parent.tolist()
    paths = {}
    for row in np.flatnonzero(leaf).tolist():
        path, at = [], row
        while at >= 0:
            path.append(at)
            at = above[at]
        paths[row] = np.array(path, np.int64)
    return paths
