"""Memory: answers that were worked out in this session. An answer holds for one state of the books, or for all.

Large answers, arrays over nodes, are forgotten when there are too many; small ones never: they cost more to work out.
"""

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

#: The version of an answer that no placement changes.
ALWAYS = -1
#: Arrays over all nodes are large: beyond so many bytes the oldest answers are forgotten. 500 shapes on 50,000 nodes
#: take 200 MB, and the working set of one walk is a part of that.
BYTES_MAX = 128 * 2**20
#: An answer of so many bytes counts for nothing.
SMALL = 4096


class Memory:
    """Remembers by key; the oldest is forgotten first."""

    def __init__(self) -> None:
        #: By key: the version, the answer and its size.
        self.known: dict[object, tuple[int, Any, int]] = {}
        #: Keys of large answers, the oldest first.
        self._large: dict[object, None] = {}
        self._bytes = 0

    def once(self, key: object, version: int, answer: Callable[[], T]) -> T:
        """Return the answer for this version, worked out once."""
        found = self.known.get(key)
        if found is not None:
            if found[0] == version:
                return found[1]  # type: ignore[no-any-return]  # a key always names answers of one type
            self._forget(key)
        fresh = answer()
        size = int(getattr(fresh, "nbytes", 0))
        self.known[key] = (version, fresh, size)
        if size > SMALL:
            self._large[key] = None
            self._bytes += size
        while self._bytes > BYTES_MAX:
            self._forget(next(iter(self._large)))
        return fresh

    def _forget(self, key: object) -> None:
        size = self.known.pop(key)[2]
        if key in self._large:
            del self._large[key]
            self._bytes -= size
