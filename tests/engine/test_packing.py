"""Packing: a place for everything, whenever there is one."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.engine.kernels.packing import pack

AMOUNTS = st.integers(0, 4)


@st.composite
def tight(draw: st.DrawFn) -> tuple[list[list[int]], list[list[int]], list[int], list[list[int]]]:
    """Draw up to three nodes and up to three kinds of up to two each, over two resources, with caps."""
    nodes, kinds = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    pairs = st.lists(AMOUNTS, min_size=2, max_size=2)
    return (
        draw(st.lists(pairs, min_size=nodes, max_size=nodes)), draw(st.lists(pairs, min_size=kinds, max_size=kinds)),
        draw(st.lists(st.integers(0, 2), min_size=kinds, max_size=kinds)),
        draw(st.lists(st.lists(st.integers(0, 3), min_size=nodes, max_size=nodes), min_size=kinds, max_size=kinds)),
    )  # fmt: skip


@settings(max_examples=300)
@given(tight())
def test_a_packing_is_found_whenever_there_is_one(
    case: tuple[list[list[int]], list[list[int]], list[int], list[list[int]]],
) -> None:
    space, asks, counts, caps = (np.array(part) for part in case)
    things = [kind for kind, count in enumerate(counts.tolist()) for _ in range(count)]

    def fits(places: tuple[int, ...]) -> bool:
        left, there = space.copy(), caps.copy()
        for kind, node in zip(things, places, strict=True):
            left[node] -= asks[kind]
            there[kind, node] -= 1
        return bool((left >= 0).all() and (there >= 0).all())

    exists = any(fits(places) for places in product(range(len(space)), repeat=len(things)))
    found, _ = pack(space, asks, counts, caps, looks=100_000)
    assert (found is not None) == exists
    if found is not None:
        assert [len(nodes) for nodes in found] == counts.tolist()
        assert fits(tuple(node for nodes in found for node in nodes))


def test_it_gives_up_after_so_many_looks() -> None:
    space, ask = np.full((12, 1), 5), np.array([[3], [2]])
    counts, caps = np.array([12, 13]), np.full((2, 12), 99)
    assert pack(space, ask, counts, caps, looks=200)[0] is None
    assert pack(space, ask, np.array([12, 12]), caps, looks=200)[0] is not None


def test_more_nodes_than_a_recursion_would_stand() -> None:
    """The second kind fits on the first node alone, if the first kind goes to the last, which is tried last."""
    nodes = 3000
    space = np.array([[10 + number, int(not number)] for number in range(nodes)])
    asks, counts = np.array([[10, 0], [10, 1]]), np.array([nodes - 1, 1])
    found, _ = pack(space, asks, counts, np.ones((2, nodes), np.int64), looks=10 * nodes)
    assert found == [list(range(1, nodes)), [0]]
