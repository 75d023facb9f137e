"""Queue books: what each queue has, the queues above it too. Charged with what its tasks take or are promised."""

import numpy as np

from phalanx.engine.session.journal import Journal
from phalanx.engine.session.residents import Residents
from phalanx.model.axis import Bool, Int
from phalanx.model.snapshot import Snapshot


class QueueBooks:
    """[queue, resource] on the axes of the queue table. Every change is in the journal."""

    def __init__(self, snapshot: Snapshot, journal: Journal) -> None:
        self._snapshot = snapshot
        self._journal = journal
        #: [shape, resource]: what one copy is charged with.
        self._costs = snapshot.charges[:, snapshot.queues.columns]
        self.allocated = snapshot.queues.allocated.copy()
        #: Of that, what must not be preempted.
        self.fixed = snapshot.queues.fixed.copy()

    def charge_tasks(self, tasks: Int, sign: int = 1) -> None:
        """Charge the queues of waiting tasks, or (-1) give back."""
        gangs = self._snapshot.gangs
        gang = self._snapshot.tasks.gang[tasks]
        self._charge(gangs.queue[gang], gangs.preemptible[gang], self._snapshot.tasks.shape[tasks], sign)

    def charge_residents(self, rows: Int, table: Residents, sign: int) -> None:
        """Charge the queues of residents, or (-1) give back."""
        gang = table.gang[rows]
        self._charge(table.queue[gang], table.preemptible[gang], table.shape[rows], sign)

    def _charge(self, queue: Int, preemptible: Bool, shape: Int, sign: int) -> None:
        if not self._snapshot.queues.resources or not len(queue):
            return
        if len(queue) == 1:
            self._add(int(queue[0]), self._costs[shape[0]] * sign, preemptible=bool(preemptible[0]))
            return
        kinds = 2 * queue + preemptible
        # A loop over the queues of these tasks: of one unit it is one.
        for kind in [int(kinds[0])] if (kinds == kinds[0]).all() else np.unique(kinds).tolist():
            cost = self._costs[shape[kinds == kind]].sum(axis=0) * sign
            self._add(kind // 2, cost, preemptible=kind % 2 == 1)

    def _add(self, queue: int, cost: Int, *, preemptible: bool) -> None:
        """Charge one queue and those above it."""
        if queue < 0:
            return
        path = self._snapshot.queues.paths[queue]
        self._journal.write(self.allocated, path, self.allocated[path] + cost)
        if not preemptible:
            self._journal.write(self.fixed, path, self.fixed[path] + cost)

    def shift(self, queue: int, amounts: Int) -> None:
        """Change what one queue has, without those above it: for a question that is rolled back."""
        row = np.array([queue])
        self._journal.write(self.allocated, row, self.allocated[row] + amounts)
