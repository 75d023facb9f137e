"""Moving: evicted tasks get another place in the same plan."""

import numpy as np

from phalanx.engine.placing import find, fit_there
from phalanx.engine.policy import Policy
from phalanx.engine.session import Moved, Session
from phalanx.engine.units import Unit
from phalanx.engine.victims import VictimUnits
from phalanx.model.axis import Bool, Int

NOBODY: Int = np.zeros(0, np.int64)


def movable(session: Session, units: VictimUnits) -> Bool:
    """Return whose tasks all have a controller that makes them again, and do not say that they must stay."""
    added = np.concatenate([np.zeros(1, np.int64), np.cumsum(~session.snapshot.running.movable)])
    may: Bool = added[units.first + units.count] == added[units.first]
    return may


def move(session: Session, policy: Policy, moved: Int, known: dict[int, Int] | None = None) -> bool:
    """Keep a place for everybody who is moved, the largest first; tell whether all found one.

    `known`: nodes by shape, where somebody has found places for all of them already.
    """
    running, table = session.snapshot.running, session.snapshot.queues
    shapes, counts = np.unique(running.shape[moved], return_counts=True)
    size = session.snapshot.requests[shapes] / np.maximum(session.snapshot.nodes.allocatable.max(axis=0), 1)
    # Who is moved may stay long, and goes where the policy says: he was packed once already.
    before = session.placement, session.brief
    session.placement, session.brief, session.ahead = None, False, True
    try:
        # A loop over the shapes of who is moved; all of one shape are placed at once.
        for at in np.argsort(-size.max(axis=1), kind="stable").tolist():
            shape = int(shapes[at])
            nodes = find(session, policy, shape, int(counts[at])) if known is None else known[shape]
            if len(nodes) < counts[at] or (known is not None and not fit_there(session, policy, shape, nodes)):
                return False
            session.take(int(shapes[at]), NOBODY, nodes)
            session.log.append(Moved(moved[running.shape[moved] == shapes[at]], nodes))
    finally:
        session.placement, session.brief, session.ahead = *before, False
    # They stay in their queues.
    for leaf in np.unique(running.queue[running.gang[moved]]).tolist():
        own = moved[running.queue[running.gang[moved]] == leaf]
        path = table.paths[leaf]
        cost = running.requests[own][:, table.columns].sum(axis=0)
        session.write("queue_allocated", path, session.columns["queue_allocated"][path] + cost)
        # A queue beyond its limit would not let them in again.
        if (session.columns["queue_allocated"][path] > table.limit[path])[:, cost > 0].any():
            return False
    return True


def within_limits(session: Session, unit: Unit) -> bool:
    """Tell whether no queue above a unit that was placed is beyond its limit, whoever was moved included."""
    snapshot, table = session.snapshot, session.snapshot.queues
    path = table.paths[int(snapshot.gangs.queue[unit.gang])]
    asked = snapshot.requests[snapshot.tasks.shape[unit.tasks]][:, table.columns].sum(axis=0) > 0
    return bool((session.columns["queue_allocated"][path] <= table.limit[path])[:, asked].all())
