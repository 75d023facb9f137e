"""Find: which nodes take the copies of a request, given every filter and score of the policy."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from phalanx.engine.kernels.by_caps import Caps, by_caps
from phalanx.engine.kernels.by_count import by_count
from phalanx.engine.kernels.copy_by_copy import copy_by_copy
from phalanx.engine.placement.copies import caps_of, copies, opens, reaches
from phalanx.engine.plugin import Filter, Plugin, PluginError, Score, Tally
from phalanx.engine.policy import Policy
from phalanx.engine.session.request import Request, When
from phalanx.engine.session.session import Session
from phalanx.model.axis import Float, Int

NO_TASKS: Int = np.zeros(0, np.int64)

#: Scores are compared on a grid, so that float noise never breaks a tie. Hundredths lie on it.
GRID = 100 * 2**14


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
    """Return the weighted sum of all scores on the grid, entry by entry.

    Those that look at the node alone are summed up first; each of the others is put on the grid by itself.
    """
    near = [one for one in policy.scores if one[0].reach == "node"]
    total = _sum(session, request, near, nodes, taken)
    return total + sum(_sum(session, request, [one], nodes, taken) for one in policy.scores if one[0].reach != "node")


def _sum(session: Session, request: Request, scores: Iterable[tuple[Score, float]], nodes: Int, taken: Int) -> Int:
    total = np.zeros(len(nodes))
    for plugin, weight in scores:
        scored = plugin.score(session, request, nodes, taken) if weight else None
        if scored is not None:
            total += weight * scored
    if not np.isfinite(total).all():
        none = np.zeros(len(nodes), np.int64)
        bad = [plugin.name for plugin, _ in scores if not _is_finite(plugin, session, request, nodes, none)]
        raise PluginError(f"plugin {', '.join(bad)}: a score must be a number from 0 to 1")
    return _on_grid(total)


def _on_grid(total: Float) -> Int:
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
    open_ = copies(session, policy, replace(request, count=1)) if opens(session, policy, request) else room
    caps = caps_of(session, policy, request) if many else []
    first = np.flatnonzero((room > 0) & (open_ > 0)) if open_ is not room else roomy
    request = replace(request, candidates=first, room=room[first])
    tallies = _tallies(session, policy, request) if many else []
    scored = lambda nodes, taken: score(session, policy, request, nodes, taken)  # noqa: E731
    if not caps and not tallies:
        return by_count(room, request.count, scored, roomy)
    found = by_caps(room, request.count, scored, caps) if not tallies else None
    return _copy_by_copy(session, policy, request, room, caps, tallies) if found is None else found


def _tallies(session: Session, policy: Policy, request: Request) -> list[tuple[Plugin, Tally, float]]:
    """Return the scores that change with each copy, as what they count."""
    every = [(one.plugin, one.plugin.tally(session, request), one.weight) for one in policy.plugins if one.weight]
    return [(plugin, tally, weight) for plugin, tally, weight in every if tally is not None]


def _copy_by_copy(
    session: Session,
    policy: Policy,
    request: Request,
    room: Int,
    caps: list[Caps],
    tallies: list[tuple[Plugin, Tally, float]],
) -> Int:
    """Place by what domains count after each copy."""
    counted = [plugin for plugin, _, _ in tallies]
    near = replace(policy, plugins=tuple(one for one in policy.plugins if one.plugin not in counted))

    def alone(nodes: Int, taken: Int) -> Int:
        return score(session, near, request, nodes, taken)

    def far(values: Sequence[Int], among: Int) -> Int:
        total, at = np.zeros(1, np.int64), 0
        for _, tally, weight in tallies:
            mine = values[at : at + len(tally.counts)]
            total, at = total + _on_grid(weight * tally.score(mine, among)), at + len(mine)
        return total

    counts = [one for _, tally, _ in tallies for one in tally.counts]
    return copy_by_copy(room, request.count, alone, counts, far, request.candidates, caps)


def fit(session: Session, policy: Policy, request: Request) -> int:
    """Return how many of the request's copies fit."""
    if request.count > 1 and reaches(session, policy, request.shape):
        if request.within is not None:
            return len(find(session, policy, request))
        key = ("fit", request, session.view(request))
        return session.once(key, lambda: len(find(session, policy, request)))
    return int(np.minimum(copies(session, policy, request), request.count).sum())


def _one_by_one(session: Session, policy: Policy, request: Request) -> Int:
    """Ask after each copy whoever looks beyond a node; what the others say changes on the node that got it alone."""
    start = session.checkpoint()
    room = copies(session, policy, request).copy()
    one = replace(request, count=1)
    candidates = np.flatnonzero((room > 0) & (copies(session, policy, one) > 0))
    request = replace(request, candidates=candidates, room=room[candidates])
    near = [one for one in policy.scores if one[0].reach == "node"]
    far = [one for one in policy.scores if one[0].reach != "node"]
    filters = [each for each in policy.reaching if isinstance(each, Filter) and each.room(session, one) is not None]
    roomy = np.flatnonzero(room > 0)
    alone = np.zeros(len(room), np.int64)
    alone[roomy] = _sum(session, request, near, roomy, np.zeros(len(roomy), np.int64))
    picked: list[int] = []
    for _ in range(request.count):
        open_ = room[roomy] > 0
        for plugin in filters:
            open_ &= _room(plugin, session, one)[roomy] > 0
        nodes = roomy[open_]
        if not len(nodes):
            break
        none = np.zeros(len(nodes), np.int64)
        total = alone[nodes] + sum(_sum(session, request, [each], nodes, none) for each in far)
        best = nodes[[int(np.argmax(total))]]
        picked.append(int(best[0]))
        session.take(request, NO_TASKS, best)
        room[best] -= 1
        alone[best] = _sum(session, request, near, best, np.zeros(1, np.int64))
    session.rollback(start)
    return np.array(picked, np.int64)


def _room(plugin: Filter, session: Session, request: Request) -> Int:
    room = plugin.room(session, request)
    assert room is not None, "who has something to say of a request says it of every copy"
    return room
