"""Relocation: evicted tasks get another place in the same plan."""

import numpy as np

from phalanx.engine.eviction.candidates import Candidates
from phalanx.engine.placement.copies import fits_there
from phalanx.engine.placement.find import NO_TASKS, find
from phalanx.engine.policy import Policy
from phalanx.engine.session.entries import Moved
from phalanx.engine.session.request import Request, When
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Unit
from phalanx.model.axis import Bool, Int


def movable(session: Session, candidates: Candidates) -> Bool:
    """Return [candidate]: whether all its tasks have a controller and none opts out of being moved.

    Members of a gang that must be in one domain stay: another place might be in another one.
    """
    return ~candidates.any_of(~session.residents.movable | session.once("tied", lambda: _tied(session), static=True))


def _tied(session: Session) -> Bool:
    """Return [resident]: whether it runs in a gang of several that must be in one domain."""
    running, table = session.snapshot.running, session.residents
    tied = np.zeros(len(table.count), np.bool_)
    # A loop over the gangs that run.
    tied[: len(running.gangs)] = [gang.requires for gang in running.gangs]
    found: Bool = (tied & (table.count > 1))[table.gang]
    return found


def relocate(session: Session, policy: Policy, moved: Int, known: dict[int, Int] | None = None) -> bool:
    """Promise a place to the successor of each moved task, the largest first; tell whether all found one.

    `known`: nodes by shape, where places for all of them were found already.
    """
    table, queues = session.residents, session.snapshot.queues
    shapes, counts = np.unique(table.shape[moved], return_counts=True)
    size = session.snapshot.requests[shapes] / np.maximum(session.snapshot.nodes.allocatable.max(axis=0), 1)
    # A loop over the shapes of the moved tasks; all of one shape are placed at once.
    for at in np.argsort(-size.max(axis=1), kind="stable").tolist():
        shape = int(shapes[at])
        # A moved task may stay long, and goes where the policy says: it was packed once already.
        request = Request(shape, int(counts[at]), when=When.LATER)
        nodes = find(session, policy, request) if known is None else known[shape]
        if len(nodes) < counts[at] or (known is not None and not fits_there(session, policy, request, nodes)):
            return False
        devices = session.take(request, NO_TASKS, nodes)
        session.log[-1] = Moved(moved[table.shape[moved] == shape], nodes, devices)
    # They stay in their queues.
    session.queues.charge_residents(moved, table, 1)
    # A queue beyond its limit would not let them in again.
    for leaf in np.unique(table.queue[table.gang[moved]]).tolist():
        own = moved[table.queue[table.gang[moved]] == leaf]
        path = queues.paths[leaf]
        cost = session.snapshot.charges[table.shape[own]][:, queues.columns].sum(axis=0)
        if (session.queues.allocated[path] > queues.limit[path])[:, cost > 0].any():
            return False
    return True


def within_limits(session: Session, unit: Unit) -> bool:
    """Tell whether no queue above a unit that was placed is beyond its limit, moved tasks included."""
    snapshot, table = session.snapshot, session.snapshot.queues
    path = table.paths[int(snapshot.gangs.queue[unit.gang])]
    asked = snapshot.charges[snapshot.tasks.shape[unit.tasks]][:, table.columns].sum(axis=0) > 0
    return bool((session.queues.allocated[path] <= table.limit[path])[:, asked].all())
