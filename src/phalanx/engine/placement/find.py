"""Find: which nodes take the copies of a request, given every filter and score of the policy."""

from dataclasses import replace

import numpy as np

from phalanx.engine.kernels.by_caps import by_caps
from phalanx.engine.kernels.by_count import by_count
from phalanx.engine.placement.copies import caps_of, copies, reaches
from phalanx.engine.plugin import PluginError, Score
from phalanx.engine.policy import Policy
from phalanx.engine.session.request import Request, When
from phalanx.engine.session.session import Session
from phalanx.model.axis import Int

NO_TASKS: Int = np.zeros(0, np.int64)

#: Scores are compared on a grid of 2^-20, so that float noise never breaks a tie.
GRID = 2**20


def request_of(session: Session, gang: int, shape: int, count: int = 1, when: When = When.NOW) -> Request:
    """Return the request of a gang: how its queue wants its nodes, and whether it must leave the reservation alone."""
    snapshot = session.snapshot
    queue = int(snapshot.gangs.queue[gang])
    placement = snapshot.queues.placement[queue] if queue >= 0 else None
    within = session.fences.confined.get(gang)
    return Request(shape, count, gang, when, not _fills_gap(session, gang), placement, within)


def _fills_gap(session: Session, gang: int) -> bool:
    """Tell whether a gang that starts now is expected to be gone when the reserved place is needed, or gets it."""
    reservation = session.reservation
    if reservation is None or reservation.gang == gang:
        return reservation is not None
    runtime = session.snapshot.gangs.gangs[gang].expected_runtime
    return runtime is not None and session.snapshot.now + runtime <= reservation.start


def score(session: Session, policy: Policy, request: Request, nodes: Int, taken: Int) -> Int:
    """Return the weighted sum of all scores on the grid, entry by entry."""
    total = np.zeros(len(nodes))
    for plugin, weight in policy.scores:
        scored = plugin.score(session, request, nodes, taken) if weight else None
        if scored is not None:
            total += weight * scored
    if not np.isfinite(total).all():
        bad = [plugin.name for plugin, _ in policy.scores if not _is_finite(plugin, session, request, nodes, taken)]
        raise PluginError(f"plugin {', '.join(bad)}: a score must be a number from 0 to 1")
    return np.rint(total * GRID).astype(np.int64)


def _is_finite(plugin: Score, session: Session, request: Request, nodes: Int, taken: Int) -> bool:
    scored = plugin.score(session, request, nodes, taken)
    return scored is None or bool(np.isfinite(scored).all())


def find(session: Session, policy: Policy, request: Request, room: Int | None = None) -> Int:
    """Return the nodes for up to `request.count` copies, in the order in which they are taken. Changes nothing.

    `room`: for a caller who knows how many copies each node takes.
    """
    if not policy.by_count:
        return _one_by_one(session, policy, request)
    many = policy.reaching if request.count > 1 else ()
    if any(plugin.reaches(session, request) for plugin in many):
        return _one_by_one(session, policy, request)
    room = copies(session, policy, request) if room is None else room
    roomy = np.flatnonzero(room > 0)
    caps = caps_of(session, policy, request) if many else []
    request = replace(request, candidates=roomy)
    scored = lambda nodes, taken: score(session, policy, request, nodes, taken)  # noqa: E731
    if not caps:
        return by_count(room, request.count, scored, roomy)
    found = by_caps(room, request.count, scored, caps)
    return _one_by_one(session, policy, request) if found is None else found


def fit(session: Session, policy: Policy, request: Request) -> int:
    """Return how many of the request's copies fit."""
    if request.count > 1 and reaches(session, policy, request.shape):
        if request.within is not None:
            return len(find(session, policy, request))
        key = ("fit", request, session.view(request))
        return session.once(key, lambda: len(find(session, policy, request)))
    return int(np.minimum(copies(session, policy, request), request.count).sum())


def _one_by_one(session: Session, policy: Policy, request: Request) -> Int:
    """Ask every plugin again after each copy: needed when placing on A changes the answer for B."""
    start = session.checkpoint()
    request = replace(request, candidates=np.flatnonzero(copies(session, policy, request) > 0))
    picked: list[int] = []
    for _ in range(request.count):
        nodes = np.flatnonzero(copies(session, policy, request) > 0)
        if not len(nodes):
            break
        best = nodes[np.argmax(score(session, policy, request, nodes, np.zeros(len(nodes), np.int64)))]
        picked.append(int(best))
        session.take(request, NO_TASKS, np.array([best]))
    session.rollback(start)
    return np.array(picked, np.int64)
