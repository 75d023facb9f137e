"""Times and durations, read strictly: ASCII, RFC 3339, and durations as Go writes them."""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

from phalanx.dialects.mistakes import Mistakes
from phalanx.model.duration import DurationError, seconds
from phalanx.model.quantity import shown

DURATION_MAX = 10 * 365 * 86_400
DURATION_ALLOWED = "a duration such as 90s or 1h30m, of at most 10 years"

_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))",
    re.ASCII,
)
SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?", re.ASCII)


def moment(value: object, field: str, mistakes: Mistakes) -> float | None:
    """Return a time in seconds since 1970, or None where there is none (or, noted, a bad one)."""
    if value is None:
        return None
    try:
        # YAML turns an unquoted time into a datetime; without an offset it means UTC.
        return _from_datetime(value) if isinstance(value, datetime) else _from_text(value)
    except (ValueError, OverflowError, TypeError):
        mistakes.note(field, f"found {shown(value)}, allowed is a time such as 2026-11-01T12:00:00Z")
        return None


def _from_datetime(value: datetime) -> float:
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()


@lru_cache(maxsize=4096)
def _from_text(text: object) -> float:
    """Read RFC 3339. The cache is for gangs, whose pods are created in the same second."""
    match = _TIME.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(text)
    year, month, day, hour, minute, second, fraction, sign, *offset = match.groups()
    hours, minutes = (int(part or 0) for part in offset)
    if minutes > 59:
        raise ValueError(text)
    zone = timezone(timedelta(hours=hours, minutes=minutes) * (-1 if sign == "-" else 1))
    whole = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=zone)
    return whole.timestamp() + (int(fraction) / 10 ** len(fraction) if fraction else 0.0)


def duration(text: str) -> float:
    """Return the seconds of `1h30m`, `90s`, `500ms` or `90`; raise ValueError with a sentence otherwise."""
    try:
        found = seconds(float(text) if len(text) <= 64 and SECONDS.fullmatch(text) else text)
    except DurationError:
        found = None
    if found is None or found > DURATION_MAX:
        raise ValueError(f"found {shown(text)}, allowed is {DURATION_ALLOWED}")
    return found
