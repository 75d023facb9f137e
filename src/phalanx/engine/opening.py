"""Opening a session: the columns that the policy's plugins declare, and what each queue is entitled to."""

from dataclasses import replace

from phalanx.engine.explain import explain
from phalanx.engine.placement.place import place
from phalanx.engine.placement.prefer import preferred
from phalanx.engine.placement.replicas import replica_columns
from phalanx.engine.policy import Policy
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Taken, Unit
from phalanx.model.axis import Int
from phalanx.model.snapshot import Snapshot


def deserved(snapshot: Snapshot, policy: Policy) -> Int | None:
    """Return what each queue is entitled to; None: nothing is divided."""
    return policy.share.deserved(snapshot) if policy.share is not None and snapshot.queues.resources else None


def open_session(snapshot: Snapshot, policy: Policy, shares: Int | None = None) -> Session:
    """Start a session on a snapshot."""
    if snapshot.levels != policy.levels:
        snapshot = replace(snapshot, levels=policy.levels)
    columns = [column for weighted in policy.plugins for column in weighted.plugin.columns(snapshot)]
    columns += replica_columns(snapshot)
    attempt = lambda session, unit: _attempt(session, policy, unit)  # noqa: E731
    session = Session.open(snapshot, columns, attempt, shares, policy.sharing, policy.layers)
    if session.devices is not None and policy.takes_devices:
        session.devices.prefer = lambda request, devices: preferred(session, policy, request, devices)
    return session


def _attempt(session: Session, policy: Policy, unit: Unit) -> Taken:
    """Place a unit, and put into words what it lacked."""
    taken = place(session, policy, unit)
    return taken if taken.lack is None else replace(taken, reason=explain(session, policy, unit.gang, taken.lack))
