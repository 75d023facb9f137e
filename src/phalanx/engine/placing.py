"""Placing: where copies of a shape go, given every filter and score of the policy."""

from dataclasses import replace

import numpy as np

from phalanx.engine.explain import explain
from phalanx.engine.kernels.by_count import by_count
from phalanx.engine.plugin import UNLIMITED, Filter, PluginError, Score
from phalanx.engine.policy import Policy
from phalanx.engine.session import Session
from phalanx.engine.units import Taken, Unit
from phalanx.model.axis import Int
from phalanx.model.plan import Code, Reason

NOBODY: Int = np.zeros(0, np.int64)
#: Ranking shapes by room asks all of them after each placement; a gang with more kinds of tasks is taken as it comes.
RANKED_MAX = 8

#: Scores are compared on a grid of 2^-20, so that float noise never breaks a tie.
GRID = 2**20


def room(session: Session, policy: Policy, shape: int) -> Int:
    """Return how many copies each node may still take: the MIN of all filters."""

    def answer() -> Int:
        least: Int = static_room(session, policy, shape)
        for plugin in policy.filters:
            if not plugin.static:
                least = np.minimum(least, plugin.room(session, shape))
        return least

    return session.once(("room", shape), answer)


def static_room(session: Session, policy: Policy, shape: int) -> Int:
    """Return the MIN of the filters whose answer no placement changes, shared by shapes equal in what they read."""
    statics = [plugin for plugin in policy.filters if plugin.static]
    keys = tuple(_read_by(session, plugin, shape) for plugin in statics)

    def answer() -> Int:
        unlimited = np.full(len(session.snapshot.nodes), UNLIMITED, np.int64)
        least: Int = np.minimum.reduce([unlimited, *(plugin.room(session, shape) for plugin in statics)])
        return least

    return session.once(("static", keys), answer, static=True)


def _read_by(session: Session, plugin: Filter, shape: int) -> object:
    """Return what a filter reads of a shape: equal readings, equal answers."""
    spec = session.snapshot.shapes[shape]
    return tuple(getattr(spec, name) for name in plugin.reads) if plugin.reads else shape


def score(session: Session, policy: Policy, shape: int, nodes: Int, copies: Int) -> Int:
    """Return the weighted sum of all scores on the grid, entry by entry."""
    total = np.zeros(len(nodes))
    for plugin, weight in policy.scores:
        if weight:
            total += weight * plugin.score(session, shape, nodes, copies)
    if not np.isfinite(total).all():
        bad = [plugin.name for plugin, _ in policy.scores if not _is_finite(plugin, session, shape, nodes, copies)]
        raise PluginError(f"plugin {', '.join(bad)}: a score must be a number from 0 to 1")
    return np.rint(total * GRID).astype(np.int64)


def _is_finite(plugin: Score, session: Session, shape: int, nodes: Int, copies: Int) -> bool:
    return bool(np.isfinite(plugin.score(session, shape, nodes, copies)).all())


def find(session: Session, policy: Policy, shape: int, count: int) -> Int:
    """Return the nodes for up to `count` copies, in the order in which they are taken. Changes nothing."""
    if policy.by_count:
        free = room(session, policy, shape)
        roomy = session.candidates = np.flatnonzero(free > 0)
        return by_count(free, count, lambda nodes, copies: score(session, policy, shape, nodes, copies), roomy)
    return _one_by_one(session, policy, shape, count)


def fit_there(session: Session, policy: Policy, shape: int, nodes: Int) -> bool:
    """Tell whether copies of a shape may go to these very nodes, entry by entry."""
    rows, counts = np.unique(nodes, return_counts=True)
    return bool((room(session, policy, shape)[rows] >= counts).all())


def forbidden(session: Session, policy: Policy, unit: Unit) -> bool:
    """Tell whether some veto keeps a unit from starting now, wherever."""
    return any(veto.check(session, unit, None) is not None for veto in policy.vetoes)


def _one_by_one(session: Session, policy: Policy, shape: int, count: int) -> Int:
    """Ask every plugin again after each copy: needed when placing on A changes the answer for B."""
    start = session.checkpoint()
    session.candidates = np.flatnonzero(room(session, policy, shape) > 0)
    picked: list[int] = []
    for _ in range(count):
        nodes = np.flatnonzero(room(session, policy, shape) > 0)
        if not len(nodes):
            break
        best = nodes[np.argmax(score(session, policy, shape, nodes, np.zeros(len(nodes), np.int64)))]
        picked.append(int(best))
        session.take(shape, NOBODY, np.array([best]))
    session.rollback(start)
    return np.array(picked, np.int64)


def place(session: Session, policy: Policy, unit: Unit) -> Taken:
    """Place the tasks of a unit: a whole one entirely or not at all, another task by task as far as it goes."""
    return _place_whole(session, policy, unit) if unit.whole else _place_singly(session, policy, unit)


def _place_whole(session: Session, policy: Policy, unit: Unit) -> Taken:
    """Place all or nothing. Different shapes go one after the other, the one with the least room first.

    What fits almost nowhere must not find its few places taken by what fits anywhere. This is a heuristic: a gang of
    several shapes may wait although some assignment exists. A gang of equal tasks is placed whenever one does.
    """
    shapes = session.snapshot.tasks.shape[unit.tasks]
    tasks, nodes = [NOBODY], [NOBODY]
    start = session.checkpoint()
    left = _kinds(shapes)
    while left:
        kind = left.pop(_hardest(session, policy, left))
        mine = unit.tasks[shapes == kind]
        found = _find_all(session, policy, kind, len(mine))
        if len(found) < len(mine):
            session.rollback(start)
            fit = len(found) + sum(map(len, tasks))
            reason = explain(session, policy, kind, len(unit.tasks), fit, own=len(mine))
            return Taken(NOBODY, NOBODY, _or_never(session, shapes, reason))
        session.take(kind, mine, found)
        tasks.append(mine)
        nodes.append(found)
    return Taken(np.concatenate(tasks), np.concatenate(nodes), None)


def _place_singly(session: Session, policy: Policy, unit: Unit) -> Taken:
    """Place what fits, in the order of the tasks; neighbours of one shape at once."""
    shapes = session.snapshot.tasks.shape[unit.tasks]
    tasks, nodes, reason = [NOBODY], [NOBODY], None
    for mine in np.split(unit.tasks, np.flatnonzero(np.diff(shapes)) + 1):
        kind = int(session.snapshot.tasks.shape[mine[0]])
        found = find(session, policy, kind, len(mine))
        if len(found):
            session.take(kind, mine[: len(found)], found)
            tasks.append(mine[: len(found)])
            nodes.append(found)
        if len(found) < len(mine) and reason is None:
            reason = explain(session, policy, kind, 1, 0)
    return Taken(np.concatenate(tasks), np.concatenate(nodes), reason)


def _kinds(shapes: Int) -> list[int]:
    """Return the distinct shapes by first task, never by number (see `GangRows`)."""
    if (shapes == shapes[:1]).all():
        return [int(shape) for shape in shapes[:1]]
    kinds, first = np.unique(shapes, return_index=True)
    ordered: list[int] = kinds[np.argsort(first)].tolist()
    return ordered


def _hardest(session: Session, policy: Policy, kinds: list[int]) -> int:
    """Return the position of the shape with the least room now; beyond a few shapes, the first."""
    if len(kinds) == 1 or len(kinds) > RANKED_MAX:
        return 0
    return int(np.argmin([int(np.minimum(room(session, policy, kind), len(kinds)).sum()) for kind in kinds]))


def _find_all(session: Session, policy: Policy, shape: int, count: int) -> Int:
    """Find all or, without searching, show how many would fit."""
    if policy.by_count and count > 1:
        fit = int(np.minimum(room(session, policy, shape), count).sum())
        if fit < count:
            return np.full(fit, -1)
    return find(session, policy, shape, count)


def _or_never(session: Session, shapes: Int, reason: Reason) -> Reason:
    """A gang of several shapes that asks for more than the whole cluster has can never start."""
    # As floats: exact up to 2^53 in all, and beyond that these sums must not wrap.
    asked = session.snapshot.requests[shapes].sum(axis=0, dtype=np.float64)
    if (asked > session.snapshot.nodes.allocatable.sum(axis=0, dtype=np.float64)).any():
        return replace(reason, code=Code.NEVER)
    return reason
