"""Closeness: gangs that wish nothing are kept in few domains of the topology tree, where packing leaves the choice."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from phalanx.engine.kernels.tree_capacity import fewest, parts_needed, summed
from phalanx.engine.plugin import Plugin
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Bool, Float, Int
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
    room = _room(session, request)
    inside = room > 0
    # A loop over levels, which are few, from the lowest.
    for level in range(tree.lowest - 1, -1, -1):
        chosen = _holding(tree, level, room, request.count, inside)
        if chosen is not None:
            inside = inside & (tree.of_node[level] == chosen)
            break
    of, size = tree.of_node[tree.lowest - 1], tree.size(tree.lowest - 1)
    capacity = summed(of, size, room, inside)
    scores = np.zeros(size + 1)
    if capacity.sum() >= request.count:
        use = fewest(capacity, request.count, np.zeros(size, np.int64))
        racks = np.append(use.whole, use.last)
        scores[racks] = 1.0 - np.arange(len(racks)) / (2 * len(racks))
    # Nodes in no domain have the last entry.
    return np.where(inside, scores[of], 0.0)


def _holding(tree: Tree, level: int, room: Int, count: int, inside: Bool) -> int | None:
    """Return the domain of a level that holds all in the fewest racks, the tightest of these; None: none holds all."""
    capacity = summed(tree.of_node[level], tree.size(level), room, inside)
    rows = np.flatnonzero(capacity >= count)
    if not len(rows):
        return None
    needed = np.ones(tree.size(level), np.int64)
    lowest = tree.lowest - 1
    if level < lowest:
        of, above = tree.of_node[lowest], tree.of_node[level]
        parent = np.full(tree.size(lowest), -1)
        parent[of[of >= 0]] = above[of >= 0]
        needed = parts_needed(parent, summed(of, tree.size(lowest), room, inside), count, tree.size(level))
    return int(rows[np.lexsort([rows, capacity[rows], needed[rows]])[0]])


def _room(session: Session, request: Request) -> Int:
    """Return [node]: how many copies the amounts of each candidate allow, at most as many as are wanted."""
    ask = session.snapshot.requests[request.shape]
    room = np.zeros(len(session.snapshot.nodes), np.int64)
    rows = request.candidates
    least = np.full(len(rows), request.count)
    # A loop over the resources of one shape; the filter has asked for the same amounts.
    for resource in np.flatnonzero(ask).tolist():
        least = np.minimum(least, session.spare(request, resource)[rows] // ask[resource])
    room[rows] = np.maximum(least, 0)
    return room
