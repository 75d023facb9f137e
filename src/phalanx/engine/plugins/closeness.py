"""Closeness: gangs that wish nothing are kept in few domains of the topology tree, where packing leaves the choice."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from phalanx.engine.kernels.tree_capacity import fewest, parts_needed
from phalanx.engine.plugin import Plugin
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Float, Int
from phalanx.model.tree import Level, Tree


@dataclass(frozen=True, slots=True)
class Closeness(Plugin):
    """Score nodes by the domains that a gang would be in if only closeness counted: 1 to ½ there, 0 elsewhere.

    The lowest level of which one domain holds all, and in it as few racks as can be. With a weight far below that of
    packing it decides between nodes that are equally full. A gang with a wish of its own is placed by its wish.
    """

    #: Labels of nodes, from the top; none: region, zone, block, rack, island by their usual labels.
    levels: list[str] = field(default_factory=list[str])
    name: ClassVar[str] = "closeness"

    def score(self, session: Session, request: Request, nodes: Int, copies: Int) -> Float | None:
        """Return nothing for single pods, and where all nodes are in one domain or none."""
        del copies
        # Equal pods in no gang are placed at once too, and need not be close.
        together = request.gang >= 0 and session.snapshot.gangs.minimum[request.gang] > 1
        if request.count < 2 or request.within is not None or not together:
            return None
        tree = self._tree(session)
        if tree.lowest == 0 or tree.size(tree.lowest - 1) < 2:
            return None
        key = ("closeness", request.shape, request.count, session.view(request))
        return session.once(key, lambda: _scores(session, request, tree))[nodes]

    def _tree(self, session: Session) -> Tree:
        levels = tuple(Level(key, key.rpartition("/")[2]) for key in self.levels)
        return session.snapshot.nodes.tree(levels or None)


def _scores(session: Session, request: Request, tree: Tree) -> Float:
    """Return the score of every node."""
    nodes, room = request.candidates, np.minimum(request.room, request.count)
    lowest, found = tree.lowest - 1, np.zeros(len(session.snapshot.nodes))
    # A loop over levels, which are few, from the lowest.
    for level in range(lowest, -1, -1):
        chosen = _holding(tree, level, nodes, room, request.count)
        if chosen is not None:
            inside = tree.of_node[level][nodes] == chosen
            nodes, room = nodes[inside], room[inside]
            break
    capacity = _summed(tree, lowest, nodes, room)
    if capacity.sum() >= request.count:
        use = fewest(capacity, request.count, np.zeros(len(capacity), np.int64))
        racks = np.append(use.whole, use.last)
        # Nodes in no domain have the last entry.
        scores = np.zeros(len(capacity) + 1)
        scores[racks] = 1.0 - np.arange(len(racks)) / (2 * len(racks))
        found[nodes] = scores[tree.of_node[lowest][nodes]]
    return found


def _holding(tree: Tree, level: int, nodes: Int, room: Int, count: int) -> int | None:
    """Return the domain of a level that holds all in the fewest racks, the tightest of these; None: none holds all."""
    capacity = _summed(tree, level, nodes, room)
    rows = np.flatnonzero(capacity >= count)
    if not len(rows):
        return None
    needed = np.ones(len(capacity), np.int64)
    lowest = tree.lowest - 1
    if level < lowest:
        of, above = tree.of_node[lowest], tree.of_node[level]
        parent = np.full(tree.size(lowest), -1)
        parent[of[of >= 0]] = above[of >= 0]
        needed = parts_needed(parent, _summed(tree, lowest, nodes, room), count, len(capacity))
    return int(rows[np.lexsort([rows, capacity[rows], needed[rows]])[0]])


def _summed(tree: Tree, level: int, nodes: Int, room: Int) -> Int:
    """Return [domain]: the room of these nodes."""
    of = tree.of_node[level][nodes]
    known = of >= 0
    return np.bincount(of[known], room[known], tree.size(level)).astype(np.int64)
