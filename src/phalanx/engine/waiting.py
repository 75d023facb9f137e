"""Waiting units in the order in which they are decided: what every action that places somebody begins with."""

import numpy as np

from phalanx.engine.policy import Policy
from phalanx.engine.session import Session
from phalanx.engine.turns import Turns, asks
from phalanx.engine.units import Units
from phalanx.model.axis import Bool, Int


def take_turns(session: Session, policy: Policy, units: Units, only: Bool | None = None) -> Turns:
    """Line up the units (`only`: some of them) by queue and by the order plugins."""
    order = in_order(session, policy, units)
    if only is not None:
        order = order[only[order]]
    queues = session.snapshot.gangs.queue[units.gang]
    return Turns(session, policy.queue_orders, order, queues, asks(session, units), units)


def in_order(session: Session, policy: Policy, units: Units) -> Int:
    """Return the units sorted by the order plugins. Growth comes after every minimum of its band."""
    bands = [plugin.gang_key(session, units) for plugin in policy.orders if plugin.band]
    inside = [plugin.gang_key(session, units) for plugin in policy.orders if not plugin.band]
    growth = [units.beyond] if policy.groups else []
    # Rows are sorted by key, and lexsort is stable, so equal units keep that order.
    keys = [*bands, *growth, *inside, units.gang]
    return np.lexsort([key for key in keys[::-1] if len(key) and (key != key[0]).any()] or [units.gang])
