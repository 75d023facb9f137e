"""Invariants: what must hold of any plan. Tests, the simulator and production call this one check."""

import numpy as np

from phalanx.engine.policy import Policy
from phalanx.engine.units import subgroup_minimums
from phalanx.model.axis import Int
from phalanx.model.plan import Plan
from phalanx.model.snapshot import Snapshot


class Violation(AssertionError):  # noqa: N818 (what it is, not what it does)
    """A plan that must not be carried out: our mistake, never the user's."""


def check(snapshot: Snapshot, policy: Policy, plan: Plan) -> None:
    """Raise Violation unless the plan is safe to carry out."""
    row_of = {uid: row for row, uid in enumerate(snapshot.tasks.uids)}
    tasks = np.array([row_of.get(bind.uid, -1) for bind in plan.binds], np.int64)
    nodes = np.array([snapshot.nodes.row.get(bind.node, -1) for bind in plan.binds], np.int64)
    _require((tasks >= 0).all(), "every bound task was waiting")
    _require((nodes >= 0).all(), "every node of a bind exists")
    _require(len(np.unique(tasks)) == len(tasks), "no task is bound twice")
    _require(not snapshot.tasks.held[tasks].any(), "no task that must be held is bound")
    _check_capacity(snapshot, tasks, nodes)
    if policy.groups:
        _check_gangs(snapshot, tasks)


def _check_capacity(
    snapshot: Snapshot,
    tasks: Int,
    nodes: Int,
) -> None:
    """No node is oversubscribed in any resource that a bind asks of it."""
    asked = np.zeros_like(snapshot.nodes.free)
    np.add.at(asked, nodes, snapshot.requests[snapshot.tasks.shape[tasks]])
    _require(((asked <= snapshot.nodes.free) | (asked == 0)).all(), "no node is oversubscribed")


def _check_gangs(snapshot: Snapshot, tasks: Int) -> None:
    """No gang, and no subgroup of one, is started below its minimum."""
    gangs = snapshot.gangs
    bound = np.bincount(snapshot.tasks.gang[tasks], minlength=len(gangs))
    started = bound > 0
    _require((gangs.running + bound >= gangs.minimum)[started].all(), "no gang is split below its minimum")
    _require(
        (gangs.running + bound <= np.maximum(gangs.maximum, gangs.running))[started].all(),
        "no gang exceeds its maximum",
    )
    for row in np.flatnonzero(started & gangs.intricate).tolist():
        there = dict(gangs.running_in.get(row, {}))
        for task in tasks[snapshot.tasks.gang[tasks] == row].tolist():
            name = snapshot.tasks.subgroups[task]
            if name is not None:
                there[name] = there.get(name, 0) + 1
        short = [s.name for s in subgroup_minimums(gangs.gangs[row]) if there.get(s.name, 0) < s.minimum]
        _require(not short, f"no subgroup is split below its minimum ({', '.join(short)})")


def _require(holds: object, promise: str) -> None:
    if not holds:
        raise Violation(f"a plan must keep this promise and does not: {promise}")
