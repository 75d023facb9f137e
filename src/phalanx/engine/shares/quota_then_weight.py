"""QuotaThenWeight: first every queue's guarantee, then the surplus by priority, and inside a priority by weight."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.kernels.division import fill, scaled
from phalanx.engine.kernels.stretches import Stretches
from phalanx.engine.shares.levels import Level, top_down
from phalanx.model.axis import Float, Int
from phalanx.model.queue_table import QueueTable
from phalanx.model.snapshot import Snapshot
from phalanx.model.usage import Memory

#: Weights that depend on past use are counted in parts of this.
_FINE = 2**20


@dataclass(frozen=True, slots=True)
class QuotaThenWeight:
    """With a memory, who used less than its weight over the past gets more of the surplus now."""

    #: How strongly past use counts; 0: not at all.
    k: float = 1.0
    memory: Memory | None = None
    name: ClassVar[str] = "quota_then_weight"

    def __post_init__(self) -> None:
        if not 0 <= self.k <= 100:
            raise ValueError(f"k: found {self.k}, allowed is 0 to 100")
        if self.memory is None:
            return
        for field, seconds in (("window", self.memory.window), ("halfLife", self.memory.half_life)):
            if seconds is not None and not seconds > 0:
                raise ValueError(f"memory.{field}: found {seconds}s, allowed is more than 0s")

    def deserved(self, snapshot: Snapshot) -> Int:
        """Return what each queue is entitled to now."""
        return self.divide(snapshot.queues)

    def divide(self, table: QueueTable) -> Int:
        """Return share[queue, resource]."""

        def one_level(level: Level, total: Int, guarantee: Int, requestable: Int) -> Int:
            share, left = guarantee.copy(), np.maximum(total - level.siblings.sums(guarantee), 0)
            # One pass per priority that some sibling group has; each serves all groups at once.
            band = _bands(table.priority[level.rows], level.siblings)
            for number in range(int(band.max()) + 1):
                at = np.flatnonzero((band == number) & (left > 0).any(axis=1)[level.siblings.of])
                if len(at):
                    among = Stretches.by(level.siblings.of[at])
                    above = level.siblings.of[at[among.first]]
                    missing = requestable[at] - share[at]
                    gained = self._surplus(table, level.rows[at], left[above], missing, among)
                    share[at] += gained
                    left[above] -= among.sums(gained)
            return share

        return top_down(table, one_level)

    def _surplus(self, table: QueueTable, rows: Int, left: Int, missing: Int, siblings: Stretches) -> Int:
        """Divide the surplus inside one priority.

        Weights are fixed before anybody is satisfied: if they moved as siblings leave, more capacity could cost a
        queue much of its share. Who has none for now, since it used so much, gets a turn once the others have enough.
        """
        nothing, gained = np.zeros_like(missing), np.zeros_like(missing)
        weight = scaled(table.weight[rows], siblings)
        waiting = (weight > 0) & (missing > 0)
        while waiting.any():
            counted = np.where(waiting, weight, 0)
            if self.memory is not None and self.k > 0:
                counted = _remembering(counted, table.usage[rows], self.k, siblings)
            served = fill(left, nothing, missing, counted, siblings, table.grain, table.age[rows])
            gained += served
            left = left - siblings.sums(served)
            # Where nobody is left with a weight, or nothing is left to divide, it is over.
            goes_on = (siblings.sums(counted) > 0) & (left > 0)
            waiting &= (counted == 0) & goes_on[siblings.of]
        return gained


def _bands(priority: Int, siblings: Stretches) -> Int:
    """Number the priorities inside each group of siblings, the highest 0. Rows come with priorities falling."""
    new = np.zeros(len(priority), np.int64)
    new[1:] = priority[1:] != priority[:-1]
    count = np.cumsum(new)
    return count - count[siblings.first][siblings.of]


def _remembering(weight: Int, usage: Float, k: float, siblings: Stretches) -> Int:
    """Return w' = n + k(n - u), where n is a queue's part of the weights and u what it used, as integers."""
    part = weight / np.maximum(siblings.sums(weight), 1)[siblings.of]
    pulled = np.maximum(part + k * (part - usage), 0.0)
    fine = np.maximum(np.rint(pulled * _FINE).astype(np.int64), 1)
    return np.where((weight > 0) & (pulled > 0), fine, 0)
