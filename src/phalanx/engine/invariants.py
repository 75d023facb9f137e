"""Invariants: what must hold of any plan. Tests, the simulator and production call this one check."""

import numpy as np

from phalanx.engine.policy import Policy
from phalanx.engine.units import subgroup_minimums
from phalanx.model.axis import Bool, Int
from phalanx.model.plan import Plan
from phalanx.model.snapshot import Snapshot


class Violation(AssertionError):  # noqa: N818 (what it is, not what it does)
    """A plan that must not be carried out: our mistake, never the user's."""

    def __init__(self, promise: str, gangs: tuple[str, ...] = ()) -> None:
        super().__init__(f"a plan must keep this promise and does not: {promise}")
        self.promise = promise
        #: Keys of the gangs without which the promise would be kept, as far as that can be told.
        self.gangs = gangs


def check(snapshot: Snapshot, policy: Policy, plan: Plan) -> None:
    """Raise Violation unless the plan is safe to carry out."""
    row_of = {uid: row for row, uid in enumerate(snapshot.tasks.uids)}
    binds = plan.binds
    tasks = np.array([row_of.get(bind.uid, -1) for bind in binds], np.int64)
    nodes = np.array([snapshot.nodes.row.get(bind.node, -1) for bind in binds], np.int64)

    def require(kept: Bool, promise: str) -> None:
        """`kept` says of each bind whether it keeps the promise."""
        if not kept.all():
            broken = [binds[index].gang_key for index in np.flatnonzero(~kept).tolist()]
            raise Violation(promise, tuple(dict.fromkeys(broken)))

    require(tasks >= 0, "every bound task was waiting")
    require(nodes >= 0, "every node of a bind exists")
    require(np.bincount(tasks, minlength=1)[tasks] == 1, "no task is bound twice")
    require(~snapshot.tasks.held[tasks], "no task that must be held is bound")
    require(_fits(snapshot, tasks, nodes), "no node is oversubscribed")
    if policy.groups:
        _check_gangs(snapshot, tasks)
    if policy.counting:
        require(_within_limits(snapshot, tasks), "no queue gets more than its limit")


def _fits(snapshot: Snapshot, tasks: Int, nodes: Int) -> Bool:
    """Return, per bind, whether its node holds all that is bound to it, in every resource that is asked of it."""
    asked = np.zeros_like(snapshot.nodes.free)
    np.add.at(asked, nodes, snapshot.requests[snapshot.tasks.shape[tasks]])
    fine: Bool = ((asked <= snapshot.nodes.free) | (asked == 0)).all(axis=1)
    return fine[nodes]


def _within_limits(snapshot: Snapshot, tasks: Int) -> Bool:
    """Return, per bind, whether no queue above it is brought beyond its limit."""
    table = snapshot.queues
    asked = np.zeros_like(table.allocated)
    queue = snapshot.gangs.queue[snapshot.tasks.gang[tasks]]
    for row in np.unique(queue).tolist():
        cost = snapshot.requests[snapshot.tasks.shape[tasks[queue == row]]][:, table.columns].sum(axis=0)
        asked[table.paths[row]] += cost
    over = np.asarray(((table.allocated + asked > table.limit) & (asked > 0)).any(axis=1), np.bool_)
    guilty = {row: bool(over[table.paths[row]].any()) for row in np.unique(queue).tolist()}
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
    for row in np.flatnonzero(started & gangs.intricate).tolist():
        there = dict(gangs.running_in.get(row, {}))
        for task in tasks[snapshot.tasks.gang[tasks] == row].tolist():
            name = snapshot.tasks.subgroups[task]
            if name is not None:
                there[name] = there.get(name, 0) + 1
        broken[row] = any(there.get(part.name, 0) < part.minimum for part in subgroup_minimums(gangs.gangs[row]))
    return broken
