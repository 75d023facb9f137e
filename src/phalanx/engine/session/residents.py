"""Residents: our tasks on nodes, and tasks to which a place is promised, as one table. Any may be evicted.

A promise may be taken over by who could evict the beneficiary if it already ran there. So the beneficiary stands
here as if it did; what leaves is then the promise.
"""

from dataclasses import dataclass

import numpy as np

from phalanx.engine.session.units import Units
from phalanx.model.axis import Bool, Float, Int
from phalanx.model.gang import row_of
from phalanx.model.running import UNBUDGETED
from phalanx.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Residents:
    """Rows of the running table first, in its order; then promised tasks, gang by gang."""

    #: Rows below this run.
    running: int
    #: [resident]: row among `priority` and the other columns of gangs; row of the node table; row among the shapes.
    gang: Int
    node: Int
    shape: Int
    movable: Bool
    budget: Int
    #: [resident]: row of the task table where it only has a promise, else -1.
    task: Int
    #: [gang]: its residents are rows first … first + count - 1, of which so many stay together or leave together.
    first: Int
    count: Int
    minimum: Int
    #: [gang]: row of its queue, or -1.
    queue: Int
    priority: Int
    preemptible: Bool
    created: Float
    #: When the last of its minimum started; infinity for a promise, which nothing protects.
    started: Float
    #: [gang]: row among the gangs that wait for more tasks, or -1.
    waiting: Int

    def apart(self, rows: Int) -> tuple[Int, Int]:
        """Return the tasks of residents that only have a promise, and the residents that run."""
        if len(self) == self.running:
            return rows[:0], rows
        return self.task[rows[rows >= self.running]], rows[rows < self.running]

    def __len__(self) -> int:
        return len(self.gang)


def residents_of(snapshot: Snapshot, units: Units, promise: Int) -> Residents:
    """Return the table. `promise` is [task]: the node that is promised to it, or -1."""
    running, gangs = snapshot.running, snapshot.gangs
    tasks, owner, minimum = _promised(snapshot, units, promise)
    of, count = np.unique(owner, return_counts=True)
    first = np.append(running.first, len(running) + np.cumsum(count) - count)
    nothing = np.zeros(len(tasks), np.bool_)
    return Residents(
        running=len(running),
        gang=np.append(running.gang, len(running.gangs) + np.searchsorted(of, owner)),
        node=np.append(running.node, promise[tasks]),
        shape=np.append(running.shape, snapshot.tasks.shape[tasks]),
        movable=np.append(running.movable, nothing),
        budget=np.append(running.budget, np.full(len(tasks), UNBUDGETED)),
        task=np.append(np.full(len(running), -1), tasks),
        first=first,
        count=np.append(running.count, count),
        minimum=np.append(running.minimum, minimum),
        queue=np.append(running.queue, gangs.queue[of]),
        priority=np.append(running.priority, gangs.priority[of]),
        preemptible=np.append(running.preemptible, gangs.preemptible[of]),
        created=np.append(running.created, gangs.created[of]),
        started=np.append(running.started, np.full(len(of), -np.inf)),
        waiting=np.append(_waiting(snapshot), of),
    )


def _waiting(snapshot: Snapshot) -> Int:
    """Return, per gang of the running table, its row among the gangs that wait for more tasks, or -1."""
    found = np.full(len(snapshot.running.gangs), -1)
    # A loop over the waiting gangs of which members are on nodes, which are few. Both tables are sorted by key.
    for row in np.flatnonzero(snapshot.gangs.present > 0).tolist():
        at = row_of(snapshot.running.gangs, snapshot.gangs.gangs[row].key)
        if at is not None:
            found[at] = row
    return found


def _promised(snapshot: Snapshot, units: Units, promise: Int) -> tuple[Int, Int, Int]:
    """Return the tasks whose promise may be taken over, gang by gang; each one's gang; and each gang's minimum.

    Of a gang of which members run only the growth: without its minimum, what runs would be left behind.
    """
    gangs = snapshot.gangs
    rows = np.flatnonzero(promise >= 0)
    nobody = rows[:0]
    if not len(rows):
        return nobody, nobody, nobody
    has = np.zeros(len(gangs), np.bool_)
    has[snapshot.tasks.gang[rows]] = True
    tasks: list[Int] = []
    minimum: list[int] = []
    chosen = np.flatnonzero(has[units.gang] & (units.count > 0))
    chosen = chosen[np.lexsort([units.beyond[chosen], units.gang[chosen]])]
    # A loop over the units of gangs that have promises, which are few.
    complete = True
    last = -1
    for index in chosen.tolist():
        mine = units.unit(index).tasks
        gang = int(units.gang[index])
        whole = bool((promise[mine] >= 0).all())
        if gang != last:
            last, complete = gang, True
            minimum.append(0)
        if not units.growth[index]:
            complete = whole and not gangs.running[gang]
            if complete:
                minimum[-1] = len(mine)
                tasks.append(mine)
        elif whole and complete:
            tasks.append(mine)
    found = np.concatenate([nobody, *tasks])
    owner = snapshot.tasks.gang[found]
    counts = dict(zip(dict.fromkeys(units.gang[chosen].tolist()), minimum, strict=True))
    return found, owner, np.array([counts[gang] for gang in np.unique(owner).tolist()], np.int64)
