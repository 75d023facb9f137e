"""Durations ("10s", "1h30m", "250ms") to seconds, as Go and Kubernetes write them; a bare number is seconds."""

import math
import re
from typing import NewType

from phalanx.model.quantity import shown

#: A span of time. A plugin's argument of this type may be written "10s" in a policy file.
Seconds = NewType("Seconds", float)

#: A century: longer spans are slips, and no sum of two of them loses its seconds.
SECONDS_MAX = 100 * 365 * 86400.0

UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
PART = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)(ns|us|µs|ms|s|m|h)", re.ASCII)
WHOLE = re.compile(rf"(?:{PART.pattern})+", re.ASCII)


class DurationError(ValueError):
    """A duration that is not one; the text says what was found and what is allowed."""


def seconds(value: object) -> Seconds:
    """Read a duration; zero or more, at most a century."""
    if isinstance(value, str) and len(value) <= 64 and WHOLE.fullmatch(value):
        total = sum(float(number) * UNITS[unit] for number, unit in PART.findall(value))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        total = float(value) if abs(value) <= SECONDS_MAX else math.inf
    else:
        raise DurationError(f"found {shown(value)}, allowed is a duration such as 10s, 5m or 1h30m")
    if not 0 <= total <= SECONDS_MAX:
        raise DurationError(f"found {shown(value)}, allowed is a duration from 0s to 100 years")
    return Seconds(total)
