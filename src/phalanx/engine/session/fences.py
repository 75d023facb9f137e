"""Fences: nodes that are kept for one gang, so that nobody else gets a place there; and nodes that it must stay on."""

import numpy as np

from phalanx.engine.session.journal import Journal
from phalanx.model.axis import Bool, Int
from phalanx.model.gang import row_of
from phalanx.model.snapshot import Snapshot


class Fences:
    """Which node is fenced off for whom. Every change is in the journal."""

    def __init__(self, snapshot: Snapshot, journal: Journal) -> None:
        self._journal = journal
        #: [node]: the gang that it is fenced off for, as its row plus one; 0: for nobody.
        self.of_node: Int = np.zeros(len(snapshot.nodes), np.int64)
        #: Gangs for which nodes are fenced off, or were before a rollback.
        self.gangs: set[int] = set()
        rows = (row_of(snapshot.gangs.gangs, key) for key in snapshot.failures)
        #: Gangs for which filters answer as for no other: members of theirs failed on some node.
        self.singled = frozenset(row for row in rows if row is not None)
        #: By gang, [node]: where it looks for room while room is made for it in one domain.
        self.confined: dict[int, Bool] = {}

    def put(self, nodes: Int, gang: int) -> None:
        """Close nodes to all gangs but one."""
        self.gangs.add(gang)
        self._journal.write(self.of_node, nodes, gang + 1)

    def lift(self, gangs: Int) -> None:
        """Open the nodes that were kept for these gangs."""
        for gang in self.gangs.intersection(gangs.tolist()) if self.gangs else ():
            self._journal.write(self.of_node, np.flatnonzero(self.of_node == gang + 1), 0)
