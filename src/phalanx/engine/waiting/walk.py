"""The walk over the units that wait: one for allocating and for making room.

What was refused in this state of the books is passed over at once, wherever it stands. So a backlog in which nothing
can be decided costs one look per kind of request, not one per unit.
"""

from collections.abc import Callable

import numpy as np

from phalanx.engine.session.session import Session
from phalanx.engine.session.units import leading
from phalanx.engine.waiting.kinds import ALONE
from phalanx.engine.waiting.turns import Turns
from phalanx.model.axis import Bool, Int


class Walk:
    """Hands out units in order."""

    def __init__(
        self,
        session: Session,
        turns: Turns,
        kinds: Int,
        hopeless: Callable[[], Bool],
        refusals_max: int = 0,
    ) -> None:
        """Walk along `turns`. `kinds` is [unit].

        `hopeless` returns [unit]: who need not be tried in this state of the books. It is asked after so many refusals
        in one state (`refusals_max`; 0: at once), since it looks at everybody.
        """
        self._session = session
        self._turns = turns
        self._kinds = kinds
        self._hopeless = hopeless
        self._refusals_max = refusals_max
        self._refused = np.zeros(len(kinds), np.bool_)
        self._refusals = 0
        #: No state of a session has this number.
        self._version = -1

    @property
    def alone(self) -> bool:
        """Tell whether one queue is left: its order is then the whole order."""
        return self._turns.alone

    def line(self) -> Int:
        """Return what is left of the line whose turn it is, first unit first; empty when all had their turn."""
        return self._turns.line()

    def front(self, line: Int) -> int:
        """Return how many units at the front of a line are refused in this state of the books."""
        self._look()
        return leading(line, lambda part: self._refused[part])

    def done(self, count: int) -> None:
        """Take so many units off the line whose turn it was."""
        self._turns.done(count)

    def refuse(self, index: int, among: Bool | None = None) -> None:
        """Note that a unit was refused: it and all of its kind are passed over until the books change.

        `among`: only these of its kind were refused with it; None: all.
        """
        self._look()
        kind = self._kinds[index]
        if kind == ALONE:
            self._refused[index] = True
        else:
            same = self._kinds == kind
            self._refused |= same if among is None else same & among
        self._refusals += 1
        if self._refusals == self._refusals_max:
            self._refused |= self._hopeless()

    def _look(self) -> None:
        if self._version == self._session.version:
            return
        self._version = self._session.version
        if self._refusals or not self._refusals_max:
            self._refused[:] = False
        self._refusals = 0
        if not self._refusals_max:
            self._refused |= self._hopeless()
