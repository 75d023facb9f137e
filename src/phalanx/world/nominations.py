"""Nominations: since when a place is kept for each waiting task, as far as we saw it."""

import math
from collections.abc import Iterable, Mapping

from phalanx.model.snapshot import NOMINATION_DEADLINE


class Nominations:
    """Knows it by the uid of the task."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    @property
    def since(self) -> Mapping[str, float]:
        """Return the moments."""
        return self._since

    def see(self, nominated: Mapping[str, Iterable[str]], now: float) -> None:
        """Take note of the tasks that have a nomination now, by node."""
        for uids in nominated.values():
            for uid in uids:
                self._since.setdefault(uid, now)

    def forget(self, uid: str) -> None:
        """Note that a task has none, or another one."""
        self._since.pop(uid, None)

    def next_look(self, now: float) -> float:
        """Return when to look whether one of them still serves; infinity: there is none."""
        late = min((since + NOMINATION_DEADLINE for since in self._since.values()), default=math.inf)
        return late if late > now else now + NOMINATION_DEADLINE
