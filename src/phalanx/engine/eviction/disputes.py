"""Disputes: which promises a waiting unit may take over in this cycle. They land last.

Otherwise the beneficiary would bind, and be evicted in the next cycle.
"""

import numpy as np

from phalanx.engine.eviction.rights import claimed_by
from phalanx.engine.policy import Policy
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Units
from phalanx.engine.waiting.order import none_of
from phalanx.engine.waiting.promises import complete
from phalanx.model.axis import Bool


def disputed(session: Session, policy: Policy, units: Units) -> Bool:
    """Return the units with a complete promise that a waiting unit may have the right to."""
    promised = complete(session, units)
    names = {action.name for action in policy.actions}
    if not promised.any() or not names & {"preempt", "reclaim"}:
        return np.zeros(len(units), np.bool_)
    gangs, table = session.snapshot.gangs, session.snapshot.queues
    queue = gangs.queue[units.gang]
    found = np.zeros(len(units), np.bool_)
    if "preempt" in names:
        rivals = none_of(units, session.promise >= 0) & gangs.evicts[units.gang]
        highest = np.full(len(table) + 1, np.iinfo(np.int64).min)
        np.maximum.at(highest, queue[rivals], units.priority[rivals])
        found |= highest[queue] > units.priority
    if "reclaim" in names and table.resources:
        claimed = claimed_by(session, none_of(units, session.promise >= 0))
        above = np.append((session.queues.allocated > session.shares).any(axis=1), False)
        # A loop over the queues that claim, which are few.
        for other in claimed:
            found |= above[queue] & (queue != other)
    found &= promised & gangs.preemptible[units.gang]
    return found
