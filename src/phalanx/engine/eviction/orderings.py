"""Orderings: how candidates are lined up when the fair order makes no room: by how much each helps."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from phalanx.engine.eviction.candidates import Candidates
from phalanx.engine.placement.find import request_of
from phalanx.engine.session.request import When
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Unit
from phalanx.model.axis import Bool, Int


@dataclass(frozen=True, slots=True)
class Helps:
    """What victims would free for copies of one shape, per victim and node on which it has tasks."""

    #: Rows of the victim units.
    chosen: Int
    #: Of each pair: its place among `chosen`, its node, and what it frees there, in thousandths of a copy.
    of: Int
    node: Int
    part: Int
    #: Copies that a pair makes room for alone.
    alone: Int
    #: Per node: copies that all of them together make room for.
    gained: Int


def helpful_lines(helps: Helps, candidates: Candidates, wanted: int) -> Iterator[list[int]]:
    """Yield lines of victims, each once the one before it was of no use.

    First the most helpful. Then node after node, those that cost least for a copy first: where units of two nodes are
    taken in turn, what may be taken is used up before either is cleared. Then the same from the second node on.
    """
    if len(helps.chosen):
        yield most_helpful(helps, candidates, wanted)
        nodes = _cheapest(helps, candidates)
        for first in range(min(2, len(nodes))):
            yield _node_by_node(helps, np.roll(nodes, -first))


def helps_of(session: Session, unit: Unit, candidates: Candidates, mask: Bool) -> Helps:
    """Return what each of these victims would free for copies of the unit's first task."""
    snapshot, table = session.snapshot, session.residents
    shape = int(snapshot.tasks.shape[unit.tasks[0]])
    ask = snapshot.requests[shape]
    wanted = np.flatnonzero(ask)
    chosen = np.flatnonzero(mask)
    now = session.spare_amounts(request_of(session, unit.gang, shape, when=When.LATER))[:, wanted]
    tasks = candidates.tasks_of(chosen.tolist())
    amounts = snapshot.requests[table.shape[tasks]][:, wanted]
    pair, at = np.unique(
        np.repeat(np.arange(len(chosen)), candidates.count[chosen]) * len(now) + table.node[tasks], return_inverse=True
    )
    frees = np.zeros((len(pair), len(wanted)), np.int64)
    np.add.at(frees, at, amounts)
    empty = now.copy()
    np.add.at(empty, table.node[tasks], amounts)

    def copies(amount: Int) -> Int:
        return np.asarray(np.maximum((amount // ask[wanted]).min(axis=1), 0), np.int64)

    of, node = pair // len(now), pair % len(now)
    there = copies(now)
    # Only what a node lacks counts: every pod frees the place of a pod.
    lacks = now[node] < ask[wanted]
    part = np.asarray(np.where(lacks, frees * 1000 // ask[wanted], 0).max(axis=1, initial=0), np.int64)
    return Helps(chosen, of, node, part, copies(now[node] + frees) - there[node], copies(empty) - there)


def most_helpful(helps: Helps, candidates: Candidates, wanted: int) -> list[int]:
    """Return the victims by how many of the wanted copies their nodes take without them, alone or with others.

    Of those who help equally the smallest goes first: a large gang is not taken where a small one is enough.
    """
    count, gained = len(helps.chosen), helps.gained[helps.node]
    alone = np.minimum(np.bincount(helps.of, helps.alone, count), wanted)
    size = np.where(alone > 0, candidates.count[helps.chosen], 0)
    together, most = np.zeros(count, np.int64), np.zeros(count, np.int64)
    np.maximum.at(together, helps.of, gained)
    np.maximum.at(most, helps.of, np.where(gained > 0, helps.part, 0))
    order = np.lexsort([helps.chosen, -most, -together, size, -alone])
    line: list[int] = helps.chosen[order[together[order] > 0]].tolist()
    return line


def _cheapest(helps: Helps, candidates: Candidates) -> Int:
    """Return the nodes on which copies can be gained, by what leaves in all for one of them."""
    leaving = np.bincount(helps.node, candidates.count[helps.chosen][helps.of], len(helps.gained))
    nodes = np.flatnonzero(helps.gained > 0)
    return nodes[np.argsort((leaving / np.maximum(helps.gained, 1))[nodes], kind="stable")]


def _node_by_node(helps: Helps, nodes: Int) -> list[int]:
    """Return the victims by the first of these nodes that they are on; who loses least elsewhere comes first."""
    rank = np.full(len(helps.gained), len(nodes))
    rank[nodes] = np.arange(len(nodes))
    first = np.full(len(helps.chosen), len(nodes))
    np.minimum.at(first, helps.of, rank[helps.node])
    here = rank[helps.node] == first[helps.of]
    elsewhere = np.bincount(helps.of[~here], helps.part[~here], len(helps.chosen))
    order = np.lexsort([helps.chosen, elsewhere, first])
    line: list[int] = helps.chosen[order[first[order] < len(nodes)]].tolist()
    return line
