"""Rests: gangs that must not be tried before a time, and why."""

import math
from dataclasses import replace
from typing import NamedTuple

from phalanx.model.gang import Gang


class Rest(NamedTuple):
    """One gang's."""

    until: float
    why: str
    #: The mistake is ours, not the user's.
    ours: bool
    #: What is promised to it is given up.
    forfeits: bool = False
    #: It is only not asked to leave. What it lacks may still be placed.
    stays: bool = False


class Rests:
    """Knows them by the key of the gang."""

    def __init__(self) -> None:
        self._rests: dict[str, Rest] = {}

    def put(self, key: str, rest: Rest) -> None:
        """Leave a gang alone."""
        self._rests[key] = rest

    def expire(self, now: float) -> list[str]:
        """Return, and leave alone no longer, the gangs whose time is over."""
        over = [key for key, rest in self._rests.items() if rest.until <= now]
        for key in over:
            del self._rests[key]
        return over

    @property
    def next_end(self) -> float:
        """Return when the next one is over."""
        return min((rest.until for rest in self._rests.values()), default=math.inf)

    def laid_on(self, gang: Gang) -> Gang:
        """Return the gang as it rests. A hold of its own says more, but what it forfeits it forfeits."""
        rest = self._rests.get(gang.key)
        if rest is None:
            return gang
        if rest.stays:
            return replace(gang, stays=True)
        if gang.hold is not None:
            return replace(gang, forfeits=rest.forfeits)
        return replace(gang, hold=rest.why, failed=rest.ours, forfeits=rest.forfeits)
