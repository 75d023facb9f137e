"""Landing: who has a place that is kept for it takes it as soon as it is free, before anybody else is decided.

Nobody else may take it anyway, and its queue is charged with it already, so it changes nobody's turn. What was promised
is what they get, and thousands of them are decided at once.
"""

import numpy as np

from phalanx.engine.placing import room
from phalanx.engine.policy import Policy
from phalanx.engine.session import Session
from phalanx.engine.units import Units
from phalanx.model.axis import Bool, Int


def land(session: Session, policy: Policy, units: Units) -> Bool:
    """Place the units whose kept places are all free, and tell which they are. Others are decided in their turn."""
    landed = np.zeros(len(units), np.bool_)
    if policy.choosy or not policy.by_count or not (session.snapshot.tasks.nominated >= 0).any():
        return landed
    ready = _ready(session, units)
    if not len(ready):
        return landed
    snapshot = session.snapshot
    shape, gang = snapshot.tasks.shape[units.rows[units.first[ready]]], units.gang[ready]
    kinds = np.stack([shape, snapshot.gangs.queue[gang], snapshot.gangs.preemptible[gang]], axis=1)
    # A loop over shapes and queues of those who land, which are few; by who is first, never by the number of a shape.
    for first in np.sort(np.unique(kinds, axis=0, return_index=True)[1]).tolist():
        landed[_land_alike(session, policy, units, ready[(kinds == kinds[first]).all(axis=1)])] = True
    return landed


def _land_alike(session: Session, policy: Policy, units: Units, chosen: Int) -> Int:
    """Place units of one shape and one queue; return those for whom no filter and no bound objects."""
    snapshot = session.snapshot
    shape, gang = int(snapshot.tasks.shape[units.rows[units.first[chosen[0]]]]), int(units.gang[chosen[0]])
    tasks, of = _tasks(units, chosen)
    nodes, start = snapshot.tasks.nominated[tasks], session.checkpoint()
    session.release(shape, tasks)
    short = room(session, policy, shape) < np.bincount(nodes, minlength=len(snapshot.nodes))
    allowed = min((veto.copies(session, gang, shape) for veto in policy.counting), default=len(tasks))
    session.rollback(start)
    fine = np.bincount(of[short[nodes]], minlength=len(chosen)) == 0
    if allowed < len(tasks) or not fine.any():
        return chosen[:0]
    mine = tasks[fine[of]]
    session.release(shape, mine)
    session.take(shape, mine, snapshot.tasks.nominated[mine])
    found: Int = chosen[fine]
    return found


def _ready(session: Session, units: Units) -> Int:
    """Return the units of one shape all of whose tasks have a place on nodes where all that is kept is free now."""
    snapshot, tasks, gangs = session.snapshot, session.snapshot.tasks, session.snapshot.gangs
    may = (units.count > 0) & (~units.growth | (gangs.running >= gangs.minimum)[units.gang])
    may[list(units.holds)] = False
    chosen = np.flatnonzero(may)
    rows, of = _tasks(units, chosen)
    shape, node = tasks.shape[rows], tasks.nominated[rows]
    settled = (session.columns["free"] >= session.columns["held"]).all(axis=1)
    settled &= snapshot.nodes.ready & ~snapshot.nodes.cordoned
    first = tasks.shape[units.rows[units.first[chosen]]]
    # Who has no place is in the last row.
    wrong = ~np.append(settled, False)[node] | (shape != first[of])
    ready: Int = chosen[np.bincount(of[wrong], minlength=len(chosen)) == 0]
    return ready


def _tasks(units: Units, chosen: Int) -> tuple[Int, Int]:
    """Return the tasks of some units, in order, and the place of each one's unit among them."""
    count = units.count[chosen]
    of = np.repeat(np.arange(len(chosen)), count)
    step = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)
    return units.rows[units.first[chosen][of] + step], of
