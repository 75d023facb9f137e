"""What queues count a resource as: the first line about it, rounded so that parts are never more than the whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.model.axis import AMOUNT_MAX, GPU, Axis
from phalanx.model.charges import PARTS_MAX, Charge, Charges, Worth

MIG = "nvidia.com/mig-"
#: KAI's rule.
BY_SLICES = Charges((Charge("nvidia.com/mig-<n>g.*", GPU, "<n>"),))


@pytest.mark.parametrize(
    ("name", "milli"),
    [
        ("1g.10gb", 142), ("1g.10gb.me", 142), ("2g.20gb", 285), ("3g.40gb", 428), ("4g.40gb", 571), ("7g.80gb", 1000),
        ("1g.6gb", 250), ("2g.12gb", 500), ("4g.24gb", 1000), ("2g.48gb", 500), ("4g.96gb", 1000), ("1g.24gb", 142),
    ],
)  # fmt: skip
def test_a_slice_is_the_part_of_a_gpu_that_it_is_cut_from(name: str, milli: int) -> None:
    asked = ((MIG + name, 1), ("pods", 1))
    assert Charges().charged(asked) == (*asked, (GPU, milli))


@pytest.mark.parametrize("name", ["cpu", GPU, "nvidia.com/mig-foo", "nvidia.com/mig-g.10gb", "amd.com/mig-1g.10gb"])
def test_other_resources_count_as_themselves_alone(name: str) -> None:
    assert Charges().charged(((name, 2),)) == ((name, 2),)


def test_by_kais_rule_a_slice_counts_as_many_gpus_as_it_has_parts() -> None:
    assert BY_SLICES.charged(((MIG + "3g.40gb", 2),)) == ((MIG + "3g.40gb", 2), (GPU, 6000))


def test_the_first_line_about_a_resource_counts_and_nought_says_that_it_counts_as_nothing() -> None:
    table = Charges((
        Charge("example.com/small", GPU, "0"), Charge("example.com/*", GPU, "1/2"), Charge("example.com/x", GPU, "9"),
    ))  # fmt: skip
    names = ["example.com/small", "example.com/x", "other.com/x"]
    assert [table.of(name) for name in names] == [None, Worth(GPU, 1000, 2), None]


def test_nothing_counts_as_itself() -> None:
    assert Charges((Charge("nvidia.com/*", GPU, "1/2"),)).of(GPU) is None


def test_only_what_some_queue_lists_is_worked_out() -> None:
    axis = Axis.of([GPU, MIG + "1g.10gb"])
    seventh = Worth(GPU, 1000, 7)
    assert Charges().on(axis, (GPU,)) == [(axis.index[MIG + "1g.10gb"], seventh)]
    assert (Charges().on(axis, ("cpu",)), Charges().on(axis, ())) == ([], [])


@pytest.mark.parametrize(
    "amount", ["", "1/0", "-1", "1.5", "1/", "n", f"{PARTS_MAX + 1}", f"1/{PARTS_MAX + 1}", "<n>/7"]
)
def test_an_amount_is_a_number_or_a_fraction(amount: str) -> None:
    with pytest.raises(ValueError, match="allowed is"):
        Charge("example.com/x", GPU, amount)


WORTHS = st.builds(Worth, st.just(GPU), st.integers(1, PARTS_MAX * 1000), st.integers(1, PARTS_MAX * 1000))
AMOUNTS = st.lists(st.integers(0, AMOUNT_MAX) | st.integers(0, 100), min_size=1, max_size=5)


@given(WORTHS, AMOUNTS)
def test_arrays_count_as_single_amounts_do_and_no_amount_is_beyond_what_there_can_be(
    worth: Worth, amounts: list[int]
) -> None:
    each = [worth.of(amount) for amount in amounts]
    assert worth.of_all(np.array(amounts, np.int64)).tolist() == each
    assert 0 <= min(each) <= max(each) <= AMOUNT_MAX


@given(WORTHS, st.lists(st.integers(0, 1000), max_size=20))
def test_what_pods_have_never_counts_more_than_what_their_node_has(worth: Worth, amounts: list[int]) -> None:
    assert sum(worth.of(amount) for amount in amounts) <= worth.of(sum(amounts))


def test_many_slices_in_one_request_stop_at_the_most_there_can_be() -> None:
    asked = tuple((f"{MIG}7g.{memory}gb", AMOUNT_MAX) for memory in range(1000))
    assert dict(Charges().charged(asked))[GPU] == AMOUNT_MAX
