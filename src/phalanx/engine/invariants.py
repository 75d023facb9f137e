"""Invariants: what must hold of any plan. Tests, the simulator and production call this one check.

It costs in proportion to the steps that do something: a plan of nothing but waits costs nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from phalanx.engine.opening import open_session
from phalanx.engine.placement.choosing import obtainable
from phalanx.engine.placement.copies import caps_of, copies
from phalanx.engine.placement.split_gangs import split_gangs
from phalanx.engine.plugin import Plugin
from phalanx.engine.policy import Policy
from phalanx.engine.session.request import Request, When
from phalanx.engine.session.rows import distinct
from phalanx.engine.session.session import Session
from phalanx.model.axis import Bool, Int
from phalanx.model.gang import lacking, leaves, row_of
from phalanx.model.plan import Bind, Evict, Nominate, Plan, Release, Step
from phalanx.model.running import OVERBUDGETED
from phalanx.model.sharing import NOWHERE, Part
from phalanx.model.snapshot import Snapshot

VOLUMES = "every claim of a bound task gets a volume that serves it on its node, and no volume is given twice"
#: In the place of a row: there is none.
UNKNOWN = -1


class Violation(AssertionError):  # noqa: N818 (what it is, not what it does)
    """A plan that must not be carried out: our mistake, never the user's."""

    def __init__(self, promise: str, gangs: tuple[str, ...] = ()) -> None:
        super().__init__(f"a plan must keep this promise and does not: {promise}")
        self.promise = promise
        #: Keys of the gangs without which the promise would be kept, as far as that can be told.
        self.gangs = gangs


def check(snapshot: Snapshot, policy: Policy, plan: Plan) -> None:
    """Raise Violation unless the plan is safe to carry out."""
    if not plan.acts:
        return
    binds = [step for step in plan.acts if isinstance(step, Bind)]
    evicts = [step for step in plan.acts if isinstance(step, Evict)]
    releases = [step for step in plan.acts if isinstance(step, Release)]
    nominates = [step for step in plan.acts if isinstance(step, Nominate)]
    rows = _Rows(snapshot)
    leaving = rows.of_running(evicts)
    _check_evictions(snapshot, evicts, leaving, rows)
    gone = {step.uid for step in evicts}
    moves = [step for step in nominates if step.uid in gone]
    nominates = [step for step in nominates if step.uid not in gone]
    bound, promised, released = rows.of_tasks(binds), rows.of_tasks(nominates), rows.of_tasks(releases)
    _require(binds, bound != UNKNOWN, "every bound task was waiting")
    _require(binds, rows.nodes(binds) != UNKNOWN, "every node of a bind exists")
    _require(binds, _once(bound), "no task is bound twice")
    _require(binds, ~snapshot.tasks.held[bound], "no task that must be held is bound")
    _require(nominates, promised != UNKNOWN, "every nominated task was waiting")
    _require([*nominates, *moves], rows.nodes([*nominates, *moves]) != UNKNOWN, "every node of a nomination exists")
    _require(nominates, _once(promised) & ~np.isin(promised, bound), "no task is nominated twice, or bound as well")
    _require(releases, released != UNKNOWN, "every released task was waiting")
    there = snapshot.tasks.nominated[released] == rows.nodes(releases)
    _require(releases, there & _once(released), "only a nomination that is there is released, and once")
    if snapshot.tasks.volumes:
        _require(binds, obtainable(snapshot, binds, bound, rows.nodes(binds)), VOLUMES)
    _Books(snapshot, policy, rows, leaving).check(binds, bound, nominates, promised, moves, released)
    if policy.groups:
        _check_gangs(snapshot, bound)
    split = split_gangs(snapshot, policy, np.append(bound, promised), rows.nodes([*binds, *nominates]), released)
    if split:
        raise Violation("no gang that must be in one domain is split", tuple(split))
    if policy.counting:
        _require(binds, _within_limits(snapshot, bound), "no queue gets more than its limit")


def _require(steps: Sequence[Step], satisfied: Bool, promise: str) -> None:
    """`satisfied` says of each step whether it keeps the promise."""
    if not satisfied.all():
        broken = [steps[index].gang_key or "" for index in np.flatnonzero(~satisfied).tolist()]
        raise Violation(promise, tuple(key for key in dict.fromkeys(broken) if key))


def _once(rows: Int) -> Bool:
    found, at, counts = np.unique(rows, return_inverse=True, return_counts=True)
    once: Bool = (counts[at] == 1) | (rows == UNKNOWN)
    return once if len(found) else np.ones(len(rows), np.bool_)


class _Rows:
    """Finds the rows of steps. Gangs are sorted by key, so nobody looks through all of them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._uids: dict[tuple[bool, str], dict[str, int]] = {}

    def of_tasks(self, steps: Sequence[Bind | Nominate | Release]) -> Int:
        found = (self._members(step.gang_key, running=False).get(step.uid, UNKNOWN) for step in steps)
        return np.fromiter(found, np.int64, len(steps))

    def of_running(self, steps: Sequence[Evict]) -> Int:
        found = (self._members(step.victim_key, running=True).get(step.uid, UNKNOWN) for step in steps)
        return np.fromiter(found, np.int64, len(steps))

    def nodes(self, steps: Sequence[Bind | Nominate | Release | Evict]) -> Int:
        row = self._snapshot.nodes.row
        return np.fromiter((row.get(step.node, UNKNOWN) for step in steps), np.int64, len(steps))

    def waits(self, key: str) -> bool:
        return row_of(self._snapshot.gangs.gangs, key) is not None

    def _members(self, key: str, *, running: bool) -> dict[str, int]:
        known = self._uids.get((running, key))
        if known is None:
            of = self._snapshot.running if running else self._snapshot.gangs
            uids = self._snapshot.running.uids if running else self._snapshot.tasks.uids
            gang = row_of(of.gangs, key)
            mine = range(int(of.first[gang]), int(of.first[gang] + of.count[gang])) if gang is not None else range(0)
            known = self._uids[running, key] = {uids[row]: row for row in mine}
        return known


def _check_evictions(snapshot: Snapshot, evicts: list[Evict], leaving: Int, rows: _Rows) -> None:
    running = snapshot.running
    _require(evicts, leaving != UNKNOWN, "only tasks of ours that run are evicted")
    _require(evicts, running.node[leaving] == rows.nodes(evicts), "a task is evicted where it runs")
    _require(evicts, _once(leaving), "no task is evicted twice")
    known = np.array([step.gang_key is None or rows.waits(step.gang_key) for step in evicts], np.bool_)
    _require(evicts, known, "every beneficiary of an eviction is a gang that waits")
    under = running.budget[leaving]
    used = np.bincount(under[under >= 0], minlength=len(running.budgets))
    over = np.append(used > running.budgets, False)[under]
    _require(evicts, (under != OVERBUDGETED) & ~(over & (under >= 0)), "no disruption budget is exceeded")


class _Books:
    """Carries a plan out on fresh books, and asks every filter about every place."""

    def __init__(self, snapshot: Snapshot, policy: Policy, rows: _Rows, leaving: Int) -> None:
        self._snapshot, self._rows = snapshot, rows
        self._session: Session = open_session(snapshot, policy)
        # Islands inside a node fill up in the order of decision, and here those of one shape come at once.
        self._policy = policy if not self._session.islands else _without(policy, lambda plugin: bool(plugin.layer))
        self._leaving = leaving

    def check(
        self, binds: list[Bind], bound: Int, nominates: list[Nominate], promised: Int, moves: list[Nominate],
        released: Int,
    ) -> None:  # fmt: skip
        session, shapes = self._session, self._snapshot.tasks.shape
        session.drop_promise(np.concatenate([bound, promised, released]))
        if len(self._leaving):
            session.evict(self._leaving)
        gangs = self._snapshot.tasks.gang
        nominated = {int(gang) for gang in gangs[session.promise >= 0]}
        for steps, tasks, when in ((binds, bound, When.NOW), (nominates, promised, When.LATER)):
            own = np.array([gang if gang in nominated else UNKNOWN for gang in gangs[tasks].tolist()], np.int64)
            promise = "every place of a bind is free, by every filter, and promised to nobody else"
            if when is When.LATER:
                promise = "every nominated place will be free, by every filter"
            self._fill(steps, shapes[tasks], own, when, promise)
        of = {self._snapshot.running.uids[row]: row for row in self._leaving.tolist()}
        moved = np.array([of[step.uid] for step in moves], np.int64)
        nobody = np.full(len(moves), UNKNOWN)
        where = "there will be a place for every task that is moved"
        self._fill(moves, self._snapshot.running.shape[moved], nobody, When.LATER, where)

    def _fill(self, steps: Sequence[Step], shapes: Int, own: Int, when: When, promise: str) -> None:
        """Put every step where it says, those of one shape at once, and ask whether that may be."""
        nodes = self._rows.nodes(steps)  # type: ignore[arg-type]  # no waits among them
        kinds = np.stack([shapes, own, self._runs(shapes, own)], axis=1)
        found, first = np.unique(kinds, axis=0, return_index=True)
        # The plugin that says where parts go has no say: that is looked at device by device.
        shares = self._session.devices is not None
        others = _without(self._policy, lambda plugin: plugin.sharing() is not None) if shares else self._policy
        # A loop over the shapes of the steps; a policy that asks after each copy is asked so here.
        for at in np.argsort(first).tolist():
            shape, gang, _ = found[at].tolist()
            mine = np.flatnonzero((kinds == found[at]).all(axis=1))
            request = Request(shape, len(mine), gang, when)
            rows, counts = np.unique(nodes[mine], return_counts=True)
            part = self._part(shape)
            together = True
            if part is None:
                room = copies(self._session, self._policy, request)
                together = len(mine) == 1 or all(
                    one.allow(nodes[mine]) for one in caps_of(self._session, self._policy, request)
                )
            else:
                # Where on the node it may be is looked at device by device, below.
                everywhere = replace(request, within=np.ones(len(self._snapshot.nodes), np.bool_))
                room = copies(self._session, others, everywhere)
            asked = np.zeros(len(room), np.int64)
            asked[rows] = counts
            fine = np.ones(len(steps), np.bool_)
            fine[mine] = (room >= asked)[nodes[mine]] & together
            _require(steps, fine, promise)
            self._put(steps, mine, nodes[mine], request, part)

    def _runs(self, shapes: Int, own: Int) -> Int:
        """Return [step]: a number for those that are looked at together, in the order of the plan.

        Whom others count in their domains, or who counts others, stands where it stands; the order of all else is of
        no consequence.
        """
        if not self._policy.by_count:
            return np.arange(len(shapes))
        session, policy = self._session, self._policy
        found = np.zeros(len(shapes), np.int64)
        counting = any(plugin.columns(self._snapshot) for plugin in policy.reaching)
        near = [one for one in distinct(shapes).tolist() if counting and _looks_around(session, policy, one)]
        if near:
            mine = np.isin(shapes, near)
            both = (shapes * (own.max(initial=UNKNOWN) + 2) + own + 1)[mine]
            found[mine] = np.cumsum(np.append(True, both[1:] != both[:-1]))
        return found

    def _part(self, shape: int) -> Part | None:
        books = self._session.devices
        return books.parts[shape] if books is not None else None

    def _put(self, steps: Sequence[Step], mine: Int, nodes: Int, request: Request, part: Part | None) -> None:
        """Put these steps of one shape on their nodes, and on the very devices that they say."""
        books, fine = self._session.devices, np.ones(len(steps), np.bool_)
        said = [getattr(steps[at], "devices", ()) for at in mine.tolist()]
        if books is None or part is None:
            fine[mine] = [not names for names in said]
            _require(steps, fine, "nobody shares a device who did not ask for a part of one")
            self._session.take(request, np.zeros(0, np.int64), nodes)
            return
        rows = [books.rows(node, names) for node, names in zip(nodes.tolist(), said, strict=True)]
        fine[mine] = [len(set(row) - {NOWHERE}) == part.devices == len(row) for row in rows]
        _require(steps, fine, "who asks for parts of devices gets as many devices of the node")
        devices = np.array(rows)
        before = books.wholes(np.unique(nodes))
        self._session.take(request, np.zeros(0, np.int64), nodes, devices)
        fine[mine] = books.sound(request.shape, devices, before)
        _require(steps, fine, "no device is shared beyond what it has, and none that somebody has whole")


def _looks_around(session: Session, policy: Policy, shape: int) -> bool:
    """Tell whether the place of such a task says something of places of others, or theirs of its own."""
    asked = (plugin.room(session, Request(shape)) for plugin in policy.filters if plugin.reach != "node")
    return session.ledger.counted_in_domains(shape) or any(room is not None for room in asked)


def _without(policy: Policy, left_out: Callable[[Plugin], bool]) -> Policy:
    """Return a policy without some plugins."""
    return replace(policy, plugins=tuple(one for one in policy.plugins if not left_out(one.plugin)))


def _within_limits(snapshot: Snapshot, tasks: Int) -> Bool:
    """Return, per bind, whether no queue above it is brought beyond its limit."""
    table = snapshot.queues
    asked = np.zeros_like(table.allocated)
    queue = snapshot.gangs.queue[snapshot.tasks.gang[tasks]]
    for row in distinct(queue).tolist():
        cost = snapshot.charges[snapshot.tasks.shape[tasks[queue == row]]][:, table.columns].sum(axis=0)
        asked[table.paths[row]] += cost
    over = np.asarray(((table.allocated + asked > table.limit) & (asked > 0)).any(axis=1), np.bool_)
    guilty = {row: bool(over[table.paths[row]].any()) for row in distinct(queue).tolist()}
    return np.array([not guilty[row] for row in queue.tolist()], np.bool_)


def _check_gangs(snapshot: Snapshot, tasks: Int) -> None:
    """No gang, and no subgroup of one, is started below its minimum or grows beyond its maximum."""
    gangs = snapshot.gangs
    bound = np.bincount(snapshot.tasks.gang[tasks], minlength=len(gangs))
    started = bound > 0
    split = started & (gangs.running + bound < gangs.minimum)
    grown = started & (gangs.present + bound > np.maximum(gangs.maximum, gangs.present))
    for broken, promise in (
        (split, "no gang is split below its minimum"),
        (grown, "no gang exceeds its maximum"),
        (_short_of_subgroups(snapshot, tasks, started), "no subgroup is split below its minimum"),
    ):
        if broken.any():
            raise Violation(promise, tuple(gangs.gangs[row].key for row in np.flatnonzero(broken).tolist()))


def _short_of_subgroups(snapshot: Snapshot, tasks: Int, started: Bool) -> Bool:
    gangs = snapshot.gangs
    broken = np.zeros(len(gangs), np.bool_)
    for row in np.flatnonzero(started & gangs.irregular).tolist():
        there, gang, touched = dict(gangs.running_in.get(row, {})), gangs.gangs[row], set[str]()
        for task in tasks[snapshot.tasks.gang[tasks] == row].tolist():
            name = snapshot.tasks.subgroups[task]
            if name is not None:
                there[name] = there.get(name, 0) + 1
                touched.add(name)
        # Of subgroups that need not all start, those that do start whole.
        begun = [part for part in leaves(gang.subgroups) if not gang.chooses or part.name in touched]
        missing = lacking(gang.subgroups, gang.groups, there) > 0
        broken[row] = missing or any(there.get(part.name, 0) < part.minimum for part in begun)
    return broken
