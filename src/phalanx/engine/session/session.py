"""The session: what a cycle has decided so far. It has no modes: what a question depends on is in its request."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np

from phalanx.engine.session.column import AMOUNTS, Column
from phalanx.engine.session.devices import Devices
from phalanx.engine.session.entries import Entry, Evicted, Placed, Promised, Released, Reservation, Waiting
from phalanx.engine.session.fences import Fences
from phalanx.engine.session.islands import Islands
from phalanx.engine.session.journal import Journal
from phalanx.engine.session.ledger import EVERY, Ledger, Promise
from phalanx.engine.session.memory import ALWAYS, Memory
from phalanx.engine.session.queue_books import QueueBooks
from phalanx.engine.session.reasons import Reasons
from phalanx.engine.session.request import NOBODY, Request, When
from phalanx.engine.session.residents import Residents, residents_of
from phalanx.engine.session.rows import counted, distinct
from phalanx.engine.session.taking import open_devices, release_devices, take_devices, vacate_devices
from phalanx.engine.session.units import Taken, Unit, Units, gang_units
from phalanx.model.axis import Int
from phalanx.model.plan import Code, Reason, Search
from phalanx.model.sharing import Sharing
from phalanx.model.snapshot import Snapshot

T = TypeVar("T")

#: Places a unit as the policy in force would.
Attempt = Callable[["Session", Unit], Taken]


class Mark(NamedTuple):
    """A moment to which the session can return."""

    journal: tuple[int, int]
    log: int
    reasons: int


@dataclass(slots=True)
class Session:
    """One cycle's books, and a log of what it decided."""

    snapshot: Snapshot
    journal: Journal
    ledger: Ledger
    queues: QueueBooks
    #: [queue, resource]: what each queue is entitled to now, on the axes of the queue table.
    shares: Int
    #: [task]: the node row that it got or was promised in this cycle, or -1.
    place: Int
    #: [task]: the node row that is promised to it, or -1.
    promise: Int
    #: [task]: 1 where a promise that it had was given up in this cycle: nobody takes that over as well.
    released: Int
    #: [task]: 1 where its promise may be taken over in this cycle: it lands last, if it is still its own then.
    disputed: Int
    #: [gang]: 1 where a task of it got a place in this cycle.
    served: Int
    #: [resident]: 1 where it must leave by this plan.
    evicted: Int
    #: [budget]: how many more pods of each disruption budget may be disrupted.
    budgets: Int
    #: [node, 2]: cpu and memory in use as Kubernetes scores them.
    scored: Int
    fences: Fences
    log: list[Entry] = field(default_factory=list[Entry])
    reasons: Reasons = field(default_factory=Reasons)
    searches: list[Search] = field(default_factory=list[Search])
    reservation: Reservation | None = None
    memory: Memory = field(default_factory=Memory)
    #: The books of shared devices (None: nobody shares any), and of islands inside nodes.
    devices: Devices | None = None
    islands: list[Islands] = field(default_factory=list[Islands])
    #: Gangs with a promise, now or before a rollback.
    _promising: set[int] = field(default_factory=set[int])
    #: A resident was evicted, or was before a rollback.
    evicting: bool = False
    _attempt: Attempt | None = None
    _units: Units | None = None
    _residents: Residents | None = None

    @classmethod
    def open(
        cls,
        snapshot: Snapshot,
        columns: Iterable[Column] = (),
        attempt: Attempt | None = None,
        shares: Int | None = None,
        sharing: Sharing | None = None,
        layers: tuple[str, ...] = (),
    ) -> "Session":
        """Start a cycle: private copies of everything that may change. `sharing`, `layers`: as plugins say."""
        journal, tasks = Journal(), snapshot.tasks
        promised = np.flatnonzero(tasks.nominated >= 0)
        session = cls(
            snapshot=snapshot, journal=journal, ledger=Ledger(snapshot, journal, columns),
            queues=QueueBooks(snapshot, journal),
            shares=np.zeros_like(snapshot.queues.quota) if shares is None else shares,
            place=np.full(len(tasks), -1, np.int64), promise=tasks.nominated.copy(),
            released=np.zeros(len(tasks), np.int64), disputed=np.zeros(len(tasks), np.int64),
            served=np.zeros(len(snapshot.gangs), np.int64),
            evicted=np.zeros(len(snapshot.running) + len(promised), np.int64),
            budgets=snapshot.running.budgets.copy(), scored=snapshot.nodes.scored.copy(order="F"),
            fences=Fences(snapshot, journal), _attempt=attempt,
            _promising=set(tasks.gang[promised].tolist()),
        )  # fmt: skip
        session.queues.charge_tasks(promised)
        session.devices = open_devices(session, sharing, layers, promised)
        return session

    @property
    def version(self) -> int:
        """Return what names the state of the books: equal versions, equal books."""
        return self.journal.version

    @property
    def promising(self) -> bool:
        """Tell whether some place is promised, or was before a rollback."""
        return bool(self._promising)

    @property
    def units(self) -> Units:
        """Return the units of all waiting gangs, worked out once."""
        if self._units is None:
            self._units = gang_units(self.snapshot)
        return self._units

    @property
    def residents(self) -> Residents:
        """Return the tasks on nodes and the promised tasks as the cycle began; worked out once."""
        if self._residents is None:
            self._residents = residents_of(self.snapshot, self.units, self.snapshot.tasks.nominated)
        return self._residents

    def spare(self, request: Request, count: int, column: str = AMOUNTS) -> Int:
        """Return what a request may take of one count of a column (of one resource), per row (per node)."""
        return self.once(("spare", column, count, self.view(request)), lambda: self._spare(request, count, column))

    def spare_amounts(self, request: Request, nodes: Int | None = None) -> Int:
        """Return [node, resource]: what a request may take, as it says now or later; or [entry of nodes, resource]."""
        if nodes is not None and self.own_promise(request.gang) is None:
            return self._spare(request, EVERY, AMOUNTS, nodes)
        every = self.once(("amounts", self.view(request)), lambda: self._spare(request, EVERY, AMOUNTS))
        return every if nodes is None else every[nodes]

    def _spare(self, request: Request, counts: int | slice, column: str, rows: Int | slice = EVERY) -> Int:
        own, priority = self.own_promise(request.gang), self.priority(request)
        return self.ledger.spare(column, counts, request.when, own, priority, beside=request.beside, rows=rows)

    def view(self, request: Request) -> tuple[object, ...]:
        """Return what of a request, beside its shape and the nodes it is confined to, answers depend on."""
        gang, fences = request.gang, self.fences
        own = gang in self._promising or gang in fences.gangs or gang in fences.singled
        beside = request.beside or self.reservation is None
        # Hashing an enum takes longer than the rest of the key.
        return (request.when is When.LATER, beside, gang if own else NOBODY, self.priority(request))

    def priority(self, request: Request) -> int:
        """Return the priority whose promises count against a request; 0 where nobody else has promises."""
        return self.snapshot.shapes[request.shape].priority if self.ledger.foreign else 0

    def own_promise(self, gang: int) -> Promise | None:
        """Return what was promised to a gang and is not in use by this plan; None: nothing.

        What this plan promises to its first tasks counts against the others.
        """
        if gang not in self._promising:
            return None
        tasks = self.promised_tasks(gang)
        tasks = tasks[self.place[tasks] < 0]
        return (self.snapshot.tasks.shape[tasks], self.promise[tasks]) if len(tasks) else None

    def promised_tasks(self, gang: int) -> Int:
        """Return the tasks of a gang that have a promise."""
        if gang not in self._promising:
            return np.zeros(0, np.int64)
        gangs = self.snapshot.gangs
        first = int(gangs.first[gang])
        return first + np.flatnonzero(self.promise[first : first + int(gangs.count[gang])] >= 0)

    def write(self, array: Int, rows: Int, values: Int | int) -> None:
        """Change some rows of an array of this session, and remember what they were."""
        self.journal.write(array, rows, values)

    def take(self, request: Request, tasks: Int, nodes: Int, devices: Int | None = None) -> Int | None:
        """Place tasks of one shape on nodes, entry by entry, now or later; without tasks the places alone are taken.

        What was promised to them before is given up. Returns [entry, device]: what they share; None: nothing.
        """
        later = request.when is When.LATER
        if len(tasks):
            self.drop_promise(tasks)
        shared = take_devices(self, request, tasks, nodes, devices)
        rows, counts = counted(nodes)
        book = self.ledger.promise if later else self.ledger.occupy
        book(request.shape, rows, counts, beside=request.beside)
        self.write(self.scored, rows, self.scored[rows] + counts[:, None] * self.snapshot.scored[request.shape])
        if len(tasks):
            self.write(self.place, tasks, nodes)
            if later:
                self.write(self.promise, tasks, nodes)
                self._promising.add(int(self.snapshot.tasks.gang[tasks[0]]))
            gangs = distinct(self.snapshot.tasks.gang[tasks])
            self.write(self.served, gangs, 1)
            self.queues.charge_tasks(tasks)
            self.fences.lift(gangs)
        self.log.append(Promised(tasks, nodes) if later else Placed(tasks, nodes))
        return shared

    def drop_promise(self, tasks: Int) -> None:
        """Give back the places that are promised to these tasks, where some are."""
        if not self._promising or not len(mine := tasks[self.promise[tasks] >= 0]):
            return
        shapes = self.snapshot.tasks.shape[mine]
        # A loop over the shapes of one unit, or of those that land together.
        for shape in distinct(shapes).tolist():
            rows, counts = counted(self.promise[mine[shapes == shape]])
            self.ledger.release(shape, rows, counts)
        release_devices(self, mine)
        self.queues.charge_tasks(mine, -1)
        self.write(self.promise, mine, -1)

    def release(self, tasks: Int, reason: str) -> None:
        """Give up promises by a decision of its own, and note why."""
        self.drop_promise(tasks)
        self.write(self.place, tasks, -1)
        self.write(self.released, tasks, 1)
        self.log.append(Released(tasks, reason))

    def evict(self, residents: Int) -> None:
        """Evict residents: what they have will be free, and their queues are credited."""
        table = self.residents
        self.evicting = True
        self.write(self.evicted, residents, 1)
        promised, gone = table.apart(residents)
        if len(promised):
            self.drop_promise(promised)
            self.write(self.place, promised, -1)
        if not len(gone):
            return
        lasting = None if self.reservation is None else self.reservation.lasting[gone]
        self.ledger.vacate(table.shape[gone], table.node[gone], lasting)
        vacate_devices(self, gone)
        if len(self.budgets) and len(budgeted := gone[table.budget[gone] >= 0]):
            used = np.bincount(table.budget[budgeted], minlength=len(self.budgets))
            self.write(self.budgets, np.arange(len(used)), self.budgets - used)
        self.queues.charge_residents(gone, table, -1)

    def evict_for(self, residents: Int, action: str, gang: int | None, why: str) -> None:
        """Evict residents, and note the beneficiary and the rule.

        Those under a disruption budget come first: if the cluster refuses one of them, no other has left in vain.
        """
        self.evict(residents)
        first = np.argsort(self.residents.budget[residents] < 0, kind="stable") if len(self.budgets) else EVERY
        self.log.append(Evicted(residents[first], action, gang, why))
        promised, _ = self.residents.apart(residents)
        if len(promised) and gang is not None:
            losers = np.unique(self.snapshot.tasks.gang[promised])
            name = self.snapshot.gangs.gangs[gang].name
            for loser in losers.tolist():
                self.reasons.replace(loser, Reason(Code.FULL, f"{name} took over the place that was promised to it"))
            self.log.append(Waiting(losers))

    def once(self, key: object, answer: Callable[[], T], *, static: bool = False) -> T:
        """Return an answer, worked out once for the present state of the books (static: for any state)."""
        version = ALWAYS if static else self.journal.version
        known = self.memory.known.get(key)
        return known[1] if known is not None and known[0] == version else self.memory.once(key, version, answer)

    def attempt(self, unit: Unit) -> Taken:
        """Place a unit as the policy would, for a veto that must see more. The caller rolls back what it changed."""
        assert self._attempt is not None, "a session that decide opened knows how its policy places"
        return self._attempt(self, unit)

    def wait(self, gangs: Int, reasons: Iterable[Reason]) -> None:
        """Note why gangs were refused, one reason each. A gang that has a reason already keeps it."""
        self.reasons.add(gangs.tolist(), reasons)
        self.log.append(Waiting(gangs))

    def note(self, gang: int, text: str) -> None:
        """Add a note to the reason of a gang that waits."""
        if gang in self.reasons:
            self.reasons[gang] = self.reasons[gang].adding(text)

    def checkpoint(self) -> Mark:
        """Return a mark for now."""
        return Mark(self.journal.mark(), len(self.log), self.reasons.mark())

    def rollback(self, mark: Mark) -> None:
        """Return to an earlier moment, bit for bit."""
        self.journal.rollback(mark.journal)
        del self.log[mark.log :]
        self.reasons.rollback(mark.reasons)
