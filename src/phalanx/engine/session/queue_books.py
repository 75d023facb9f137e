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
        table = self._snapshot.queues
        if not table.resources or not len(queue):
            return
        kinds = 2 * queue + preemptible
        # A loop over the queues of these tasks: of one unit it is one.
        for kind in [int(kinds[0])] if (kinds == kinds[0]).all() else np.unique(kinds).tolist():
            if kind < 0:
                continue
            mine = shape[kinds == kind]
            path = table.paths[kind // 2]
            cost = sign * self._snapshot.requests[mine][:, table.columns].sum(axis=0)
            self._journal.write(self.allocated, path, self.allocated[path] + cost)
            if not kind % 2:
                self._journal.write(self.fixed, path, self.fixed[path] + cost)

    def shift(self, queue: int, amounts: Int) -> None:
        """Change what one queue has, without those above it: for a question that is rolled back."""
        row = np.array([queue])
        self._journal.write(self.allocated, row, self.allocated[row] + amounts)
