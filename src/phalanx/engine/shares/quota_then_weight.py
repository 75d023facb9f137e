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

    def deserved(self, snapshot: Snapshot) -> Int:
        """Return what each queue is entitled to now."""
        return self.divide(snapshot.queues)

    def divide(self, table: QueueTable) -> Int:
        """Return share[queue, resource]."""

        def one_level(level: Level, total: Int, guarantee: Int, requestable: Int) -> Int:
            left = np.maximum(total - level.siblings.sums(guarantee), 0)
            bands = _bands(table, level)
            weight = scaled(table.weight[level.rows], bands)
            missing = np.where(weight > 0, requestable - guarantee, 0)
            # Of the bands of one parent, the first ones get all they miss, at most one is contested, the last get
            # nothing: what is left for a band is known without looking at how those before it divide theirs.
            needed, parent = bands.sums(missing), level.siblings.of[bands.first]
            left = np.maximum(left[parent] - Stretches.by(parent).before(needed), 0)
            enough = needed <= left
            gained = np.where(enough[bands.of], missing, 0)
            contested = ~enough & (left > 0)
            at = np.flatnonzero(contested.any(axis=1)[bands.of])
            if len(at):
                among = Stretches.by(bands.of[at])
                band = bands.of[at[among.first]]
                open_to = np.where(contested[bands.of[at]], weight[at], 0)
                gained[at] += self._contest(table, level.rows[at], left[band], missing[at], open_to, among)
            return guarantee + gained

        return top_down(table, one_level)

    def _contest(self, table: QueueTable, rows: Int, left: Int, missing: Int, weight: Int, siblings: Stretches) -> Int:
        """Divide what is less than siblings of one priority miss.

        Weights are fixed before anybody has enough: if they moved as siblings leave, more capacity could cost a queue
        much of its share. A queue that has none for now, since it used so much, is served once the others have enough.
        """
        grain, age, nothing = table.grain, table.age[rows], np.zeros_like(missing)
        if self.memory is None or self.k <= 0:
            return fill(left, nothing, missing, weight, siblings, grain, age)
        gained, waiting = nothing, (weight > 0) & (missing > 0)
        while waiting.any():
            counted = _remembering(np.where(waiting, weight, 0), table.usage[rows], self.k, siblings)
            served = fill(left, nothing, missing, counted, siblings, grain, age)
            gained = gained + served
            left = left - siblings.sums(served)
            waiting &= (counted == 0) & (left > 0)[siblings.of]
        return gained


def _bands(table: QueueTable, level: Level) -> Stretches:
    """Return the siblings of one priority. Rows come by parent, priorities falling."""
    new = np.ones(len(level.rows), np.bool_)
    parent, priority = level.siblings.of, table.priority[level.rows]
    new[1:] = (parent[1:] != parent[:-1]) | (priority[1:] != priority[:-1])
    return Stretches.by(np.cumsum(new))


def _remembering(weight: Int, usage: Float, k: float, siblings: Stretches) -> Int:
    """Return w' = n + k(n - u) as integers, where n is a queue's part of the weights and u what it used.

    Where that leaves nobody a weight, which takes more past use than there was, weights are as they are.
    """
    part = weight / np.maximum(siblings.sums(weight), 1)[siblings.of]
    pulled = np.maximum(part + k * (part - usage), 0.0)
    fine = np.maximum(np.rint(pulled * _FINE).astype(np.int64), 1)
    fine = np.where((weight > 0) & (pulled > 0), fine, 0)
    return np.where((siblings.sums(fine) > 0)[siblings.of], fine, weight)
