"""Settle: take places that were chosen already, if they still serve."""

from collections.abc import Sequence

import numpy as np

from phalanx.engine.placement.copies import fits_there
from phalanx.engine.placement.find import request_of
from phalanx.engine.placement.place import objection
from phalanx.engine.placement.wishes import broken, parts_of
from phalanx.engine.policy import Policy
from phalanx.engine.session.entries import Promised
from phalanx.engine.session.request import When
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Taken, Unit


def settle(session: Session, policy: Policy, unit: Unit, taken: Taken, when: When) -> bool:
    """Take these very places for a unit if every filter and every veto agrees, or leave no trace; tell which."""
    start, tasks = session.checkpoint(), taken.tasks
    if not keeps_together(session, policy, unit, taken):
        return False
    # What is promised to it must not count twice against a bound.
    session.drop_promise(tasks)
    fine = objection(session, policy, unit) is None
    shapes = session.snapshot.tasks.shape[tasks]
    # A loop over the shapes of one unit; by the first task of each, never by the number of a shape.
    for first in np.sort(np.unique(shapes, return_index=True)[1]).tolist():
        mine = shapes == shapes[first]
        where = taken.nodes[mine]
        request = request_of(session, unit.gang, int(shapes[first]), len(where), when)
        fine = fine and fits_there(session, policy, request, where)
        if fine:
            session.take(request, tasks[mine], where)
    fine = fine and objection(session, policy, unit, taken) is None
    if not fine:
        session.rollback(start)
    return fine


def keeps_together(session: Session, policy: Policy, unit: Unit, taken: Taken) -> bool:
    """Tell whether these places are in the domains that the unit requires."""
    part = parts_of(session, policy, unit)
    return part is None or broken(session.snapshot.tasks, part, taken.tasks, taken.nodes) is None


def together(places: Sequence[Promised]) -> Taken:
    """Return the places of all shapes of a unit as one value."""
    return Taken(
        np.concatenate([promised.tasks for promised in places]), np.concatenate([promised.nodes for promised in places])
    )
