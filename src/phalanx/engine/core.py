"""The one door: decide(snapshot, policy) -> plan."""

import numpy as np

from phalanx.engine.placing import place
from phalanx.engine.policy import Policy
from phalanx.engine.session import Evicted, Kept, Moved, Placed, Session
from phalanx.model.gang import Gang
from phalanx.model.plan import Bind, Code, Evict, Nominate, Plan, Reason, Step, Wait
from phalanx.model.requeue import turns
from phalanx.model.snapshot import Snapshot


def decide(snapshot: Snapshot, policy: Policy) -> Plan:
    """Return what to do now. Same snapshot, same policy: same plan."""
    session = open_session(snapshot, policy)
    for action in policy.actions:
        action.run(session, policy)
    return Plan(snapshot.now, _steps(session, policy))


def open_session(snapshot: Snapshot, policy: Policy) -> Session:
    """Start a session with the columns that the policy's plugins declare."""
    plugins = [weighted.plugin for weighted in policy.plugins]
    declared = [(plugin, plugin.columns(snapshot)) for plugin in plugins]
    columns = {name: array for _, own in declared for name, array in own.items()}
    charges = tuple(plugin.charge for plugin, own in declared if own)
    shares = policy.share.deserved(snapshot) if policy.share is not None and snapshot.queues.resources else None
    session = Session.open(snapshot, columns, charges, lambda session, unit: place(session, policy, unit), shares)
    session.charge_nominations()
    return session


def _steps(session: Session, policy: Policy) -> tuple[Step, ...]:
    """Turn the session's log into steps: one per bound task, one wait per gang that misses members."""
    snapshot = session.snapshot
    tasks, gangs = snapshot.tasks, snapshot.gangs
    missing = gangs.count - np.bincount(tasks.gang[session.place >= 0], minlength=len(gangs))
    waited = turns(snapshot.now, gangs.created, gangs.start_timeout, gangs.running)
    steps: list[Step] = []
    said: set[int] = set()
    takes = policy.takes
    for entry in session.log:
        if isinstance(entry, Placed | Kept):
            steps += _places(snapshot, entry)
        elif isinstance(entry, Moved):
            steps += _moves(snapshot, entry)
        elif isinstance(entry, Evicted):
            steps += _evictions(snapshot, entry)
        elif missing[entry.gang] and entry.gang not in said:
            gang = gangs.gangs[entry.gang]
            said.add(entry.gang)
            reason = _requeued(entry.reason, gang, int(waited[entry.gang])) if policy.requeues else entry.reason
            if takes and not gang.evicts and reason.code is Code.FULL:
                reason = reason.adding("nobody is evicted for it (preemptionPolicy Never)")
            steps.append(Wait(gang.name, gang.key, int(missing[entry.gang]), reason))
    return tuple(steps)


def _requeued(reason: Reason, gang: Gang, times: int) -> Reason:
    """Return the reason, with how often the gang had to queue again."""
    if not times:
        return reason
    often = "once" if times == 1 else f"{times} times"
    return reason.adding(f"queued again after its start timeout of {gang.start_timeout:g} s, {often}")


def _evictions(snapshot: Snapshot, entry: Evicted) -> list[Evict]:
    running = snapshot.running
    gang = None if entry.gang is None else snapshot.gangs.gangs[entry.gang]
    whom = (None, None) if gang is None else (gang.name, gang.key)
    rule = (entry.action, whom[0], entry.reason, whom[1])
    return [
        Evict(running.names[row], running.uids[row], snapshot.nodes.names[node], *rule)
        for row, node in zip(entry.tasks.tolist(), running.node[entry.tasks].tolist(), strict=True)
    ]


def _moves(snapshot: Snapshot, entry: Moved) -> list[Nominate]:
    """Return where those who leave go to: whoever is made in their stead takes that place."""
    running, nodes = snapshot.running, snapshot.nodes.names
    gangs = [running.gangs[row] for row in running.gang[entry.tasks].tolist()]
    return [
        Nominate(running.names[row], running.uids[row], nodes[node], gang.name, gang.key)
        for row, node, gang in zip(entry.tasks.tolist(), entry.nodes.tolist(), gangs, strict=True)
    ]


def _places(snapshot: Snapshot, entry: Placed | Kept) -> list[Bind | Nominate]:
    """Return one step per task. Zipped, not looped: a gang of thousands is one entry."""
    tasks, gangs = snapshot.tasks, snapshot.gangs.gangs
    rows, nodes = entry.tasks.tolist(), entry.nodes.tolist()
    owners = [gangs[gang] for gang in tasks.gang[entry.tasks].tolist()]
    return list(
        map(
            Bind if isinstance(entry, Placed) else Nominate,
            [tasks.names[row] for row in rows],
            [tasks.uids[row] for row in rows],
            [snapshot.nodes.names[node] for node in nodes],
            [gang.name for gang in owners],
            [gang.key for gang in owners],
        )
    )
