"""Reservation: a place and a time for a blocked gang, worked out from when running work is expected to end."""

import numpy as np

from phalanx.engine.placement.place import places_later
from phalanx.engine.policy import Policy
from phalanx.engine.session.entries import Reservation
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Unit
from phalanx.engine.waiting.allocation import Allocation
from phalanx.engine.waiting.order import none_of, waiting_units
from phalanx.model.axis import Float


def reserve(session: Session, policy: Policy, unit: Unit) -> bool:
    """Reserve the place where a unit can start first; tell whether some expected end makes room for it.

    From then on a request that will not be gone by then gets only what is left beside the reservation.
    """
    ends = session.once("ends", lambda: _ends(session), static=True)
    known = np.flatnonzero(np.isfinite(ends) & (session.evicted[: len(ends)] == 0))
    if not len(known):
        return False
    moments = np.unique(ends[known])
    start = session.checkpoint()
    low, high, places = 0, len(moments), None
    # The more has ended the more fits: halving finds the first moment.
    while low < high:
        middle = (low + high) // 2
        session.evict(known[ends[known] <= moments[middle]])
        found = places_later(session, policy, unit)
        session.rollback(start)
        if found is None:
            low = middle + 1
        else:
            high, places = middle, found
    if places is None:
        return False
    table, shape = session.residents, session.snapshot.tasks.shape
    reservation = Reservation(unit.gang, float(moments[high]), ends > moments[high])
    gone = known[ends[known] <= reservation.start]
    session.ledger.reserve(
        (table.shape[gone], table.node[gone]), [(int(shape[entry.tasks[0]]), entry.nodes) for entry in places]
    )
    if session.devices is not None:
        places_of = [(int(shape[entry.tasks[0]]), entry.nodes) for entry in places]
        session.devices.keep(np.unique(np.concatenate([where for _, where in places_of])), places_of)
    for layer in session.islands:
        layer.keep(np.unique(np.concatenate([entry.nodes for entry in places])))
    session.reservation = reservation
    minutes = (reservation.start - session.snapshot.now) / 60
    what = "a place is" if len(unit.tasks) == 1 else f"{len(unit.tasks)} places are"
    session.note(unit.gang, f"{what} kept for it, and it starts in {minutes:.0f} min if all ends as expected")
    return True


def withdraw(session: Session, policy: Policy) -> None:
    """Give the reservation up if its gang was promised other places; who was refused beside it is tried once more.

    Nothing else would bring these gangs up again before those places are free.
    """
    reservation = session.reservation
    if reservation is None or not session.served[reservation.gang]:
        return
    session.reservation = None
    session.ledger.unreserve()
    if session.devices is not None:
        session.devices.forget()
    for layer in session.islands:
        layer.forget()
    units = waiting_units(session, policy)
    open_ = none_of(units, (session.place >= 0) | (session.disputed > 0)) & (units.gang != reservation.gang)
    open_[list(units.holds)] = False
    for gang in units.gang[open_].tolist():
        session.reasons.pop(gang, None)
    Allocation(session, policy, units, open_).run()


def _ends(session: Session) -> Float:
    """Return when each resident is expected to end; infinity where nobody said so. Overdue work ends any moment."""
    running = session.snapshot.running
    ends = np.full(len(session.residents), np.inf)
    ends[: len(running)] = np.maximum(running.started + running.expected_runtime, session.snapshot.now)[running.gang]
    return ends
