"""Weighted: the whole cluster by weight, as Volcano's `proportion` has it; a quota is only a floor.

Under quota_then_weight a guarantee comes on top of a queue's part of the surplus; here it is part of it, so two queues
of equal weight end equal as long as neither's guarantee is more than that. Priorities of queues do not count.
"""

from dataclasses import dataclass
from typing import ClassVar

from phalanx.engine.kernels.division import fill, scaled
from phalanx.engine.shares.levels import Level, top_down
from phalanx.model.axis import Int
from phalanx.model.queue_table import QueueTable
from phalanx.model.snapshot import Snapshot
from phalanx.model.usage import Memory


@dataclass(frozen=True, slots=True)
class Weighted:
    """Every queue stands at one level of share / weight, unless it asks for less or its quota is more."""

    name: ClassVar[str] = "weighted"
    memory: ClassVar[Memory | None] = None

    def deserved(self, snapshot: Snapshot) -> Int:
        """Return what each queue is entitled to now."""
        return self.divide(snapshot.queues)

    def divide(self, table: QueueTable) -> Int:
        """Return share[queue, resource]."""

        def one_level(level: Level, total: Int, guarantee: Int, requestable: Int) -> Int:
            weight = scaled(table.weight[level.rows], level.siblings)
            age = table.age[level.rows]
            return fill(total, guarantee, requestable, weight, level.siblings, table.grain, age)

        return top_down(table, one_level)
