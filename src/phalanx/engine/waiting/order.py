"""The order in which waiting units are decided: every action that places units begins with it."""

import numpy as np

from phalanx.engine.policy import Policy
from phalanx.engine.session.rows import steps
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Units, task_units
from phalanx.engine.waiting.turns import Turns, asks
from phalanx.model.axis import Bool, Int


def waiting_units(session: Session, policy: Policy) -> Units:
    """Return the units of a cycle: gangs, or single tasks where no plugin groups them."""
    if policy.groups:
        return session.units
    return session.once("task units", lambda: task_units(session.snapshot), static=True)


def asked_of_all(session: Session, units: Units) -> Int:
    """Return [unit, resource]: what each unit asks for."""
    snapshot = session.snapshot
    return session.once(("asks of all", id(units)), lambda: asks(session, units, snapshot.requests), static=True)


def asked(session: Session, units: Units) -> Int:
    """Return [unit, resource]: what queues count for each unit, on the resources of the queue table."""
    snapshot = session.snapshot

    def answer() -> Int:
        same = snapshot.charges is snapshot.requests
        every = asked_of_all(session, units) if same else asks(session, units, snapshot.charges)
        return every[:, snapshot.queues.columns]

    return session.once(("asks", id(units)), answer, static=True)


def take_turns(session: Session, policy: Policy, units: Units, only: Bool) -> Turns:
    """Line up some of the units by queue and by the order plugins."""
    order = session.once(("order", id(units)), lambda: in_order(session, policy, units), static=True)
    queues = session.snapshot.gangs.queue[units.gang]
    return Turns(session, policy.queue_orders, order[only[order]], queues, asked(session, units), units)


def in_order(session: Session, policy: Policy, units: Units) -> Int:
    """Return the units sorted by the order plugins. Growth comes after every minimum of its band."""
    bands = [plugin.gang_key(session, units) for plugin in policy.orders if plugin.band]
    inside = [plugin.gang_key(session, units) for plugin in policy.orders if not plugin.band]
    growth = [units.beyond] if policy.groups else []
    # Rows are sorted by key, and lexsort is stable, so equal units keep that order.
    keys = [*bands, *growth, *inside, units.gang]
    return np.lexsort([key for key in keys[::-1] if len(key) and (key != key[0]).any()] or [units.gang])


def tasks_of(units: Units, chosen: Int) -> tuple[Int, Int]:
    """Return the tasks of some units, in order, and the place of each one's unit among them."""
    of, step = steps(units.count[chosen])
    return units.rows[units.first[chosen][of] + step], of


def all_of(units: Units, true_of: Bool) -> Bool:
    """Return the units of which this is true of every task; `true_of` is [task]. Never for one without tasks."""
    lacking = np.append(0, np.cumsum(~true_of[units.rows]))
    found: Bool = (units.count > 0) & (lacking[units.first + units.count] == lacking[units.first])
    return found


def none_of(units: Units, true_of: Bool) -> Bool:
    """Return the units of which this is true of no task. Never for one without tasks."""
    return all_of(units, ~true_of)
