"""Durations in scenarios: as in `phalanx.model.duration`, and days; and back to how a person writes them."""

import re

from phalanx.model import duration

_DAYS = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)d(.*)", re.ASCII)
_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_ALLOWED = "a duration such as 90s, 5m, 1h30m or 2d"


def seconds(text: str) -> float:
    """Read a duration; raise ValueError with what is allowed."""
    form = _DAYS.fullmatch(text)
    days, rest = (float(form[1]), form[2]) if form else (0.0, text)
    try:
        total = days * 86400 + (duration.seconds(rest) if rest or not form else 0.0)
    except duration.DurationError:
        raise ValueError(f"allowed is {_ALLOWED}") from None
    if total > duration.SECONDS_MAX:
        raise ValueError(f"allowed is {_ALLOWED}, at most a hundred years")
    return total


def written(value: float) -> str:
    """Return a duration as a person would write it, with no more than three units: `1h4m30s`."""
    if value < 60:
        return f"{round(value, 1):g}s"
    left, parts = round(value), list[str]()
    for unit, size in _UNITS.items():
        if left >= size:
            parts.append(f"{left // size}{unit}")
            left %= size
    return "".join(parts[:3])


def brief(value: float) -> str:
    """Return a duration in whole minutes from an hour on, for tables: nobody compares seconds there."""
    return written(value if value < 3600 else round(value / 60) * 60)
