"""The one door: decide(snapshot, policy) -> plan."""

import numpy as np

from phalanx.engine.placing import place
from phalanx.engine.policy import Policy
from phalanx.engine.session import Placed, Session
from phalanx.model.plan import Bind, Plan, Step, Wait
from phalanx.model.snapshot import Snapshot


def decide(snapshot: Snapshot, policy: Policy) -> Plan:
    """Return what to do now. Same snapshot, same policy: same plan."""
    session = open_session(snapshot, policy)
    for action in policy.actions:
        action.run(session, policy)
    return Plan(snapshot.now, _steps(session))


def open_session(snapshot: Snapshot, policy: Policy) -> Session:
    """Start a session with the columns that the policy's plugins declare."""
    plugins = [weighted.plugin for weighted in policy.plugins]
    declared = [(plugin, plugin.columns(snapshot)) for plugin in plugins]
    columns = {name: array for _, own in declared for name, array in own.items()}
    charges = tuple(plugin.charge for plugin, own in declared if own)
    return Session.open(snapshot, columns, charges, lambda session, unit: place(session, policy, unit))


def _steps(session: Session) -> tuple[Step, ...]:
    """Turn the session's log into steps: one per bound task, one wait per gang that misses members."""
    snapshot = session.snapshot
    tasks, gangs = snapshot.tasks, snapshot.gangs
    missing = gangs.count - np.bincount(tasks.gang[session.place >= 0], minlength=len(gangs))
    steps: list[Step] = []
    said: set[int] = set()
    for entry in session.log:
        if isinstance(entry, Placed):
            steps += _binds(snapshot, entry)
        elif missing[entry.gang] and entry.gang not in said:
            gang = gangs.gangs[entry.gang]
            said.add(entry.gang)
            steps.append(Wait(gang.name, gang.key, int(missing[entry.gang]), entry.reason))
    return tuple(steps)


def _binds(snapshot: Snapshot, entry: Placed) -> list[Bind]:
    """Return one bind per task. Zipped, not looped: a gang of thousands is one entry."""
    tasks, gangs = snapshot.tasks, snapshot.gangs.gangs
    rows, nodes = entry.tasks.tolist(), entry.nodes.tolist()
    owners = [gangs[gang] for gang in tasks.gang[entry.tasks].tolist()]
    return list(
        map(
            Bind,
            [tasks.names[row] for row in rows],
            [tasks.uids[row] for row in rows],
            [snapshot.nodes.names[node] for node in nodes],
            [gang.name for gang in owners],
            [gang.key for gang in owners],
        )
    )
