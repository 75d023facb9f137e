"""Landing: a unit with a promise is placed there as soon as the place is free.

No other unit may take the place, and its queue is charged with it already, so no turn changes. What was promised
is what they get, and thousands of them are decided at once.
"""

import numpy as np

from phalanx.engine.placement.copies import copies, reaches
from phalanx.engine.placement.settle import settle
from phalanx.engine.policy import Policy
from phalanx.engine.session.request import Request, When
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Taken, Units
from phalanx.engine.waiting.order import tasks_of
from phalanx.model.axis import Bool, Int


def land(session: Session, policy: Policy, units: Units, chosen: Bool) -> None:
    """Place those of the chosen units whose promised places are all free. `chosen` have a complete promise."""
    # A minimum lands before the growth of its gang.
    for growth in (False, True) if chosen.any() else ():
        ready = _ready(session, units, chosen & (units.growth == growth))
        if len(ready):
            _land(session, policy, units, ready)


def _land(session: Session, policy: Policy, units: Units, ready: Int) -> None:
    snapshot = session.snapshot
    tasks, of = tasks_of(units, ready)
    first = snapshot.tasks.shape[units.rows[units.first[ready]]]
    several = np.bincount(of[snapshot.tasks.shape[tasks] != first[of]], minlength=len(ready)) > 0
    several |= policy.judges_singly or not policy.by_count
    # A loop over shapes: those whose copies count for each other in zones or racks are looked at gang by gang.
    far = [shape for shape in np.unique(first).tolist() if policy.reaching and reaches(session, policy, shape)]
    several |= np.isin(first, far)
    several |= snapshot.gangs.wishes[units.gang[ready]]
    # A loop over the gangs of several shapes or with wishes, which are few: what was found might not be found again.
    for index in ready[several].tolist():
        unit = units.unit(index)
        settle(session, policy, unit, Taken(unit.tasks, session.promise[unit.tasks]), When.NOW)
    ready = ready[~several]
    if not len(ready):
        return
    shape, gang = snapshot.tasks.shape[units.rows[units.first[ready]]], units.gang[ready]
    kinds = np.stack([shape, snapshot.gangs.queue[gang], snapshot.gangs.preemptible[gang]], axis=1)
    # A loop over shapes and queues of the units that land; by their first units, never by the number of a shape.
    for at in np.sort(np.unique(kinds, axis=0, return_index=True)[1]).tolist():
        _land_alike(session, policy, units, ready[(kinds == kinds[at]).all(axis=1)])


def _land_alike(session: Session, policy: Policy, units: Units, chosen: Int) -> None:
    """Place units of one shape and one queue to which no filter and no bound objects."""
    snapshot = session.snapshot
    shape, gang = int(snapshot.tasks.shape[units.rows[units.first[chosen[0]]]]), int(units.gang[chosen[0]])
    tasks, of = tasks_of(units, chosen)
    nodes, start = session.promise[tasks], session.checkpoint()
    session.drop_promise(tasks)
    # Its places were found with the reservation in view.
    request = Request(shape, beside=False)
    short = copies(session, policy, request) < np.bincount(nodes, minlength=len(snapshot.nodes))
    allowed = min((veto.copies(session, gang, shape) for veto in policy.counting), default=len(tasks))
    session.rollback(start)
    fine = np.bincount(of[short[nodes]], minlength=len(chosen)) == 0
    if allowed >= len(tasks) and fine.any():
        mine = tasks[fine[of]]
        session.take(request, mine, session.promise[mine])


def _ready(session: Session, units: Units, chosen: Bool) -> Int:
    """Return the chosen units all of whose places are free, with all that is promised beside them."""
    gangs, books = session.snapshot.gangs, session.ledger.books()
    started = (session.place >= 0) & (session.promise < 0)
    there = gangs.running + np.bincount(session.snapshot.tasks.gang[started], minlength=len(gangs))
    may = chosen & (~units.growth | (there >= gangs.minimum)[units.gang])
    rows = np.flatnonzero(may)
    tasks, of = tasks_of(units, rows)
    settled = (books.free >= books.promised).all(axis=1)
    wrong = ~np.append(settled, False)[session.promise[tasks]]
    ready: Int = rows[np.bincount(of[wrong], minlength=len(rows)) == 0]
    return ready
