"""Hopeless: units for which an action can make no room now, found for all waiting units by one look at the books.

It errs on the side of searching: every unit that it does not report is searched by itself.
"""

import numpy as np

from phalanx.engine.eviction.rights import entitled
from phalanx.engine.session.request import Request, When
from phalanx.engine.session.rows import distinct
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Units
from phalanx.engine.waiting.order import asked_of_all
from phalanx.model.axis import Bool
from phalanx.model.queue import UNLIMITED


def nobody_below(session: Session, units: Units) -> Bool:
    """Return [unit]: units in whose queue no preemptible task of lower priority runs or has a promise."""
    snapshot, running, gangs = session.snapshot, session.snapshot.running, session.snapshot.gangs
    # One more at the end, for those in no queue.
    lowest = np.full(len(snapshot.queues) + 1, np.iinfo(np.int64).max)
    np.minimum.at(lowest, running.queue[running.preemptible], running.priority[running.preemptible])
    promised = distinct(snapshot.tasks.gang[session.promise >= 0])
    np.minimum.at(lowest, gangs.queue[promised], gangs.priority[promised])
    found: Bool = lowest[gangs.queue[units.gang]] >= units.priority
    return found


def nothing_to_reclaim(session: Session, units: Units) -> Bool:
    """Return [unit]: units beyond their queue's share, or with nothing free and no queue above its entitlement."""
    table = session.snapshot.queues
    if not table.resources:
        return np.ones(len(units), np.bool_)
    has, measured = session.queues.allocated, table.listed | ~table.listed.any(axis=1, keepdims=True)
    larger = np.minimum(table.limit, np.maximum(table.quota, session.shares))
    entitlement = np.where(table.quota == UNLIMITED, table.limit, larger)
    gives = np.asarray((((has > entitlement) | (has > table.quota)) & measured).any(axis=1))
    # A loop over the leaf queues: queues that give are not on the path to the root.
    helped = np.zeros(len(table) + 1, np.bool_)
    for leaf, path in table.paths.items():
        helped[leaf] = gives.sum() > gives[path].sum()
    queue = session.snapshot.gangs.queue[units.gang]
    found: Bool = ~entitled(session, units) | (~helped[queue] & not_enough(session, units))
    return found


def not_enough(session: Session, units: Units) -> Bool:
    """Return [unit]: units that ask for more than all open nodes together will have."""
    nodes, shapes = session.snapshot.nodes, session.snapshot.shapes
    open_ = nodes.ready & ~nodes.cordoned
    # The most important request is the one that sees most: promises of other schedulers count least against it.
    highest = max(range(len(shapes)), key=lambda row: shapes[row].priority) if session.ledger.foreign else 0
    request = Request(highest, when=When.LATER, beside=False)
    there = np.maximum(session.spare_amounts(request)[open_], 0).sum(axis=0)
    found: Bool = (asked_of_all(session, units) > there).any(axis=1)
    # What is promised to it is there for it too.
    found[np.isin(units.gang, distinct(session.snapshot.tasks.gang[session.promise >= 0]))] = False
    return found
