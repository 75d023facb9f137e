"""Quantities: exact in both directions, and nothing that only looks like a number."""

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.model.axis import AMOUNT_MAX
from phalanx.model.quantity import QuantityError, capacity, request, shown, written

Value = str | int | float

#: What an API server lets through, and what it comes to: (value, resource, as a request, as capacity).
READ: list[tuple[Value, str, int, int]] = [
    ("1", "cpu", 1000, 1000),
    ("+1", "cpu", 1000, 1000),
    ("01", "cpu", 1000, 1000),
    ("5.", "cpu", 5000, 5000),
    (".5", "cpu", 500, 500),
    ("1.5", "cpu", 1500, 1500),
    ("1500m", "cpu", 1500, 1500),
    ("0", "cpu", 0, 0),
    ("-0", "cpu", 0, 0),
    ("1n", "cpu", 1, 0),
    ("1u", "cpu", 1, 0),
    ("0.0000000001", "cpu", 1, 0),
    ("1000001u", "cpu", 1001, 1000),
    ("1E3", "cpu", 1_000_000, 1_000_000),
    ("1e3", "memory", 1000, 1000),
    ("1e-3", "memory", 1, 0),
    ("1 ", "cpu", 1000, 1000),
    (" 1\n", "cpu", 1000, 1000),
    ("128974848m", "memory", 128_975, 128_974),
    ("8Gi", "memory", 8 * 2**30, 8 * 2**30),
    ("1.5Gi", "memory", 3 * 2**29, 3 * 2**29),
    ("1k", "memory", 1000, 1000),
    ("1Ki", "memory", 1024, 1024),
    ("8Pi", "memory", 2**53, 2**53),
    ("1000m", "nvidia.com/gpu", 1000, 1000),
    ("1e1", "nvidia.com/gpu", 10_000, 10_000),
    ("1Ki", "nvidia.com/gpu", 1_024_000, 1_024_000),
    ("01", "nvidia.com/gpu", 1000, 1000),
    ("0", "nvidia.com/gpu", 0, 0),
    ("2", "example.com/dongle", 2, 2),
    ("110", "pods", 110, 110),
    (2, "cpu", 2000, 2000),
    (0.5, "cpu", 500, 500),
    (1e3, "memory", 1000, 1000),
]

NOT_ONE = "a Kubernetes quantity such as 2, 500m, 1.5 or 8Gi"
TOO_MUCH = "at most 2^53 of the smallest unit"
EXPONENT = "an exponent between -40 and 40"

#: What nobody may smuggle in: (value, resource, the sentence).
REFUSED: list[tuple[object, str, str]] = [
    ("1e30", "cpu", f"found '1e30', allowed is {TOO_MUCH}"),
    ("9223372036854775807", "cpu", f"found '9223372036854775807', allowed is {TOO_MUCH}"),
    ("1E", "cpu", f"found '1E', allowed is {TOO_MUCH}"),
    ("16Ei", "memory", f"found '16Ei', allowed is {TOO_MUCH}"),
    ("1000Ei", "memory", f"found '1000Ei', allowed is {TOO_MUCH}"),
    ("1e18", "nvidia.com/gpu", f"found '1e18', allowed is {TOO_MUCH}"),
    ("9007199254740993", "memory", f"found '9007199254740993', allowed is {TOO_MUCH}"),
    (10**30, "cpu", f"found {10**30}, allowed is {TOO_MUCH}"),
    (10**5000, "cpu", f"found a number of more than 77 digits, allowed is {TOO_MUCH}"),
    ("1e309", "cpu", f"found '1e309', allowed is {EXPONENT}"),
    ("1e-309", "cpu", f"found '1e-309', allowed is {EXPONENT}"),
    ("9" * 5000, "cpu", f"found '{'9' * 47}… (5000 characters), allowed is {NOT_ONE}"),
    (" " * 1_000_000 + "1K", "cpu", f"found '1K', allowed is {NOT_ONE}"),
    ("-1", "cpu", "found '-1', allowed is zero or more"),
    (-1, "cpu", "found '-1', allowed is zero or more"),
    (-(10**30), "cpu", f"found {-(10**30)}, allowed is zero or more"),
    ("0.5", "nvidia.com/gpu", "found '0.5', allowed is a whole number of nvidia.com/gpu"),
    ("500m", "example.com/dongle", "found '500m', allowed is a whole number of example.com/dongle"),
    ("NaN", "cpu", f"found 'NaN', allowed is {NOT_ONE}"),
    ("inf", "cpu", f"found 'inf', allowed is {NOT_ONE}"),
    (float("nan"), "cpu", f"found 'nan', allowed is {NOT_ONE}"),
    (float("inf"), "cpu", f"found 'inf', allowed is {NOT_ONE}"),
    ("", "cpu", f"found '', allowed is {NOT_ONE}"),
    (".", "cpu", f"found '.', allowed is {NOT_ONE}"),
    ("1K", "memory", f"found '1K', allowed is {NOT_ONE}"),
    ("1KI", "memory", f"found '1KI', allowed is {NOT_ONE}"),
    ("1e", "cpu", f"found '1e', allowed is {NOT_ONE}"),
    ("0x10", "cpu", f"found '0x10', allowed is {NOT_ONE}"),
    ("1_000", "cpu", f"found '1_000', allowed is {NOT_ONE}"),
    ("1 000", "cpu", f"found '1 000', allowed is {NOT_ONE}"),
    ("\u0665", "cpu", rf"found '\u0665', allowed is {NOT_ONE}"),
    ("\u0660.\u0665", "cpu", rf"found '\u0660.\u0665', allowed is {NOT_ONE}"),
    ("1\x00", "cpu", rf"found '1\x00', allowed is {NOT_ONE}"),
    ("\u202e1", "cpu", rf"found '\u202e1', allowed is {NOT_ONE}"),
    (True, "cpu", f"found true, allowed is {NOT_ONE}"),
    (None, "cpu", f"found null, allowed is {NOT_ONE}"),
    ([1], "cpu", f"found a list, allowed is {NOT_ONE}"),
    ({"value": 1}, "cpu", f"found a map, allowed is {NOT_ONE}"),
]


@pytest.mark.parametrize(("value", "name", "asked", "had"), READ)
def test_what_an_api_server_accepts_is_read_exactly(value: Value, name: str, asked: int, had: int) -> None:
    assert (request(value, name), capacity(value, name)) == (asked, had)


@pytest.mark.parametrize(("value", "name", "sentence"), REFUSED, ids=shown)
def test_what_is_no_quantity_is_refused_with_what_was_found(value: object, name: str, sentence: str) -> None:
    with pytest.raises(QuantityError, match=f"^{re.escape(sentence)}$"):
        request(value, name)


def test_a_whole_number_is_only_asked_of_requests_a_node_may_have_part_of_a_device() -> None:
    assert capacity("0.5", "nvidia.com/gpu") == 500


_SUFFIX = {
    "": Fraction(1), "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "k": Fraction(10**3),
    "M": Fraction(10**6), "G": Fraction(10**9), "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30),
    "e2": Fraction(100), "E-4": Fraction(1, 10**4),
}  # fmt: skip


@given(st.from_regex(r"[0-9]{1,3}(\.[0-9]{0,12})?", fullmatch=True), st.sampled_from(sorted(_SUFFIX)))
def test_requests_round_up_and_capacity_rounds_down_for_any_number(digits: str, suffix: str) -> None:
    """Checked against exact fractions: no float is anywhere on the way."""
    for name, units in (("cpu", 1000), ("memory", 1)):
        exact = Fraction(digits.rstrip(".")) * _SUFFIX[suffix] * units
        floor = exact.numerator // exact.denominator
        ceiling = -(-exact.numerator // exact.denominator)
        assert (request(digits + suffix, name), capacity(digits + suffix, name)) == (ceiling, floor)


@given(st.integers(0, AMOUNT_MAX), st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "pods", "hugepages-2Mi"]))
def test_what_is_written_is_read_back_unchanged(amount: int, name: str) -> None:
    assert capacity(written(amount, name), name) == amount


@given(st.text() | st.floats() | st.integers() | st.none() | st.booleans() | st.lists(st.text()))
def test_any_value_is_an_amount_or_one_clear_line(value: object) -> None:
    answer: int | str
    try:
        answer = request(value, "cpu")
    except QuantityError as error:
        answer = str(error)
    if isinstance(answer, str):
        assert answer.replace("…", "").isascii()
        assert answer.isprintable()
    else:
        assert 0 <= answer <= AMOUNT_MAX


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("abc", "'abc'"),
        ("a\x1b[31m\nb\u202e", r"'a\x1b[31m\nb\u202e'"),
        ("x" * 1_000_000, f"'{'x' * 47}… (1000000 characters)"),
        (None, "null"),
        (False, "false"),
        (8, "8"),
        (-(10**5000), "a number of more than 77 digits"),
        ({"a": 1}, "a map"),
        ([1, 2], "a list"),
    ],
    ids=shown,
)
def test_what_was_found_is_shown_short_escaped_and_on_one_line(value: object, text: str) -> None:
    assert shown(value) == text
