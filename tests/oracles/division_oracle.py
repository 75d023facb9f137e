"""The division of a cluster among queues, as the rules are written: one resource, one parent, one queue at a time.

The array kernels must equal it exactly, and are measured against it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from phalanx.model.axis import SUM_MAX
from phalanx.model.queue import UNLIMITED
from phalanx.model.queue_table import QueueTable

WEIGHTS_MAX = 2**31
FINE = 2**20


@dataclass(slots=True, eq=False)
class Node:
    """One queue, in one resource."""

    row: int
    quota: int
    limit: int
    weight: int
    priority: int
    age: int
    usage: float
    asked: int
    children: list["Node"]
    share: int = 0
    #: What it lost when its part was cut to whole grains; None: division did not limit it.
    rest: Fraction | None = None

    @property
    def requestable(self) -> int:
        """What it could use."""
        return min(self.limit, self.asked)

    @property
    def missing(self) -> int:
        """What it could use more."""
        return self.requestable - self.share

    def guarantee(self, total: int) -> int:
        """What it gets whatever the others want."""
        return min(total if self.quota == UNLIMITED else self.quota, self.requestable)


def tree(table: QueueTable, column: int) -> list[Node]:
    """Return the top level of the tree in one resource, with what parents ask for."""
    nodes = [
        Node(
            row, int(table.quota[row, column]), int(table.limit[row, column]), int(table.weight[row, column]),
            int(table.priority[row]), int(table.age[row]), float(table.usage[row, column]),
            int(table.requested[row, column]), [],
        )
        for row in range(len(table))
    ]  # fmt: skip
    for node in reversed(nodes):
        if node.children:
            node.asked = min(sum(child.requestable for child in node.children), SUM_MAX)
        parent = int(table.parent[node.row])
        if parent >= 0:
            nodes[parent].children.append(node)
    return [node for node in nodes if table.parent[node.row] < 0]


def quota_then_weight(table: QueueTable, k: float = 0.0) -> list[list[Node]]:
    """Divide and return the nodes by queue and resource; k 0: without a memory."""
    return _divided(table, lambda level, total, grain: _guarantee_then_surplus(level, total, grain, k))


def weighted(table: QueueTable) -> list[list[Node]]:
    """Divide as `weighted` does, and return the nodes by queue and resource."""
    return _divided(table, _level_with_floors)


def shares(nodes: list[list[Node]]) -> list[list[int]]:
    """Return what each queue got of each resource."""
    return [[node.share for node in row] for row in nodes]


def _divided(table: QueueTable, divide: Callable[[list[Node], int, int], None]) -> list[list[Node]]:
    found: list[list[Node]] = [[] for _ in range(len(table))]

    def descend(level: list[Node], total: int, grain: int) -> None:
        divide(level, total, grain)
        for node in level:
            found[node.row].append(node)
            if node.children:
                descend(node.children, node.share, grain)

    for column in range(len(table.resources)):
        descend(tree(table, column), max(int(table.total[column]), 0), int(table.grain[column]))
    return found


def _guarantee_then_surplus(level: list[Node], total: int, grain: int, k: float) -> None:
    for node in level:
        node.share = node.guarantee(total)
    left = total - sum(node.share for node in level)
    for priority in sorted({node.priority for node in level}, reverse=True):
        band = [node for node in level if node.priority == priority]
        weights = _whole_weights(band)
        waiting = [node for node in band if weights[node.row] > 0 and node.missing > 0]
        while waiting and left > 0:
            now = _remembering(waiting, weights, k) if k else weights
            served = [node for node in waiting if now[node.row] > 0]
            left = _pour(served, now, left, grain)
            waiting = [node for node in waiting if now[node.row] == 0]


def _pour(served: list[Node], weights: dict[int, int], left: int, grain: int) -> int:
    """Divide by weight; whoever asks for less than its part gets all of it, and the others divide the rest anew."""
    while served:
        total = sum(weights[node.row] for node in served)
        enough = [node for node in served if node.missing * total <= left * weights[node.row]]
        if not enough:
            parts = {node.row: Fraction(left * weights[node.row], total) for node in served}
            for node in served:
                cut = _cut(parts[node.row], grain)
                node.rest = parts[node.row] - cut
                node.share += cut
                left -= cut
            return _one_grain_each(served, left, grain)
        for node in enough:
            left -= node.missing
            node.share = node.requestable
        served = [node for node in served if node.missing > 0]
    return left


def _one_grain_each(served: list[Node], left: int, grain: int) -> int:
    """Hand out what is left over: the largest remainder first, then the oldest."""
    for node in sorted(served, key=lambda node: (-(node.rest or 0), node.age)):
        more = min(grain, left, node.missing)
        node.share += more
        left -= more
    return left


def _whole_weights(siblings: list[Node]) -> dict[int, int]:
    weights = {node.row: node.weight for node in siblings}
    while sum(weights.values()) > WEIGHTS_MAX:
        weights = {row: weight // 2 if weight > 1 else weight for row, weight in weights.items()}
    return weights


def _remembering(waiting: list[Node], weights: dict[int, int], k: float) -> dict[int, int]:
    total = sum(weights[node.row] for node in waiting)
    found = {}
    for node in waiting:
        part = weights[node.row] / total
        pulled = max(part + k * (part - node.usage), 0.0)
        found[node.row] = max(round(pulled * FINE), 1) if pulled > 0 else 0
    return found if any(found.values()) else weights


def _cut(part: Fraction, grain: int) -> int:
    return int(part // grain) * grain


def _level_with_floors(siblings: list[Node], total: int, grain: int) -> None:
    """Find the one level at which everybody stands between its floor and what it asks for, and the total is used up."""
    for node in siblings:
        node.share = node.guarantee(total)
    weights = _whole_weights(siblings)
    rising = [node for node in siblings if weights[node.row] > 0 and node.missing > 0]
    amount = total - sum(node.share for node in siblings if node not in rising)
    if sum(node.share for node in rising) >= amount:
        return
    if sum(node.requestable for node in rising) <= amount:
        for node in rising:
            node.share = node.requestable
        return

    def used(level: Fraction) -> Fraction:
        every_height = Fraction(0)
        for node in rising:
            every_height += min(max(level * weights[node.row], Fraction(node.share)), Fraction(node.requestable))
        return every_height

    bends = {Fraction(height, weights[node.row]) for node in rising for height in (node.share, node.requestable)}
    below = max(bend for bend in bends if used(bend) <= amount)
    above = min(bend for bend in bends if used(bend) > amount)
    level = below + (amount - used(below)) * (above - below) / (used(above) - used(below))
    heights = {node.row: level * weights[node.row] for node in rising}
    free = [node for node in rising if node.share <= heights[node.row] < node.requestable]
    left = amount
    for node in rising:
        if heights[node.row] >= node.requestable:
            node.share = node.requestable
        elif node in free:
            node.share = max(node.share, _cut(heights[node.row], grain))
            node.rest = heights[node.row] - node.share
        left -= node.share
    _one_grain_each(free, left, grain)
