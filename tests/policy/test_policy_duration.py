"""Durations in policies: as Go writes them, or a number of seconds."""

import pytest

from phalanx.model.duration import DurationError, seconds


def test_durations_are_seconds() -> None:
    written: dict[object, float] = {"10s": 10, "1h30m": 5400, "250ms": 0.25, "1.5m": 90, "0s": 0, 10: 10, 2.5: 2.5}
    assert {text: seconds(text) for text in written} == written


@pytest.mark.parametrize("value", ["", "10", "s", "-1s", "1 s", "1d", "٣s", "1s1", "9" * 70 + "s", None, True, [1]])
def test_what_is_no_duration_says_what_is(value: object) -> None:
    with pytest.raises(DurationError, match=r"^found .*, allowed is a duration such as 10s, 5m or 1h30m$"):
        seconds(value)


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), 10**400, "876001h"])
def test_a_duration_out_of_range_says_the_range(value: object) -> None:
    with pytest.raises(DurationError, match=r"^found .*, allowed is a duration from 0s to 100 years$"):
        seconds(value)
