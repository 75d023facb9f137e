"""Steps: a session's log as the steps of a plan."""

from collections.abc import Sequence
from itertools import repeat

import numpy as np

from phalanx.engine.eviction.in_vain import InVain
from phalanx.engine.placement.choosing import Choosing
from phalanx.engine.policy import Policy
from phalanx.engine.session.entries import Evicted, Moved, Placed, Promised, Released, Waiting
from phalanx.engine.session.session import Session
from phalanx.model.axis import Float, Int
from phalanx.model.gang import Gang
from phalanx.model.plan import Bind, Code, Evict, Nominate, Reason, Release, Step, Wait
from phalanx.model.requeue import turns
from phalanx.model.snapshot import Snapshot


def steps_of(session: Session, policy: Policy) -> tuple[Step, ...]:
    """Return the steps in the order of decision: one per task, one wait per gang that misses members."""
    snapshot = session.snapshot
    waits, choosing = _Waits(session, policy), Choosing(snapshot)
    steps: list[Step] = []
    for entry in session.log:
        match entry:
            case Placed():
                steps += _binds(session, choosing, entry.tasks, entry.nodes)
            case Promised():
                # A promise that was taken over since, or has landed, has a step of its own.
                still = session.promise[entry.tasks] == entry.nodes
                steps += _nominations(session, entry.tasks[still], entry.nodes[still])
            case Released():
                steps += _releases(snapshot, entry.tasks, entry.reason)
            case Moved():
                steps += _moves(session, entry)
            case Evicted():
                steps += _evictions(session, entry)
            case Waiting():
                steps += waits.steps(entry.gangs)
    return tuple(steps)


class _Waits:
    """Makes one wait per gang, the first time that it is named."""

    def __init__(self, session: Session, policy: Policy) -> None:
        snapshot = session.snapshot
        tasks, gangs = snapshot.tasks, snapshot.gangs
        self._session, self._policy = session, policy
        self._missing = gangs.count - np.bincount(tasks.gang[session.place >= 0], minlength=len(gangs))
        self._queued: Float = turns(snapshot.now, gangs.created, gangs.start_timeout, gangs.running)
        self._said = np.zeros(len(gangs), np.bool_)
        preempts = any(action.name == "preempt" for action in policy.actions)
        self._in_vain = InVain(session, policy) if preempts else None
        nobody = np.zeros(len(gangs), np.bool_)
        self._above = self._in_vain.above_somebody(gangs.priority) if self._in_vain is not None else nobody
        #: Gangs to whose reason something may be added.
        self._noting = (self._queued > 0) | ~gangs.evicts | self._above
        #: By reason and note: most gangs that wait share theirs.
        self._with: dict[tuple[int, str], Reason] = {}

    def steps(self, gangs: Int) -> list[Wait]:
        fresh = gangs[(self._missing[gangs] > 0) & ~self._said[gangs]]
        if len(fresh) > 1:
            # A gang that was refused several times says so once; the order of decision stays.
            fresh = fresh[np.sort(np.unique(fresh, return_index=True)[1])]
        self._said[fresh] = True
        table, reasons = self._session.snapshot.gangs.gangs, self._session.reasons
        found = [(table[row], row) for row in fresh.tolist()]
        missing = self._missing[fresh].tolist()
        noted = self._noting[fresh].tolist()
        why = [
            self._noted(reasons[row], gang, row) if note else reasons[row]
            for (gang, row), note in zip(found, noted, strict=True)
        ]
        names, keys = [gang.name for gang, _ in found], [gang.key for gang, _ in found]
        # Most of a cycle in which nothing can be decided goes here; a NamedTuple's own constructor takes twice as long.
        columns = zip(names, keys, missing, why, strict=True)
        return list(map(tuple.__new__, repeat(Wait), columns))

    def _noted(self, reason: Reason, gang: Gang, row: int) -> Reason:
        # What is held stands in no queue; told as news, each turn would be another event on each of its pods.
        if self._policy.requeues and self._queued[row] and reason.code is not Code.HELD:
            times = int(self._queued[row])
            often = "once" if times == 1 else f"{times} times"
            reason = reason.adding(f"queued again after its start timeout of {gang.start_timeout:g} s, {often}")
        if not gang.evicts and self._policy.takes and reason.code is Code.FULL:
            return reason.adding("no pod is evicted for it (preemptionPolicy Never)")
        if self._in_vain is not None and self._above[row] and reason.code is Code.FULL and reason.refusals:
            reason = self._why_nobody_leaves(self._in_vain, reason, row)
        return reason

    def _why_nobody_leaves(self, in_vain: InVain, reason: Reason, row: int) -> Reason:
        gangs, tasks = self._session.snapshot.gangs, self._session.snapshot.tasks
        shapes = tasks.shape[gangs.first[row] : gangs.first[row] + gangs.count[row]]
        if (shapes != shapes[0]).any():
            return reason
        note = in_vain.note(int(shapes[0]), int(gangs.priority[row]))
        key = (id(reason), note)
        if key not in self._with:
            self._with[key] = reason.adding(note)
        return self._with[key]


def _evictions(session: Session, entry: Evicted) -> list[Step]:
    """Return an eviction per task that runs, and a release per promise that is taken over."""
    snapshot, table = session.snapshot, session.residents
    running, nodes = snapshot.running, snapshot.nodes.names
    gang = None if entry.gang is None else snapshot.gangs.gangs[entry.gang]
    name, key = (None, None) if gang is None else (gang.name, gang.key)
    runs = entry.residents[entry.residents < table.running].tolist()
    found: list[Step] = [
        Evict(
            running.names[row], running.uids[row], nodes[running.node[row]], entry.action,
            name, entry.reason, key, running.gangs[running.gang[row]].key,
        )
        for row in runs
    ]  # fmt: skip
    promised = table.task[entry.residents[entry.residents >= table.running]]
    if len(promised):
        assert gang is not None, "a promise is taken over by a gang"
        found += _releases(snapshot, promised, f"taken over by {gang.name} ({entry.action}): {entry.reason}")
    return found


def _moves(session: Session, entry: Moved) -> list[Nominate]:
    """Return where moved pods go to: the successor of each takes that place."""
    running, nodes = session.snapshot.running, session.snapshot.nodes.names
    gangs = [running.gangs[row] for row in running.gang[entry.residents].tolist()]
    devices: Sequence[tuple[str, ...]] = [()] * len(gangs)
    if session.devices is not None and entry.devices is not None:
        devices = session.devices.named(session.residents.shape[entry.residents], entry.devices)
    return [
        Nominate(running.names[row], running.uids[row], nodes[node], gang.name, gang.key, shared)
        for row, node, gang, shared in zip(entry.residents.tolist(), entry.nodes.tolist(), gangs, devices, strict=True)
    ]


def _releases(snapshot: Snapshot, tasks: Int, reason: str) -> list[Release]:
    table, gangs, names = snapshot.tasks, snapshot.gangs.gangs, snapshot.nodes.names
    found: list[Release] = []
    # A loop over promises that are given up, which are few.
    for row in tasks.tolist():
        gang = gangs[table.gang[row]]
        node = table.lost.get(row) or names[table.nominated[row]]
        found.append(Release(table.names[row], table.uids[row], node, gang.name, gang.key, reason))
    return found


def _binds(session: Session, choosing: Choosing, tasks: Int, nodes: Int) -> list[Bind]:
    columns: list[Sequence[object]] = [*_columns(session.snapshot, tasks, nodes), *_devices(session, tasks)]
    if session.snapshot.tasks.volumes:
        # A column of volumes stands behind one of devices.
        columns += [*([[()] * len(tasks)] if session.devices is None else []), choosing.choose(tasks, nodes)]
    return list(map(Bind, *columns))


def _nominations(session: Session, tasks: Int, nodes: Int) -> list[Nominate]:
    return list(map(Nominate, *_columns(session.snapshot, tasks, nodes), *_devices(session, tasks)))


def _devices(session: Session, tasks: Int) -> tuple[list[tuple[str, ...]], ...]:
    """Return the column of the devices that tasks share; no column where nobody shares any."""
    books = session.devices
    if books is None:
        return ()
    return (books.named(session.snapshot.tasks.shape[tasks], books.tasks[tasks]),)


def _columns(snapshot: Snapshot, tasks: Int, nodes: Int) -> tuple[list[str], ...]:
    """Return name, uid, node, gang and key of tasks. As columns: a gang of thousands is one entry."""
    table, gangs, rows = snapshot.tasks, snapshot.gangs.gangs, tasks.tolist()
    owners = [gangs[gang] for gang in table.gang[tasks].tolist()]
    return (
        [table.names[row] for row in rows],
        [table.uids[row] for row in rows],
        [snapshot.nodes.names[node] for node in nodes.tolist()],
        [gang.name for gang in owners],
        [gang.key for gang in owners],
    )
