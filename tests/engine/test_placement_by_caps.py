"""Placement by caps equals one-at-a-time greedy placement that counts per domain, for any score."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from phalanx.engine.kernels import by_caps as module
from phalanx.engine.kernels.by_caps import NO_DOMAIN, Caps, by_caps
from phalanx.model.axis import Int
from tests.oracles.capped import greedy_under


@st.composite
def places(draw: st.DrawFn) -> tuple[Int, Int]:
    """Draw the room of some nodes, and scores [node, copy], rising or falling."""
    size = draw(st.integers(1, 7))
    room = draw(st.lists(st.integers(0, 4), min_size=size, max_size=size))
    table = draw(st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=size, max_size=size))
    return np.array(room), np.array(table)


def domains(size: int, least: int) -> st.SearchStrategy[Int]:
    return st.lists(st.integers(least, 2), min_size=size, max_size=size).map(np.array)


@st.composite
def caps_of(draw: st.DrawFn, size: int) -> list[Caps]:
    """Draw caps that nest: racks in zones; one level for the zones; and sometimes caps per node."""
    zone = draw(domains(size, -1))
    rack = np.where(zone < 0, -1, 2 * zone + draw(domains(size, 0)) % 2)
    found = []
    if draw(st.booleans()):
        found.append(Caps(rack, np.array(draw(st.lists(st.integers(0, 3), min_size=6, max_size=6)))))
    if draw(st.booleans()):
        found.append(Caps(zone, np.array(draw(st.lists(st.integers(0, 5), min_size=3, max_size=3)))))
    if draw(st.booleans()):
        found.append(Caps(np.arange(size), np.array(draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)))))
    if draw(st.booleans()):
        level = np.array(draw(st.lists(st.integers(0, 4), min_size=3, max_size=3)))
        there = np.unique(zone[zone >= 0])
        level[~np.isin(np.arange(3), there)] = NO_DOMAIN
        found.append(Caps(zone, np.full(3, NO_DOMAIN), level, draw(st.integers(1, 3))))
    return found


@given(places(), st.integers(1, 14), st.booleans(), st.data())
def test_it_equals_greedy_under_nested_caps_and_one_level(
    given_places: tuple[Int, Int], count: int, few: bool, data: st.DataObject
) -> None:
    room, table = given_places
    caps = data.draw(caps_of(len(room)))

    def score(nodes: Int, copies: Int) -> Int:
        return table[nodes, copies]

    before, module.FEW = module.FEW, 64 if few else 0
    try:
        found = by_caps(room, count, score, caps)
    finally:
        module.FEW = before
    assume(found is not None)
    np.testing.assert_array_equal(found, greedy_under(caps, room, count, score))
    assert found is not None
    assert all(one.allow(found) for one in caps)


@given(places(), st.integers(1, 14), st.data())
def test_what_belongs_together_goes_to_the_best_domain_that_holds_it_all(
    given_places: tuple[Int, Int], count: int, data: st.DataObject
) -> None:
    room, table = given_places
    of_node = data.draw(domains(len(room), -1))
    caps = Caps(of_node, np.full(3, NO_DOMAIN), together=True)
    found = by_caps(room, count, lambda nodes, copies: table[nodes, copies], [caps])
    assert found is not None
    assert caps.allow(found)
    holds = [min(int(room[of_node == one].sum()), count) for one in range(3)]
    assert len(found) == max(holds)
    if len(found):
        chosen = int(of_node[found[0]])
        inside = np.where(of_node == chosen, room, 0)
        np.testing.assert_array_equal(found, greedy_under([], inside, count, lambda n, c: table[n, c]))
        first = [table[(room > 0) & (of_node == one), 0].max(initial=-1) for one in range(3)]
        assert first[chosen] == max(first[one] for one in range(3) if holds[one] == len(found))


def test_caps_that_lie_across_each_other_are_left_to_asking_after_each_copy() -> None:
    rows, columns = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    one = np.array([1, 1])
    caps = [Caps(rows, one), Caps(columns, one)]
    assert by_caps(np.full(4, 5), 3, lambda nodes, _: np.zeros(len(nodes), np.int64), caps) is None


def test_every_zone_gets_one_before_any_gets_the_second() -> None:
    caps = Caps(np.array([0, 0, 1, 2]), np.full(3, NO_DOMAIN), np.zeros(3, np.int64), 1)
    found = by_caps(np.full(4, 5), 5, lambda nodes, _: -nodes, [caps])
    assert found is not None
    assert found.tolist() == [0, 2, 3, 0, 2]
