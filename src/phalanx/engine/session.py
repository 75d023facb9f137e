"""The session: one cycle's working copy of the columns, with a way back to any earlier moment.

Every change goes through `write`, which notes the old values in the journal. A checkpoint is a place in the
journal; rolling back to it restores every array bit for bit. Checkpoints nest.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

import numpy as np

from phalanx.engine.units import Taken, Unit
from phalanx.model.axis import Bool, Int
from phalanx.model.plan import Reason
from phalanx.model.queue import Placement
from phalanx.model.snapshot import Snapshot

#: Answers to remember at a time: enough for the shapes that alternate in a backlog.
REMEMBERED_MAX = 128
#: The version of an answer that no placement changes.
ALWAYS = -1

T = TypeVar("T")

#: Called after a placement, so that a plugin can bring its own columns up to date.
Charge = Callable[["Session", int, Int, Int], None]

#: Places a unit as the policy in force would.
Attempt = Callable[["Session", Unit], Taken]


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment to which the session can return."""

    journal: int
    log: int
    version: int


@dataclass(frozen=True, slots=True)
class Placed:
    """Tasks that got nodes, in order."""

    tasks: Int
    nodes: Int


@dataclass(frozen=True, slots=True)
class Kept:
    """Tasks for which places are kept until they are free, in order."""

    tasks: Int
    nodes: Int


@dataclass(frozen=True, slots=True)
class Moved:
    """Running tasks that must leave, and where places are kept for them, in order."""

    tasks: Int
    nodes: Int


@dataclass(frozen=True, slots=True)
class Evicted:
    """Running tasks that must leave, for whom (None: for nobody) and by which action and rule."""

    tasks: Int
    action: str
    gang: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """A gang that was refused, and why."""

    gang: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Hold:
    """A place that is kept for a gang until a time at which it is expected to be free."""

    gang: int
    start: float
    #: [running task]: it will still be there then.
    lasting: Bool


#: The column of what is left beside a hold, [node, resource]. It is there while there is one.
SLACK = "slack"

#: The column of nodes that are kept for a gang: its row plus one; 0: for nobody. It is there if a plugin keeps nodes.
KEPT = "kept"

#: What a session notes down, in the order of decision.
Entry: TypeAlias = Placed | Kept | Moved | Evicted | Waiting


@dataclass(slots=True)
class Session:
    """What a cycle has decided so far."""

    snapshot: Snapshot
    #: Everything that a placement changes, by name; plugins add theirs.
    columns: dict[str, Int]
    charges: tuple[Charge, ...] = ()
    #: [queue, resource]: what each queue is entitled to now, on the axes of the queue table.
    shares: Int = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    #: How the unit under way wants its nodes, where its queue has a word in it; None: as the policy says.
    placement: Placement | None = None
    #: Rows that had room when the placement under way started. Scores are normalised over them.
    candidates: Int = field(default_factory=lambda: np.zeros(0, np.int64))
    #: Names the state of the columns: equal versions, equal columns. Answers are remembered by it.
    version: int = 0
    #: Answers that were worked out in this session. Bounded: arrays over all nodes are large.
    memory: dict[object, tuple[int, object]] = field(default_factory=dict[object, tuple[int, object]])
    log: list[Entry] = field(default_factory=list[Entry])
    #: Places that are not free yet may be taken: what is releasing counts, and whoever takes it is nominated.
    ahead: bool = False
    #: The place that is kept for the first gang that is blocked, and whether the unit under way is gone by then.
    hold: Hold | None = None
    brief: bool = False
    #: Gangs for which nodes are kept, or were before a rollback.
    kept_for: set[int] = field(default_factory=set[int])
    #: Nobody reads the reasons of refusals now: they need not be worked out.
    curt: bool = False
    _journal: list[tuple[Int, Int, Int]] = field(default_factory=list[tuple[Int, Int, Int]])
    _versions: int = 0
    _holding: bool = False
    _attempt: Attempt | None = None

    @classmethod
    def open(
        cls,
        snapshot: Snapshot,
        columns: Mapping[str, Int] | None = None,
        charges: tuple[Charge, ...] = (),
        attempt: Attempt | None = None,
        shares: Int | None = None,
    ) -> "Session":
        """Start a cycle: private copies of the columns that may change."""
        nodes = snapshot.nodes
        own = {
            "free": nodes.free, "releasing": nodes.releasing, "held": nodes.held, "scored": nodes.scored,
            "device_free": snapshot.devices.free, "place": np.full(len(snapshot.tasks), -1, np.int64),
            "queue_allocated": snapshot.queues.allocated, "queue_fixed": snapshot.queues.fixed,
            "served": np.zeros(len(snapshot.gangs), np.int64),
            "evicted": np.zeros(len(snapshot.running), np.int64), "budgets": snapshot.running.budgets,
        }  # fmt: skip
        copies = {name: array.copy(order="F") for name, array in (own | dict(columns or {})).items()}
        entitled = np.zeros_like(snapshot.queues.quota) if shares is None else shares
        return cls(snapshot, copies, charges, entitled, _holding=bool(nodes.held.any()), _attempt=attempt)

    @property
    def free(self) -> Int:
        """[node, resource]: allocatable less everything charged, this cycle's placements too."""
        return self.columns["free"]

    @property
    def place(self) -> Int:
        """[task]: the node row it got in this cycle, or -1."""
        return self.columns["place"]

    def spare(self, column: int) -> Int:
        """Return what anybody may take of one resource now, per node: nominated space is not for anybody.

        A nomination first waits for what is releasing; only what exceeds that lies in `free`.
        """
        free: Int = self.columns["free"][:, column]
        if self.ahead:
            free = free + self.columns["releasing"][:, column] - self.columns["held"][:, column]
        if self.hold is not None and not self.brief:
            free = np.minimum(free, self.columns[SLACK][:, column])
        if self.ahead:
            return free
        if not self._holding:
            return free
        owed = self.columns["held"][:, column] - self.columns["releasing"][:, column]
        unowed: Int = free - np.maximum(owed, 0)
        return unowed

    def write(self, column: str, rows: Int, values: Int) -> None:
        """Change some rows of a column, and remember what they were."""
        array = self.columns[column]
        self._journal.append((array, rows, array[rows]))
        array[rows] = values
        self._versions += 1
        self.version = self._versions

    def take(self, shape: int, tasks: Int, nodes: Int) -> None:
        """Place tasks of one shape on nodes, entry by entry, and charge for them."""
        rows, counts = (nodes, np.ones(1, np.int64)) if len(nodes) == 1 else np.unique(nodes, return_counts=True)
        cost = counts[:, None] * self.snapshot.requests[shape]
        if self.ahead:
            self._holding = True
            self.write("held", rows, self.columns["held"][rows] + cost)
        else:
            self.write("free", rows, self.columns["free"][rows] - cost)
        if self.hold is not None and not self.brief:
            self.write(SLACK, rows, self.columns[SLACK][rows] - cost)
        self.write("scored", rows, self.columns["scored"][rows] + counts[:, None] * self.snapshot.scored[shape])
        if len(tasks):
            self.write("place", tasks, nodes)
            gangs = np.unique(self.snapshot.tasks.gang[tasks])
            self.write("served", gangs, np.ones(len(gangs), np.int64))
            self._charge_queue(shape, tasks)
        for charge in self.charges:
            charge(self, shape, rows, counts)
        self.log.append(Kept(tasks, nodes) if self.ahead else Placed(tasks, nodes))

    def evict(self, tasks: Int) -> None:
        """Let running tasks go: what they have will be free, and their queues have it no longer."""
        running, table = self.snapshot.running, self.snapshot.queues
        if len(tasks) == 1:
            rows, gone = running.node[tasks], running.requests[tasks]
        else:
            rows, at = np.unique(running.node[tasks], return_inverse=True)
            gone = np.zeros((len(rows), running.requests.shape[1]), np.int64)
            np.add.at(gone, at, running.requests[tasks])
        self.write("releasing", rows, self.columns["releasing"][rows] + gone)
        if self.hold is not None:
            self._widen(tasks[self.hold.lasting[tasks]])
        self.write("evicted", tasks, np.ones(len(tasks), np.int64))
        budgeted = tasks[running.budget[tasks] >= 0]
        if len(budgeted):
            used = np.bincount(running.budget[budgeted], minlength=len(running.budgets))
            every = np.arange(len(used))
            self.write("budgets", every, self.columns["budgets"] - used)
        if not table.resources:
            return
        queue = running.queue[running.gang[tasks]]
        # A loop over the queues of these tasks: of one unit it is one.
        for leaf in sorted(set(queue.tolist()) - {-1}):
            cost = running.requests[tasks[queue == leaf]][:, table.columns].sum(axis=0)
            path = table.paths[leaf]
            self.write("queue_allocated", path, self.columns["queue_allocated"][path] - cost)

    def _widen(self, tasks: Int) -> None:
        """Count what these leave beside the place that is kept: they would still be there when it is needed."""
        rows, at = np.unique(self.snapshot.running.node[tasks], return_inverse=True)
        wider = self.columns[SLACK][rows]
        np.add.at(wider, at, self.snapshot.running.requests[tasks])
        self.write(SLACK, rows, wider)

    def evict_for(self, tasks: Int, action: str, gang: int | None, why: str) -> None:
        """Let running tasks go, and note for whom and why.

        Those under a budget come first: if the cluster refuses one of them, nobody has left for nothing.
        """
        self.evict(tasks)
        ordered = tasks[np.argsort(self.snapshot.running.budget[tasks] < 0, kind="stable")]
        self.log.append(Evicted(ordered, action, gang, why))

    def _charge_queue(self, shape: int, tasks: Int, sign: int = 1) -> None:
        """Charge the queue of these tasks, which is one, and all above it."""
        table, gangs = self.snapshot.queues, self.snapshot.gangs
        if not table.resources:
            return
        gang = self.snapshot.tasks.gang[tasks[0]]
        queue = int(gangs.queue[gang])
        if queue < 0:
            return
        path = table.paths[queue]
        cost = sign * len(tasks) * self.snapshot.requests[shape, table.columns]
        self.write("queue_allocated", path, self.columns["queue_allocated"][path] + cost)
        if not gangs.preemptible[gang]:
            self.write("queue_fixed", path, self.columns["queue_fixed"][path] + cost)

    def keep(self, nodes: Int, gang: int) -> None:
        """Close nodes to everybody but a gang."""
        self.kept_for.add(gang)
        self.write(KEPT, nodes, np.full(len(nodes), gang + 1))

    def release_nominations(self, gang: int) -> None:
        """Open the space that is nominated to a gang's tasks, and nodes kept for it: it is about to be placed."""
        if gang in self.kept_for:
            mine = np.flatnonzero(self.columns[KEPT] == gang + 1)
            self.write(KEPT, mine, np.zeros(len(mine), np.int64))
        self._shift_nominations(gang, -1)

    def restore_nominations(self, gang: int) -> None:
        """Keep the space of those that found no place after all, as it was kept before."""
        self._shift_nominations(gang, 1)

    def release(self, shape: int, tasks: Int) -> None:
        """Open the space that is nominated to tasks of one shape and one queue: they are about to take it."""
        rows, counts = np.unique(self.snapshot.tasks.nominated[tasks], return_counts=True)
        self.write("held", rows, self.columns["held"][rows] - counts[:, None] * self.snapshot.requests[shape])
        self._charge_queue(shape, tasks, -1)

    def _shift_nominations(self, gang: int, sign: int) -> None:
        if not self._holding:
            return
        gangs, tasks = self.snapshot.gangs, self.snapshot.tasks
        mine = np.arange(gangs.first[gang], gangs.first[gang] + gangs.count[gang])
        mine = mine[(tasks.nominated[mine] >= 0) & (self.place[mine] < 0)]
        # A loop over the nominated tasks of one gang; most gangs have none.
        for task in mine.tolist():
            row = tasks.nominated[task : task + 1]
            request = self.snapshot.requests[tasks.shape[task]]
            self.write("held", row, np.maximum(self.columns["held"][row] + sign * request, 0))
            self._charge_queue(int(tasks.shape[task]), np.array([task]), sign)

    def charge_nominations(self) -> None:
        """Charge queues with what is nominated to their tasks: it is promised, to them and to nobody else."""
        tasks = self.snapshot.tasks
        for task in np.flatnonzero((tasks.nominated >= 0) & (self.snapshot.gangs.queue[tasks.gang] >= 0)).tolist():
            self._charge_queue(int(tasks.shape[task]), np.array([task]))

    def once(self, key: object, answer: Callable[[], T], *, static: bool = False) -> T:
        """Return an answer, worked out once for the present state of the columns (static: for any state)."""
        version = ALWAYS if static else self.version
        if not static:
            # The same columns mean something else to who may wait for a place, or will be gone in time.
            key = (key, self.ahead, self.brief)
        found = self.memory.get(key)
        if found is not None and found[0] == version:
            return found[1]  # type: ignore[return-value]  # a key always names answers of one type
        if len(self.memory) >= REMEMBERED_MAX:
            self.memory.clear()
        fresh = answer()
        self.memory[key] = (version, fresh)
        return fresh

    def attempt(self, unit: Unit) -> Taken:
        """Place a unit as the policy in force would: for a veto that must see more than its own unit.

        It changes the session. Whoever tries, undoes: take a checkpoint before, and roll back to it.
        """
        assert self._attempt is not None, "a session that core opened knows how its policy places"
        self.release_nominations(unit.gang)
        return self._attempt(self, unit)

    def wait(self, gang: int, reason: Reason) -> None:
        """Note why a gang was refused."""
        self.log.append(Waiting(gang, reason))

    def checkpoint(self) -> Mark:
        """Return a mark for now."""
        return Mark(len(self._journal), len(self.log), self.version)

    def rollback(self, mark: Mark) -> None:
        """Return to an earlier moment, bit for bit."""
        while len(self._journal) > mark.journal:
            array, rows, values = self._journal.pop()
            array[rows] = values
        del self.log[mark.log :]
        self.version = mark.version
