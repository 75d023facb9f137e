"""The array kernels of division: exact, never wrapping, and equal to the plain recursive version."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phalanx.engine.kernels.division import WEIGHTS_MAX, fill, portion, scaled
from phalanx.engine.kernels.stretches import TOP, Stretches
from phalanx.engine.shares.quota_then_weight import QuotaThenWeight
from phalanx.engine.shares.weighted import Weighted
from phalanx.model.axis import GPU, SUM_MAX, Int
from phalanx.model.queue import Queue, Terms
from phalanx.model.queue_table import QueueTable
from phalanx.model.usage import Memory
from tests.oracles import division_oracle as oracle
from tests.oracles.queue_strategies import HUGE, HUGE_WEIGHTS, queue_tables
from tests.oracles.queue_tables import Use, queue_table


def filled(amount: int, low: list[int], high: list[int], weight: list[int], grain: int = 1) -> list[int]:
    """Divide one amount among one family; the first is the oldest."""
    siblings = Stretches.by(np.zeros(len(low), np.int64))
    floor, cap, width = (np.array([values]).T for values in (low, high, weight))
    got = fill(np.array([[amount]]), floor, cap, width, siblings, np.array([grain]), np.arange(len(low)))
    return [int(value) for value in got[:, 0]]


def test_an_amount_is_divided_by_weight() -> None:
    assert filled(12, [0, 0, 0], [99, 99, 99], [1, 2, 3]) == [2, 4, 6]


def test_who_asks_for_less_than_its_part_leaves_the_rest_to_the_others() -> None:
    assert filled(12, [0, 0, 0], [1, 99, 99], [1, 1, 1]) == [1, 6, 5]


def test_a_floor_above_the_level_is_kept_and_the_others_stand_lower() -> None:
    assert filled(12, [8, 0, 0], [99, 99, 99], [1, 1, 1]) == [8, 2, 2]


def test_a_full_vessel_can_lift_the_level_over_a_floor() -> None:
    # At first sight the level is 4, below the floor of 5; what the first leaves lifts it to 5.5.
    assert filled(12, [0, 5, 0], [1, 99, 99], [1, 1, 1]) == [1, 6, 5]


def test_floors_are_given_even_when_there_is_not_enough() -> None:
    assert filled(3, [2, 2, 0], [9, 9, 9], [1, 1, 1]) == [2, 2, 0]


def test_without_weight_a_row_gets_its_floor_alone() -> None:
    assert filled(9, [2, 0, 0], [9, 9, 9], [0, 0, 1]) == [2, 0, 7]


def test_left_over_grains_go_by_largest_remainder_and_then_to_the_oldest() -> None:
    assert filled(10_000, [0, 0, 0], [9_000] * 3, [5, 3, 2], grain=4_000) == [4_000, 4_000, 2_000]
    assert filled(5_000, [0, 0, 0], [9_000] * 3, [1, 1, 1], grain=1_000) == [2_000, 2_000, 1_000]


def test_a_request_that_is_met_is_exact_and_only_division_cuts_to_grains() -> None:
    assert filled(4_000, [0, 0], [1_500, 9_000], [1, 1], grain=1_000) == [1_500, 2_500]


def test_the_last_grain_of_somebody_may_be_a_part() -> None:
    assert filled(4_000, [0, 0, 0], [1_500] * 3, [1, 1, 1], grain=1_000) == [1_500, 1_500, 1_000]


def test_a_part_that_is_exactly_the_request_meets_it_whoever_is_older() -> None:
    assert filled(4_500, [0, 0, 0], [9_000, 9_000, 1_500], [1, 1, 1], grain=1_000) == [2_000, 1_000, 1_500]


QUARTERS = st.integers(0, 12).map(lambda number: number * 250)


@given(QUARTERS, st.lists(st.tuples(QUARTERS | st.just(0), QUARTERS, st.integers(0, 3)), min_size=1, max_size=6))
def test_one_family_stands_at_one_level(amount: int, family: list[tuple[int, int, int]]) -> None:
    queues = [
        Queue(f"q{number}", terms={GPU: Terms(quota=low, weight=weight)})
        for number, (low, _, weight) in enumerate(family)
    ]
    asks = {f"q{number}": Use({GPU: low + more}) for number, (low, more, _) in enumerate(family)}
    plain = oracle.shares(oracle.weighted(queue_table(queues, asks, {GPU: amount})))
    low, more, weight = (list(column) for column in zip(*family, strict=True))
    high = [floor + above for floor, above in zip(low, more, strict=True)]
    assert filled(amount, low, high, weight, grain=1_000) == [share for (share,) in plain]


def test_families_do_not_touch_each_other() -> None:
    siblings = Stretches.by(np.array([3, 3, 7]))
    column: Int = np.array([[0], [0], [0]])
    got = fill(
        np.array([[4], [9]]), column, column + 99, column + 1, siblings, np.array([1]), np.array([2, 1, 0])
    )  # fmt: skip
    assert got.tolist() == [[2], [2], [9]]


def test_sums_stop_instead_of_wrapping() -> None:
    siblings = Stretches.by(np.array([0, 0, 0, 1, 1]))
    values: Int = np.array([[SUM_MAX, 1], [SUM_MAX, 2], [SUM_MAX, 3], [SUM_MAX, SUM_MAX], [SUM_MAX - 1, 5]])
    assert siblings.sums(values).tolist() == [[TOP, 6], [2 * SUM_MAX - 1, SUM_MAX + 5]]
    assert siblings.before(values).tolist() == [[0, 0], [SUM_MAX, 1], [TOP, 3], [0, 0], [SUM_MAX, SUM_MAX]]


@given(st.integers(0, SUM_MAX), st.integers(1, WEIGHTS_MAX), st.data())
def test_a_portion_is_exact_up_to_the_caps(amount: int, weights: int, data: st.DataObject) -> None:
    weight = data.draw(st.integers(0, weights) | st.just(weights))
    whole, rest = portion(np.array([amount]), np.array([weight]), np.array([weights]))
    assert (int(whole[0]), int(rest[0])) == divmod(amount * weight, weights)


@given(st.lists(st.integers(0, SUM_MAX), min_size=1, max_size=9))
def test_scaled_weights_fit_and_nobody_loses_all_of_its_own(weights: list[int]) -> None:
    got = scaled(np.array([weights], np.int64).T, Stretches.by(np.zeros(len(weights), np.int64)))[:, 0]
    assert sum(got.tolist()) <= WEIGHTS_MAX
    assert [value > 0 for value in got.tolist()] == [weight > 0 for weight in weights]
    assert got.tolist() == weights or sum(weights) > WEIGHTS_MAX


KERNELS = st.sampled_from([0.0, 0.5, 1.0, 9.0, None])


def check_against_the_oracle(table: QueueTable, kernel: float | None) -> None:
    """Compare with the recursive version; the kernel None is `weighted`, a number is k."""
    if kernel is None:
        assert Weighted().divide(table).tolist() == oracle.shares(oracle.weighted(table))
    else:
        share = QuotaThenWeight(kernel, Memory() if kernel else None)
        assert share.divide(table).tolist() == oracle.shares(oracle.quota_then_weight(table, kernel))


@given(queue_tables(), KERNELS)
def test_it_equals_the_recursive_version(table: QueueTable, kernel: float | None) -> None:
    check_against_the_oracle(table, kernel)


@given(queue_tables(st.integers(0, 6000), st.integers(0, 5000)), KERNELS)
def test_it_equals_the_recursive_version_for_crooked_numbers(table: QueueTable, kernel: float | None) -> None:
    check_against_the_oracle(table, kernel)


@given(queue_tables(HUGE, HUGE_WEIGHTS), KERNELS)
def test_it_equals_the_recursive_version_at_the_caps(table: QueueTable, kernel: float | None) -> None:
    check_against_the_oracle(table, kernel)


def test_a_thousand_siblings_at_the_caps_do_not_wrap() -> None:
    count = 1000
    siblings = Stretches.by(np.zeros(count, np.int64))
    most: Int = np.full((count, 1), SUM_MAX)
    weight = scaled(most, siblings)
    got = fill(
        np.array([[SUM_MAX]]), np.zeros_like(most), most, weight, siblings, np.array([1000]), np.arange(count)
    )  # fmt: skip
    assert sum(got[:, 0].tolist()) == SUM_MAX
    assert int(got.max()) - int(got.min()) <= 1000
