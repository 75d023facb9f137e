"""Placement by count equals one-at-a-time greedy placement, for any score."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.engine.kernels.by_count import by_count
from phalanx.engine.opening import open_session
from phalanx.engine.placement.find import find
from phalanx.engine.plugins.resource_fit import Point, ResourceFit, Weight
from phalanx.engine.policy import Policy, Weighted
from phalanx.engine.session.request import Request
from phalanx.model.axis import Int
from phalanx.model.events import Event
from phalanx.policy.load import load_policy
from phalanx.testing.strategies import clusters
from phalanx.world.world import World
from tests.oracles.greedy import greedy, one_at_a_time

rooms = st.lists(st.integers(0, 5), min_size=1, max_size=6)


@given(rooms, st.integers(0, 20), st.data())
def test_it_equals_greedy_for_any_score_rising_or_falling(rooms: list[int], count: int, data: st.DataObject) -> None:
    table = np.array([[data.draw(st.integers(0, 4)) for _ in range(5)] for _ in rooms])
    free = np.array(rooms)

    def score(nodes: Int, copies: Int) -> Int:
        return table[nodes, copies]

    np.testing.assert_array_equal(by_count(free, count, score), greedy(free, count, score))


STRATEGIES = {
    "default": load_policy("default").plugins,
    "pod-by-pod": load_policy("pod-by-pod").plugins,
    "most": (Weighted(ResourceFit("MostAllocated")),),
    "least": (Weighted(ResourceFit("LeastAllocated")),),
    "ratio": (Weighted(ResourceFit("RequestedToCapacityRatio", shape=[Point(0, 0), Point(40, 10), Point(100, 2)])),),
    "per resource": (
        Weighted(
            ResourceFit("PerResource", {"*": Weight(20), "cpu": Weight(2, "LeastAllocated"), "memory": Weight(1)})
        ),
    ),
}


@pytest.mark.parametrize("plugins", STRATEGIES.values(), ids=STRATEGIES.keys())
@given(clusters(), st.integers(1, 8))
def test_it_equals_greedy_for_every_built_in_score(
    plugins: tuple[Weighted, ...], events: list[Event], count: int
) -> None:
    policy = Policy("any", (), plugins)
    world = World()
    for event in events:
        world.apply(event)
    snapshot = world.compile(10.0)
    for shape in range(len(snapshot.shapes)):
        counted = find(open_session(snapshot, policy), policy, Request(shape, count))
        looped = one_at_a_time(open_session(snapshot, policy), policy, shape, count)
        np.testing.assert_array_equal(counted, looped)


def test_a_tie_goes_to_the_first_node_by_name() -> None:
    flat = by_count(np.array([2, 2, 2]), 3, lambda nodes, _: np.zeros(len(nodes), np.int64))
    assert flat.tolist() == [0, 0, 1]


def test_a_node_that_gets_worse_as_it_fills_is_left_for_the_next() -> None:
    spread = by_count(np.array([3, 3]), 4, lambda _, copies: -copies)
    assert spread.tolist() == [0, 1, 0, 1]


def test_a_better_second_copy_cannot_be_had_without_the_worse_first() -> None:
    table = np.array([[1, 9, 9], [2, 2, 2]])
    assert by_count(np.array([3, 3]), 4, lambda nodes, copies: table[nodes, copies]).tolist() == [1, 1, 1, 0]


def test_fewer_come_back_when_there_is_no_more_room() -> None:
    assert by_count(np.array([1, 0, 1]), 5, lambda nodes, _: nodes).tolist() == [2, 0]
