"""Landing: who has a place that is kept for it takes it as soon as it is free, before anybody else is decided.

Nobody else may take it anyway, and its queue is charged with it already, so it changes nobody's turn. What was promised
is what they get, and thousands of them are decided at once.
"""

import numpy as np

from phalanx.engine.placing import fit_there, forbidden, room
from phalanx.engine.policy import Policy
from phalanx.engine.session import Session
from phalanx.engine.units import Unit, Units
from phalanx.model.axis import Bool, Int


def land(session: Session, policy: Policy, units: Units) -> Bool:
    """Place the units whose kept places are all free, and tell which they are. Others are decided in their turn."""
    landed = np.zeros(len(units), np.bool_)
    if policy.choosy or not policy.by_count or not (session.snapshot.tasks.nominated >= 0).any():
        return landed
    ready, several = _ready(session, units)
    # A loop over the gangs of several shapes, which are few: what was packed for them might not be found again.
    for index in ready[several].tolist():
        landed[index] = _land_mixed(session, policy, units.unit(index))
    ready = ready[~several]
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


def _land_mixed(session: Session, policy: Policy, unit: Unit) -> bool:
    """Place a unit of several shapes where its places are, if no filter and no bound objects; tell whether it is."""
    tasks, start = session.snapshot.tasks, session.checkpoint()
    session.release_nominations(unit.gang)
    fine = not forbidden(session, policy, unit)
    shapes = tasks.shape[unit.tasks]
    # By the first task of each, never by the number of a shape.
    for first in np.sort(np.unique(shapes, return_index=True)[1]).tolist():
        mine = unit.tasks[shapes == shapes[first]]
        fine = fine and fit_there(session, policy, int(shapes[first]), tasks.nominated[mine])
        if fine:
            session.take(int(shapes[first]), mine, tasks.nominated[mine])
    if fine:
        session.restore_nominations(unit.gang)
    else:
        session.rollback(start)
    return fine


def _ready(session: Session, units: Units) -> tuple[Int, Bool]:
    """Return the units all of whose places are free, with all that is kept beside them; which have several shapes."""
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
    wrong = ~np.append(settled, False)[node]
    ready: Bool = np.bincount(of[wrong], minlength=len(chosen)) == 0
    several: Bool = np.bincount(of[shape != first[of]], minlength=len(chosen)) > 0
    return chosen[ready], several[ready]


def _tasks(units: Units, chosen: Int) -> tuple[Int, Int]:
    """Return the tasks of some units, in order, and the place of each one's unit among them."""
    count = units.count[chosen]
    of = np.repeat(np.arange(len(chosen)), count)
    step = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)
    return units.rows[units.first[chosen][of] + step], of
