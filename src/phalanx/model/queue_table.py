"""The queue table of a snapshot: the tree as arrays, parents before children."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from phalanx.model.axis import Bool, Float, Int
from phalanx.model.queue import Placement, Queue


@dataclass(frozen=True, slots=True)
class QueueTable:
    """Every queue that is in order, one row each, sorted by (depth, name): a level is a range of rows.

    Arrays of [queue, resource] have one column per resource that some queue lists, in the order of `resources`.
    What a queue has includes what its children have.
    """

    queues: tuple[Queue, ...]
    row: Mapping[str, int]
    #: Row of the parent, or -1.
    parent: Int
    #: 0 directly under the root.
    depth: Int
    leaf: Bool
    resources: tuple[str, ...]
    #: Column on the snapshot's axis, per resource.
    columns: Int
    #: Shares of a resource are whole multiples of this: 1000 for GPUs, since half a GPU helps nobody; else 1.
    grain: Int
    #: [resource]: what there is to divide: ready nodes, less what runs outside every queue.
    total: Int
    #: [queue, resource]; UNLIMITED where there is no bound. A parent that does not list a resource has the sum of
    #: its children's quotas. A queue that must not borrow has its quota as limit.
    quota: Int
    limit: Int
    #: In thousandths.
    weight: Int
    listed: Bool
    priority: Int
    #: Rank by (creation, uid, name): the smallest is the oldest. Last of all tie-breaks.
    age: Int
    #: Running and on their way, decided or not confirmed. Terminating tasks are not among them.
    allocated: Int
    #: Of that, what must not be preempted.
    fixed: Int
    #: Allocated and waiting, without what is held.
    requested: Int
    #: Share of the cluster that was used over the window of the policy, 0 to 1; zeros without a memory.
    usage: Float
    placement: tuple[Placement | None, ...]
    #: Per leaf row: its ancestors and itself, the leaf first.
    paths: Mapping[int, Int]

    def __len__(self) -> int:
        return len(self.queues)

    def level(self, depth: int) -> slice:
        """Return the rows of one level."""
        first, last = np.searchsorted(self.depth, [depth, depth + 1])
        return slice(int(first), int(last))

    @property
    def levels(self) -> int:
        """Return how deep the tree is."""
        return int(self.depth[-1]) + 1 if len(self.depth) else 0
