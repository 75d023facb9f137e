"""The clock of the real cluster: the one place where time is read."""

import time
from datetime import UTC, datetime


class Clock:
    """Wall time for what people read, monotonic time for how long something took."""

    def now(self) -> float:
        """Return seconds since 1970."""
        return time.time()  # noqa: TID251 (the one place)

    def monotonic(self) -> float:
        """Return seconds that only go forward."""
        return time.monotonic()


def stamp(seconds: float) -> str:
    """Return a time as Kubernetes writes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_stamp(seconds: float) -> str:
    """Return a time with microseconds, as Lease and Event have it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
