"""Placement by classes of nodes equals greedy placement that counts anew after each copy, for any score and caps."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phalanx.engine.kernels.by_caps import NO_DOMAIN, Caps
from phalanx.engine.kernels.copy_by_copy import Count, copy_by_copy
from phalanx.model.axis import Int
from tests.oracles.capped import allowed

NODES = 7


def whole(low: int, high: int, size: int = NODES) -> st.SearchStrategy[Int]:
    return st.lists(st.integers(low, high), min_size=size, max_size=size).map(np.array)


#: Hosts, some without the label; or zones.
domains = st.one_of(whole(0, 1).map(lambda known: np.where(known, np.arange(NODES), -1)), whole(-1, 2))


@st.composite
def counts(draw: st.DrawFn) -> Count:
    return Count(draw(domains), draw(whole(-1, 3)), draw(whole(0, 2)), draw(st.integers(-1, 0)))


@st.composite
def caps(draw: st.DrawFn) -> Caps:
    """Draw caps that may lie across each other, several with levels."""
    of_node = draw(domains)
    if draw(st.booleans()):
        return Caps(of_node, draw(whole(0, 4)))
    level = np.where(np.isin(np.arange(NODES), of_node), draw(whole(0, 3)), NO_DOMAIN)
    return Caps(of_node, np.full(NODES, NO_DOMAIN), level, draw(st.integers(1, 3)))


def far(values: Sequence[Int], among: Int) -> Int:
    """Say what a made-up score would: by the sum, with the least and the most of those who count."""
    total = np.sum([np.zeros(len(values[0]), np.int64) if values else np.zeros(1), *values], axis=0).astype(np.int64)
    there = total[among] if len(among) else np.zeros(1, np.int64)
    return np.asarray(7 * np.abs(total - int(there.min())) // (1 + int(there.max()) - int(there.min())))


def one_by_one(
    room: Int, count: int, table: Int, every: Sequence[Count], candidates: Int, under: Sequence[Caps], scale: int
) -> list[int]:
    given_, picked = np.zeros(NODES, np.int64), list[int]()
    has = [one.now.copy() for one in every]
    for _ in range(count):
        nodes = [node for node in range(NODES) if given_[node] < room[node] and allowed(under, picked, node)]
        if not nodes:
            break
        values = [np.append(now, one.nowhere)[one.of_node] for now, one in zip(has, every, strict=True)]
        worth = table[np.arange(NODES), given_] + (scale * far(values, candidates) if values else 0)
        best = min(nodes, key=lambda node: (-worth[node], node))
        given_[best] += 1
        picked.append(best)
        for now, one in zip(has, every, strict=True):
            if one.of_node[best] >= 0:
                now[one.of_node[best]] += one.adds[best]
    return picked


@given(
    whole(0, 4), st.integers(1, 20), whole(0, 6, NODES * 5), st.lists(counts(), max_size=3), whole(0, 1),
    st.lists(caps(), max_size=2), st.sampled_from([1, 2**36]),
)  # fmt: skip
def test_it_equals_greedy_that_counts_anew(
    room: Int, count: int, table: Int, every: list[Count], normal: Int, under: list[Caps], scale: int
) -> None:
    """Though some nodes have room that the score is not normalised over, and whatever the weights of scores."""
    table, candidates = scale * table.reshape(NODES, 5), np.flatnonzero(normal)

    def near(nodes: Int, copies: Int) -> Int:
        return table[nodes, copies]

    def worth(values: Sequence[Int], among: Int) -> Int:
        return scale * far(values, among) if values else np.zeros(1, np.int64)

    found = copy_by_copy(room, count, near, every, worth, candidates, under)
    assert found.tolist() == one_by_one(room, count, table, every, candidates, under, scale)


def test_what_belongs_together_stays_in_the_best_domain_that_holds_it_and_is_spread_inside() -> None:
    zones = Caps(np.array([0, 0, 1, 1, 1]), np.full(2, NO_DOMAIN), together=True)
    hosts = Count(np.arange(5), np.zeros(5, np.int64), np.ones(5, np.int64))
    best = np.array([9, 0, 0, 0, 0])

    def near(nodes: Int, copies: Int) -> Int:
        return best[nodes] - 0 * copies

    def emptiest(values: Sequence[Int], among: Int) -> Int:
        assert len(among)
        return np.asarray(-10 * values[0])

    found = copy_by_copy(np.full(5, 2), 6, near, [hosts], emptiest, np.arange(5), [zones])
    assert found.tolist() == [2, 3, 4, 2, 3, 4]


def test_what_belongs_together_under_caps_that_lie_across_each_other() -> None:
    zones = Caps(np.array([0, 0, 1, 1, 1, 1]), np.full(2, NO_DOMAIN), together=True)
    one = np.array([1, 1])
    rows, columns = Caps(np.array([0, 0, 0, 0, 1, 1]), one), Caps(np.array([0, 1, 0, 1, 0, 1]), one)

    def flat(nodes: Int, copies: Int) -> Int:
        return 0 * nodes * copies

    found = copy_by_copy(
        np.full(6, 5), 2, flat, [], lambda *_: np.zeros(1, np.int64), np.arange(6), [zones, rows, columns]
    )
    assert found.tolist() == [2, 5]
