"""Placing: where copies of a shape go, given every filter and score of the policy; and if nowhere, why."""

from dataclasses import replace

import numpy as np

from phalanx.engine.kernels.by_count import by_count
from phalanx.engine.plugin import UNLIMITED, Filter
from phalanx.engine.policy import Policy
from phalanx.engine.session import Session
from phalanx.engine.units import Taken, Unit
from phalanx.model.axis import Int
from phalanx.model.plan import Code, Reason, Refusals

#: Scores are compared on a grid of 2^-20, so that float noise never breaks a tie.
GRID = 2**20


def room(session: Session, policy: Policy, shape: int) -> Int:
    """Return how many copies each node may still take: the MIN of all filters."""

    def answer() -> Int:
        least: Int = _static_room(session, policy, shape)
        for plugin in policy.filters:
            if not plugin.static:
                least = np.minimum(least, plugin.room(session, shape))
        return least

    return session.once(("room", shape), answer)


def _static_room(session: Session, policy: Policy, shape: int) -> Int:
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
    return np.rint(total * GRID).astype(np.int64)


def find(session: Session, policy: Policy, shape: int, count: int) -> Int:
    """Return the nodes for up to `count` copies, in the order in which they are taken. Changes nothing."""
    if policy.by_count:
        free = room(session, policy, shape)
        roomy = session.candidates = np.flatnonzero(free > 0)
        return by_count(free, count, lambda nodes, copies: score(session, policy, shape, nodes, copies), roomy)
    return _one_by_one(session, policy, shape, count)


def _one_by_one(session: Session, policy: Policy, shape: int, count: int) -> Int:
    """Ask every plugin again after each copy: needed when placing on A changes the answer for B."""
    start = session.checkpoint()
    session.candidates = np.flatnonzero(room(session, policy, shape) > 0)
    picked: list[int] = []
    nobody = np.zeros(0, np.int64)
    for _ in range(count):
        nodes = np.flatnonzero(room(session, policy, shape) > 0)
        if not len(nodes):
            break
        best = nodes[np.argmax(score(session, policy, shape, nodes, np.zeros(len(nodes), np.int64)))]
        picked.append(int(best))
        session.take(shape, nobody, np.array([best]))
    session.rollback(start)
    return np.array(picked, np.int64)


def place(session: Session, policy: Policy, unit: Unit) -> Taken:
    """Place the tasks of a unit: a whole one entirely or not at all, another as far as it goes.

    Different shapes go one after the other, the one with the least room first: what fits almost nowhere must
    not find its few places taken by what fits anywhere.
    """
    shapes = session.snapshot.tasks.shape[unit.tasks]
    nobody = np.zeros(0, np.int64)
    tasks, nodes = [nobody], [nobody]
    reason = None
    start = session.checkpoint()
    for kind in _hardest_first(session, policy, shapes):
        mine = unit.tasks[shapes == kind]
        found = _find_all(session, policy, kind, len(mine)) if unit.whole else find(session, policy, kind, len(mine))
        if unit.whole and len(found) < len(mine):
            session.rollback(start)
            reason = explain(session, policy, kind, len(unit.tasks), len(found) + sum(map(len, tasks)))
            return Taken(nobody, nobody, _or_never(session, shapes, reason))
        if len(found):
            session.take(kind, mine[: len(found)], found)
            tasks.append(mine[: len(found)])
            nodes.append(found)
        if len(found) < len(mine) and reason is None:
            reason = explain(session, policy, kind, 1, 0)
    return Taken(np.concatenate(tasks), np.concatenate(nodes), reason)


def _hardest_first(session: Session, policy: Policy, shapes: Int) -> list[int]:
    """Return the distinct shapes, least room first; ties by first task, never by number (see `GangRows`)."""
    if (shapes == shapes[:1]).all():
        return [int(shape) for shape in shapes[:1]]
    kinds = np.unique(shapes)
    left = [int(np.minimum(room(session, policy, int(kind)), len(shapes)).sum()) for kind in kinds]
    first = [int(np.argmax(shapes == kind)) for kind in kinds]
    ordered: list[int] = kinds[np.lexsort((first, left))].tolist()
    return ordered


def _find_all(session: Session, policy: Policy, shape: int, count: int) -> Int:
    """Find all or, without searching, show how many would fit."""
    if policy.by_count and count > 1:
        fit = int(np.minimum(room(session, policy, shape), count).sum())
        if fit < count:
            return np.full(fit, -1)
    return find(session, policy, shape, count)


def _or_never(session: Session, shapes: Int, reason: Reason) -> Reason:
    """A gang of several shapes that asks for more than the whole cluster has can never start."""
    asked = session.snapshot.requests[shapes].sum(axis=0)
    if (asked > session.snapshot.nodes.allocatable.sum(axis=0)).any():
        return replace(reason, code=Code.NEVER)
    return reason


def explain(session: Session, policy: Policy, shape: int, wanted: int, fit: int) -> Reason:
    """Say why not all wanted copies fit: each node is counted under the first filter that leaves it no room."""
    return session.once(("why", shape, wanted, fit), lambda: _explain(session, policy, shape, wanted, fit))


def _explain(session: Session, policy: Policy, shape: int, wanted: int, fit: int) -> Reason:
    nodes = len(session.snapshot.nodes)
    left = np.ones(nodes, np.bool_)
    ceiling = np.full(nodes, UNLIMITED, np.int64)
    refusals: list[Refusals] = []
    for plugin in policy.filters:
        free = plugin.room(session, shape)
        most = getattr(plugin, "ceiling", None)
        if plugin.static or most is not None:
            ceiling = np.minimum(ceiling, free if most is None else most(session, shape))
        refused = np.flatnonzero(left & (free <= 0))
        left[refused] = False
        if len(refused):
            counted = plugin.refusals(session, shape, refused)
            refusals += [Refusals(plugin.name, count, text) for count, text in counted]
    could = int(np.minimum(ceiling, wanted).sum())
    code = Code.FULL if could >= wanted else Code.NEVER
    text = _told(nodes, int(left.sum()), wanted, fit, refusals)
    if code is Code.NEVER and could:
        text += f"; with nobody else there, {could} would fit"
    return Reason(code, text, wanted, fit, nodes, tuple(refusals))


def _told(nodes: int, roomy: int, wanted: int, fit: int, refusals: list[Refusals]) -> str:
    """Return the reason in a sentence: what is needed, what fits, and which filter removed how many nodes."""
    if not nodes:
        return "there are no nodes"
    why = ", ".join(f"{refusal.nodes} {refusal.text}" for refusal in refusals)
    if roomy:
        noun, verb = "node" if nodes == 1 else "nodes", "has" if roomy == 1 else "have"
        head = f"{wanted} needed together, {fit} fit: {roomy} of {nodes} {noun} {verb} room"
        return f"{head}, {why}" if why else head
    head = f"0/{nodes} nodes"
    return f"{wanted} needed together, {head}: {why}" if wanted > 1 else f"{head}: {why}"
