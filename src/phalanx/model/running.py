"""The running table of a snapshot: our tasks on nodes, among whom victims are found."""

from dataclasses import dataclass

import numpy as np

from phalanx.model.axis import Bool, Float, Int
from phalanx.model.gang import Gang

#: In `budget`: the task is under no PodDisruptionBudget, or under more than one, and then it is nobody's victim.
UNBUDGETED = -1
OVERBUDGETED = -2


@dataclass(frozen=True, slots=True)
class RunningTable:
    """Every task of ours that runs or is on its way, on a node that we know, rows by gang.

    The last rows of a gang are the first to go.
    """

    uids: tuple[str, ...]
    #: `namespace/name`
    names: tuple[str, ...]
    #: Row among `gangs`.
    gang: Int
    #: Row of the node table.
    node: Int
    #: Row among the snapshot's shapes.
    shape: Int
    #: [task, resource]
    requests: Int
    #: Has a controller that will make it again; neither it nor its queue forbids to move it.
    movable: Bool
    #: Row among `budgets`, UNBUDGETED or OVERBUDGETED.
    budget: Int
    #: Per PodDisruptionBudget, how many more of its pods may be disrupted now.
    budgets: Int
    gangs: tuple[Gang, ...]
    #: Its tasks are rows first … first + count - 1.
    first: Int
    count: Int
    #: How many of them must stay if any does: the gang's minimum, less members that finished.
    minimum: Int
    #: Row of its queue, or -1.
    queue: Int
    priority: Int
    preemptible: Bool
    created: Float
    #: When the last of its minimum started.
    started: Float
    #: Seconds; infinity where nobody said so.
    expected_runtime: Float
    #: Since when it runs below its minimum because it lost members; infinity where it did not.
    broken_since: Float
    #: Since when it has not come together: members that should have started with these did not. Infinity: it has.
    split_since: Float

    def __len__(self) -> int:
        return len(self.uids)


def nobody(resources: int) -> RunningTable:
    """Return a table without tasks."""
    none, no, never = np.zeros(0, np.int64), np.zeros(0, np.bool_), np.zeros(0)
    return RunningTable(
        uids=(), names=(), gang=none, node=none, shape=none, requests=np.zeros((0, resources), np.int64),
        movable=no, budget=none, budgets=none, gangs=(), first=none, count=none, minimum=none, queue=none,
        priority=none, preemptible=no, created=never, started=never, expected_runtime=never, broken_since=never,
        split_since=never,
    )  # fmt: skip
