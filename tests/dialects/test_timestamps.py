"""Times and durations: strict, exact, and ASCII."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.dialects.mistakes import FieldError, Mistakes
from phalanx.dialects.timestamps import duration, moment


def read(value: object) -> float | None:
    return moment(value, "metadata.creationTimestamp", Mistakes(strict=True))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("2026-11-01T12:00:00Z", 1793534400.0),
        ("2026-11-01T12:00:00.5Z", 1793534400.5),
        ("2026-11-01T12:00:00.000000001Z", 1793534400.0),
        ("2026-11-01T14:30:00+02:30", 1793534400.0),
        ("2026-11-01T07:00:00-05:00", 1793534400.0),
        ("2024-02-29T00:00:00Z", 1709164800.0),
        ("0001-01-01T00:00:00Z", -62135596800.0),
        ("9999-12-31T23:59:59Z", 253402300799.0),
    ],
)
def test_rfc_3339_is_read_exactly(text: str, seconds: float) -> None:
    assert read(text) == seconds


def test_yaml_makes_times_of_what_is_not_in_quotes() -> None:
    assert read(datetime(2026, 11, 1, 12, 0)) == 1793534400.0  # noqa: DTZ001 (what the YAML reader gives)
    assert read(datetime(2026, 11, 1, 14, 0, tzinfo=timezone(timedelta(hours=2)))) == 1793534400.0
    assert read(None) is None


@pytest.mark.parametrize(
    "value",
    [
        "", "now", "2026-11-01", "2026-11-01 12:00:00Z", "2026-11-01t12:00:00z", "2026-11-01T12:00:00",
        "2026-11-01T12:00Z", "2026-11-01T24:00:00Z", "2026-11-01T12:00:60Z", "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z", "2026-11-01T12:00:00+24:00", "2026-11-01T12:00:00+01:60", "2026-11-01T12:00:00Z\n",
        "2026-11-01T12:00:00.Z", "\u0662\u0660\u0662\u0666-11-01T12:00:00Z", "-2026-11-01T12:00:00Z",
        "0000-01-01T00:00:00Z",
        "2" * 1_000_000, 1793534400, 1.5, True, [], {}, date(2026, 11, 1),
    ],
    ids=lambda value: str(value)[:30] + type(value).__name__,
)  # fmt: skip
def test_anything_else_is_a_mistake_that_shows_what_is_allowed(value: object) -> None:
    with pytest.raises(FieldError, match=r"^metadata\.creationTimestamp: found .*, allowed is a time such as 2026-"):
        read(value)


@given(st.datetimes(timezones=st.timezones()))
def test_any_time_survives_the_journey(when: datetime) -> None:
    at = when.astimezone(UTC) if datetime(2, 1, 1) < when.replace(tzinfo=None) < datetime(9998, 1, 1) else None  # noqa: DTZ001
    if at is not None:
        assert read(at.isoformat().replace("+00:00", "Z")) == pytest.approx(at.timestamp(), abs=1e-5)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90.0), ("0", 0.0), ("1.5", 1.5), ("90s", 90.0), ("1h30m", 5400.0), ("1.5h", 5400.0), ("500ms", 0.5),
        ("1h1m1s1ms", 3661.001), ("250us", 0.00025), ("5ns", 5e-9), ("87600h", 315360000.0), ("0s", 0.0),
    ],
)  # fmt: skip
def test_durations_are_written_as_in_go_or_in_seconds(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-1",
        "-1s",
        "+1s",
        "NaN",
        "inf",
        "1e3",
        "1_000",
        "s",
        "1 h",
        "1d",
        "1h-1m",
        "\u0665s",
        "87600h1s",
        "9" * 100,
        "5\n",
    ],
)
def test_a_duration_that_is_none_says_what_is_allowed(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"^found .*, allowed is a duration such as 90s or 1h30m, of at most 10 years$"
    ):
        duration(text)
