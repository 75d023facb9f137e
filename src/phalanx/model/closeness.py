"""Closeness: how near the tasks of a gang are to each other in the topology tree."""

from dataclasses import dataclass

import numpy as np

from phalanx.model.axis import Int
from phalanx.model.tree import Tree


@dataclass(frozen=True, slots=True)
class Closeness:
    """Where tasks are, in numbers."""

    tasks: int
    nodes: int
    #: The lowest level above the nodes, and in how many domains of it they are; the nodes where there is no level.
    level: str
    domains: int
    #: Mean over all pairs of tasks of the levels that one must climb until both are in one domain: 0 on one node.
    distance: float


def closeness(tree: Tree, nodes: Int) -> Closeness:
    """Return how near tasks on these nodes are, one entry per task."""
    pairs = len(nodes) * (len(nodes) - 1) / 2
    lowest = max(tree.lowest - 1, 0)
    apart = 0.0
    # A loop over levels, which are few.
    for level in range(len(tree.levels)):
        of = _domains(tree, level, nodes)
        counts = np.unique(of, return_counts=True)[1].astype(np.float64)
        apart += pairs - float((counts * (counts - 1) / 2).sum())
    return Closeness(
        len(nodes), len(np.unique(nodes)), tree.levels[lowest].name, len(np.unique(_domains(tree, lowest, nodes))),
        round(apart / pairs, 4) if pairs else 0.0,
    )  # fmt: skip


def _domains(tree: Tree, level: int, nodes: Int) -> Int:
    """Return [task]: its domain; a node that is in none is one of its own."""
    of = tree.domain_of(level)[nodes]
    return np.where(of < 0, tree.size(level) + nodes, of)
