"""Replicas: gangs, or subgroups of one, that serve the same should be in different domains; each stays in one."""

from collections.abc import Sequence

import numpy as np

from phalanx.engine.session.column import Column
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.engine.session.standing import counted
from phalanx.model.axis import Int
from phalanx.model.snapshot import Snapshot, placed_in
from phalanx.model.task import Replica


def replica_columns(snapshot: Snapshot) -> Sequence[Column]:
    """Return a column per service: its pods in each domain."""
    columns: list[Column] | None = snapshot.derived.get(("replicas", snapshot.levels))
    if columns is None:
        having: dict[Replica, list[int]] = {}
        for row, shape in enumerate(snapshot.shapes):
            for replica in shape.replicas:
                having.setdefault(replica, []).append(row)
        columns = [
            column for one, rows in sorted(having.items()) if (column := _column(snapshot, one, rows)) is not None
        ]
        snapshot.derived["replicas", snapshot.levels] = columns
    return columns


def _column(snapshot: Snapshot, replica: Replica, rows: list[int]) -> Column | None:
    found = placed_in(snapshot.nodes, snapshot.levels, replica.level)
    if found is None:
        return None
    tree, at = found
    footprint = np.zeros((len(snapshot.shapes), 1), np.int64)
    footprint[rows] = 1
    return Column(_name(replica), footprint, np.zeros((tree.size(at), 1), np.int64), tree.domain_of(at))


def _name(replica: Replica) -> str:
    return f"replicas of {replica.of} over {replica.level}"


def others(session: Session, request: Request, level: str, there: Int) -> Int | None:
    """Return [node]: how many pods of other replicas are in its domain of a level; None: nobody counts them.

    `there`: nodes of the replica's own members.
    """
    replica = next((one for one in session.snapshot.shapes[request.shape].replicas if one.level == level), None)
    found = None if replica is None else placed_in(session.snapshot.nodes, session.snapshot.levels, level)
    if replica is None or found is None:
        return None
    tree, at = found
    of = tree.domain_of(at)
    own = np.bincount(of[there][of[there] >= 0], minlength=tree.size(at))
    pods = counted(session, request, _name(replica))[:, 0] - own
    # On a node that is in no domain nobody is in the way.
    return np.append(pods, 0)[of]
