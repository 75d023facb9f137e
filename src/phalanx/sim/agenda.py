"""The agenda: what is going to happen, by time, and in the order it was put there where times are equal.

Written here, as a library's event loop is several times slower for the same work (a heap costs two
microseconds a job) and brings processes and resources that the cluster does not need.
"""

import heapq
from typing import Generic, TypeVar

T = TypeVar("T")


class Agenda(Generic[T]):
    """A heap of (time, sequence, happening). The sequence makes the order total, whatever a happening is."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, T]] = []
        self._sequence = 0

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def next(self) -> float:
        """Return the time of the next instant; infinity when nothing is left."""
        return self._heap[0][0] if self._heap else float("inf")

    def put(self, at: float, happening: T) -> None:
        """Let something happen at a time."""
        heapq.heappush(self._heap, (at, self._sequence, happening))
        self._sequence += 1

    def pop(self) -> list[T]:
        """Return everything that happens at the next instant, in order."""
        at, due = self.next, list[T]()
        while self._heap and self._heap[0][0] == at:
            due.append(heapq.heappop(self._heap)[2])
        return due
