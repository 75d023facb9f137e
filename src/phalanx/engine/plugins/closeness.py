"""Closeness: gangs that wish nothing are kept in few domains of the topology tree, where packing leaves the choice."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from phalanx.engine.kernels.tree_capacity import fewest, parts_needed
from phalanx.engine.plugin import Plugin
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Float, Int
from phalanx.model.tree import NONE, Level, Tree


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
        scores = session.once(key, lambda: _scores(request, tree))
        return scores.take(tree.of_node[tree.lowest - 1].take(nodes))

    def _tree(self, session: Session) -> Tree:
        levels = tuple(Level(key, key.rpartition("/")[2]) for key in self.levels)
        return session.snapshot.nodes.tree(levels or session.snapshot.levels)


def _scores(request: Request, tree: Tree) -> Float:
    """Return the score of each lowest domain, and of none as the last entry.

    Nodes are looked at once; all else is over the domains, of which there are few.
    """
    lowest, count = tree.lowest - 1, request.count
    size = tree.size(lowest)
    # Nodes that are in no domain are counted before the first one.
    of = tree.of_node[lowest].take(request.candidates) + 1
    capacity = np.bincount(of, np.minimum(request.room, count), size + 1)[1:].astype(np.int64)
    scores, above = np.zeros(size + 1), np.arange(size)
    rows = np.flatnonzero(capacity >= count)
    if len(rows):
        # The tightest of those that hold all.
        scores[rows[capacity[rows].argmin()]] = 1.0
        return scores
    # A loop over the levels above, from the lowest.
    for level in range(lowest - 1, -1, -1):
        above = np.append(tree.parents[level + 1], NONE)[above]
        chosen = _holding(above, tree.size(level), capacity, count)
        if chosen is not None:
            capacity = np.where(above == chosen, capacity, 0)
            break
    if capacity.sum() >= count:
        use = fewest(capacity, count, np.zeros(size, np.int64))
        racks = np.append(use.whole, use.last)
        scores[racks] = 1.0 - np.arange(len(racks)) / (2 * len(racks))
    return scores


def _holding(above: Int, size: int, capacity: Int, count: int) -> int | None:
    """Return the domain of a level that holds all in the fewest racks, the tightest of these; None: none holds all.

    `above`: the domain of the level that each rack is in.
    """
    holds = np.bincount(above + 1, capacity, size + 1)[1:].astype(np.int64)
    rows = np.flatnonzero(holds >= count)
    if not len(rows):
        return None
    needed = parts_needed(above, capacity, count, size)
    return int(rows[np.lexsort([rows, holds[rows], needed[rows]])[0]])
