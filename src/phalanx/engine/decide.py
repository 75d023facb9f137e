"""The one door: decide(snapshot, policy) -> plan."""

from dataclasses import dataclass

import numpy as np

from phalanx.engine.eviction.disputes import disputed
from phalanx.engine.eviction.step_back import step_back
from phalanx.engine.opening import deserved, open_session
from phalanx.engine.policy import Policy
from phalanx.engine.steps import steps_of
from phalanx.engine.waiting.landing import land
from phalanx.engine.waiting.order import all_of, tasks_of, waiting_units
from phalanx.engine.waiting.promises import complete, release_invalid, release_unused, renew
from phalanx.engine.waiting.reservation import withdraw
from phalanx.model.axis import Int
from phalanx.model.plan import Plan, Search
from phalanx.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Decision:
    """A plan with what else was worked out on the way."""

    plan: Plan
    #: [queue, resource]: what each queue is entitled to; None: nothing is divided.
    shares: Int | None
    searches: tuple[Search, ...]


def decide(snapshot: Snapshot, policy: Policy) -> Plan:
    """Return what to do now. Same snapshot, same policy: same plan."""
    return deliberate(snapshot, policy).plan


def deliberate(snapshot: Snapshot, policy: Policy) -> Decision:
    """Return what to do now, and what was looked at.

    First what was promised: what no longer serves is released, what is free lands. Then the actions. A promise that
    a waiting unit may take over lands last, if it was not taken over.
    """
    shares = deserved(snapshot, policy)
    session = open_session(snapshot, policy, shares)
    units = waiting_units(session, policy)
    release_invalid(session, policy)
    contested = disputed(session, policy, units)
    session.disputed[tasks_of(units, np.flatnonzero(contested))[0]] = 1
    land(session, policy, units, complete(session, units) & ~contested)
    if policy.groups:
        step_back(session)
    for action in policy.actions:
        action.run(session, policy)
    withdraw(session, policy)
    if contested.any():
        land(session, policy, units, contested & all_of(units, session.promise >= 0))
    if policy.takes:
        renew(session, policy, units)
        release_unused(session, units)
    return Decision(Plan(snapshot.now, steps_of(session, policy)), shares, tuple(session.searches))
