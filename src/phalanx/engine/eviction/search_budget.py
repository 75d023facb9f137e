"""The budget of a search, in steps and not in seconds: the same cluster gives the same plan on any machine."""

from dataclasses import dataclass


@dataclass(slots=True)
class SearchBudget:
    """How much a search may still do. A step is one candidate looked at or one placement tried, on any machine."""

    left: int
    stopped: bool = False
    taken: int = 0

    def take(self, count: int = 1) -> bool:
        """Take a step, or so many; tell whether there were as many left."""
        self.left -= count
        self.taken += count
        self.stopped = self.stopped or self.left < 0
        return not self.stopped
