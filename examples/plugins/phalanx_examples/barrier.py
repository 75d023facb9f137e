"""Barrier: plain pods with one `job-id` start together, or step back and let others pass.

For jobs of people who know no gangs: they put label `job-id` on their pods, and `job-size` if they know it. List
it before `arrival`: the pods of a job must be neighbours in the order, or others take the room that was found.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.plugin_api import Code, Float, Int, Plugin, Reason, Seconds, Session, Snapshot, Taken, Unit, Units

JOB, SIZE = "job-id", "job-size"
WINDOW = Seconds(10.0)


@dataclass(frozen=True, slots=True)
class Job:
    """The waiting pods of one namespace with one `job-id`, none of them in a gang."""

    namespace: str
    id: str
    #: Rows of the task table, oldest first: the order in which they are tried.
    tasks: Int
    created: float


@dataclass(frozen=True, slots=True)
class Barrier(Plugin):
    """Hold a job until it is complete or its window has passed; then let it start only if all of it fits."""

    window: Seconds = WINDOW
    name: ClassVar[str] = "barrier"
    reads_labels: ClassVar[tuple[str, ...]] = (JOB, SIZE)

    def gang_key(self, session: Session, units: Units) -> Int | Float:
        """Return a rank: by time, a job's that of its oldest pod; no two jobs share one, so that none interleave."""
        jobs = _jobs(session)
        keys = [(created, "", "") for created in units.created.tolist()]
        for index in np.flatnonzero(units.count == 1).tolist():
            job = jobs.get(int(units.rows[units.first[index]]))
            if job is not None:
                keys[index] = (job.created, job.namespace, job.id)
        rank = {key: position for position, key in enumerate(sorted(set(keys)))}
        return np.array([rank[key] for key in keys], np.int64)

    def check(self, session: Session, unit: Unit, taken: Taken | None) -> Reason | None:
        """Judge the whole job before the first of its pods is searched a place."""
        job = None if taken is not None or len(unit.tasks) != 1 else _jobs(session).get(int(unit.tasks[0]))
        # One that has a place got it because all of them fit.
        if job is None or (session.place[job.tasks] >= 0).any():
            return None
        return session.once((self.name, job.namespace, job.id), lambda: self._judge(session, job))

    def _judge(self, session: Session, job: Job) -> Reason | None:
        lacking = self._lacking(session.snapshot, job)
        if lacking is not None:
            return Reason(Code.HELD, lacking)
        return _unfit(session, job)

    def _lacking(self, snapshot: Snapshot, job: Job) -> str | None:
        """Say why a job is not complete, or None."""
        shapes = [snapshot.shapes[shape] for shape in snapshot.tasks.shape[job.tasks].tolist()]
        sizes = sorted({dict(shape.labels).get(SIZE, "") for shape in shapes})
        if len(sizes) > 1 or not (sizes[0] == "" or (sizes[0].isascii() and sizes[0].isdigit())):
            return f"label {SIZE} of {JOB} {job.id}: found {', '.join(map(repr, sizes))}, allowed is one whole number"
        if len({shape.priority for shape in shapes}) > 1:
            return f"the pods of {JOB} {job.id} differ in priority, so that others would come between them"
        held = next((task for task in job.tasks.tolist() if snapshot.tasks.held[task]), None)
        if held is not None:
            return f"{snapshot.tasks.names[held]} of {JOB} {job.id} is held: {snapshot.tasks.holds[held]}"
        there, passed = len(job.tasks), snapshot.now - job.created >= self.window
        if sizes[0] == "":
            return None if passed else f"{there} pods of {JOB} {job.id} came, more may within {self.window:g} s"
        if there >= int(sizes[0]):
            return None
        came = f"{there} of {sizes[0]} pods of {JOB} {job.id} came"
        return f"{came} within {self.window:g} s: stepping back" if passed else came


def _unfit(session: Session, job: Job) -> Reason | None:
    """Try the pods in the order in which they would be placed, then undo it; say why not all of them fit."""
    start = session.checkpoint()
    gangs = session.snapshot.tasks.gang
    reason = None
    for fit, task in enumerate(job.tasks.tolist()):
        taken = session.attempt(Unit(int(gangs[task]), np.array([task]), whole=True, hold=None))
        if taken.reason is not None:
            wanted = len(job.tasks)
            text = f"{wanted} pods of {JOB} {job.id} start together, {fit} fit; for the next {taken.reason}"
            reason = Reason(taken.reason.code, text, wanted, fit, taken.reason.nodes, taken.reason.refusals)
            break
    session.rollback(start)
    return reason


def _jobs(session: Session) -> dict[int, Job]:
    """Return the job of every task that has one, worked out once in a session."""
    return session.once("barrier jobs", lambda: _find_jobs(session.snapshot), static=True)


def _find_jobs(snapshot: Snapshot) -> dict[int, Job]:
    tasks, gangs = snapshot.tasks, snapshot.gangs.gangs
    labelled = [number for number, shape in enumerate(snapshot.shapes) if JOB in dict(shape.labels)]
    rows: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for task in np.flatnonzero(np.isin(tasks.shape, labelled)).tolist():
        shape = snapshot.shapes[tasks.shape[task]]
        # A gang of one pod that names no gang has its uid in the key.
        if gangs[tasks.gang[task]].key == f"Pod/{tasks.uids[task]}":
            rows[shape.namespace, dict(shape.labels)[JOB]].append(task)
    found: dict[int, Job] = {}
    for (namespace, name), own in rows.items():
        mine = np.array(own)
        mine = mine[np.lexsort((mine, tasks.created[mine]))]
        job = Job(namespace, name, mine, float(tasks.created[mine[0]]))
        found |= dict.fromkeys(mine.tolist(), job)
    return found
