"""Reasons: why gangs wait, as far as a session knows."""

from collections.abc import Iterable

from phalanx.model.plan import Reason


class Reasons(dict[int, Reason]):
    """By gang; of several reasons the first counts. What an attempt replaced is there again when it is rolled back."""

    def __init__(self) -> None:
        """Begin with none."""
        super().__init__()
        self._replaced: list[tuple[int, Reason | None]] = []

    def add(self, gangs: Iterable[int], reasons: Iterable[Reason]) -> None:
        """Note one reason each. A gang that has a reason already keeps it."""
        # From the last to the first: of several reasons the first stays.
        fresh = dict(reversed(list(zip(gangs, reasons, strict=True))))
        for known in fresh.keys() & self.keys():
            del fresh[known]
        self.update(fresh)

    def replace(self, gang: int, reason: Reason) -> None:
        """Let a gang have this reason, whichever it had."""
        self._replaced.append((gang, self.get(gang)))
        self[gang] = reason

    def mark(self) -> int:
        """Return a mark for now."""
        return len(self._replaced)

    def rollback(self, mark: int) -> None:
        """Undo what was replaced since a mark."""
        while len(self._replaced) > mark:
            gang, before = self._replaced.pop()
            if before is None:
                self.pop(gang, None)
            else:
                self[gang] = before
