"""Copies: how many copies of a shape each node takes. The one answer, for now and for later, for every caller."""

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

import numpy as np

from phalanx.engine.kernels.by_caps import Caps
from phalanx.engine.plugin import UNLIMITED, Filter
from phalanx.engine.policy import Policy
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Bool, Int


def copies(session: Session, policy: Policy, request: Request, without: Int | None = None) -> Int:
    """Return how many copies each node may still take: the MIN of all filters.

    `without`: residents that are taken to have left.
    """
    if without is not None and len(without):
        start = session.checkpoint()
        session.evict(without)
        found = copies(session, policy, request)
        session.rollback(start)
        return found
    if request.within is not None:
        return np.where(request.within, _copies(session, policy, request), 0)
    reading = int(readings(session, policy)[request.shape])
    key = ("copies", reading, session.view(request), request.count if opens(session, policy, request) else 1)
    return session.once(key, lambda: _copies(session, policy, request))


def opens(session: Session, policy: Policy, request: Request) -> bool:
    """Tell whether copies may make room for each other on nodes that have none for the first."""
    if request.count == 1 or not policy.reaching:
        return False
    key = ("opens", request.shape)
    return session.once(key, lambda: any(one.opens(session, request) for one in policy.reaching), static=True)


def readings(session: Session, policy: Policy) -> Int:
    """Return [shape]: the first shape of which every filter reads the same. Equal readings, equal answers."""
    return session.once("readings", lambda: _readings(session, policy.filters), static=True)


def _readings(session: Session, filters: Sequence[Filter]) -> Int:
    shapes = session.snapshot.shapes
    if not all(plugin.reads for plugin in filters):
        # Some filter does not say what it reads.
        return np.arange(len(shapes))
    if not filters:
        return np.zeros(len(shapes), np.int64)
    first: dict[object, int] = {}
    read = attrgetter(*sorted({name for plugin in filters for name in plugin.reads}))
    # A loop over shapes, once in a cycle.
    found = (first.setdefault(read(shape), row) for row, shape in enumerate(shapes))
    return np.fromiter(found, np.int64, len(shapes))


def room_of(session: Session, plugin: Filter, request: Request) -> Int | None:
    """Return the room by one filter; of a static one, worked out once for all shapes of which it reads the same."""
    if not plugin.static:
        return plugin.room(session, request)
    key = ("room", plugin.name, _read_by(session, plugin, request.shape))
    return session.once(key, lambda: plugin.room(session, Request(request.shape)), static=True)


def _copies(session: Session, policy: Policy, request: Request) -> Int:
    least = static_copies(session, policy, request.shape)
    for plugin in policy.filters:
        if not plugin.static and (room := plugin.room(session, request)) is not None:
            least = np.minimum(least, room)
    return least


def static_copies(session: Session, policy: Policy, shape: int) -> Int:
    """Return the MIN of the filters whose answer no placement changes, shared by shapes equal in what they read."""

    def answer() -> Int:
        least = np.full(len(session.snapshot.nodes), UNLIMITED, np.int64)
        for plugin in policy.static_filters:
            room = room_of(session, plugin, Request(shape))
            least = least if room is None else np.minimum(least, room)
        return least

    alike = session.once("static readings", lambda: _readings(session, policy.static_filters), static=True)
    return session.once(("static", int(alike[shape])), answer, static=True)


def caps(session: Session, policy: Policy, request: Request, without: Int) -> Int:
    """Return how many copies each node may take at most, whatever its amounts, once these residents have left."""
    others = [plugin for plugin in policy.filters if not plugin.static and not plugin.by_amounts]
    least = static_copies(session, policy, request.shape)
    least = least if request.within is None else np.where(request.within, least, 0)
    if not others:
        return least
    start = session.checkpoint()
    session.evict(without)
    for plugin in others:
        room = plugin.room(session, request)
        least = least if room is None else np.minimum(least, room)
    session.rollback(start)
    return least


def allowed_nodes(session: Session, policy: Policy, shapes: Int) -> Bool:
    """Return the nodes on which a task of one of these shapes may ever be, as nodes and shapes are now."""

    def ever(shape: int) -> Bool:
        return session.once(("ever", shape), lambda: static_copies(session, policy, shape) > 0, static=True)

    mask: Bool = np.logical_or.reduce([ever(shape) for shape in set(shapes.tolist())])
    return mask


def by_amounts(session: Session, policy: Policy, request: Request) -> bool:
    """Tell whether amounts alone decide where a request fits: no other filter that placements change has a say."""
    return all(plugin.static or plugin.by_amounts or plugin.room(session, request) is None for plugin in policy.filters)


def caps_of(session: Session, policy: Policy, request: Request) -> list[Caps]:
    """Return how copies of a request may lie in domains, by all filters: each of it counts."""
    return [one for plugin in policy.reaching for one in plugin.caps(session, request)]


def reaches(session: Session, policy: Policy, shape: int) -> bool:
    """Tell whether copies of a shape count for each other beyond their nodes, if only as a wish."""
    two = Request(shape, 2)
    return any(
        plugin.reaches(session, two) or plugin.caps(session, two) or plugin.tally(session, two) is not None
        for plugin in policy.reaching
    )


def fits_there(session: Session, policy: Policy, request: Request, nodes: Int) -> bool:
    """Tell whether copies of a shape may go to these very nodes, entry by entry."""
    rows, counts = np.unique(nodes, return_counts=True)
    if not (copies(session, policy, request)[rows] >= counts).all():
        return False
    if not policy.reaching or len(nodes) == 1:
        return True
    return all(one.allow(nodes) for one in caps_of(session, policy, replace(request, count=len(nodes))))


def _read_by(session: Session, plugin: Filter, shape: int) -> object:
    """Return what a filter reads of a shape: equal readings, equal answers."""
    spec = session.snapshot.shapes[shape]
    return tuple(getattr(spec, name) for name in plugin.reads) if plugin.reads else shape
