"""By domain: room for a gang that must be in one domain is made in the domain that it costs least to clear.

Domains that would hold the gang, once everybody who might leave had left, are lined up by an estimate of how many
tasks must leave. In each of the first ones room is made on trial, and the cheapest trial is carried out: by the
highest priority of a victim, then how many tasks lose their place, then how many are moved, the work lost, and the age
of the victims' gangs. So a gang that needs one rack evicts from one.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from phalanx.engine.eviction.candidates import candidates_of
from phalanx.engine.eviction.search_budget import SearchBudget
from phalanx.engine.kernels.tree_capacity import summed, whole_pieces
from phalanx.engine.placement.copies import copies
from phalanx.engine.placement.domains import anchored
from phalanx.engine.placement.find import request_of
from phalanx.engine.placement.together import distinct_shapes
from phalanx.engine.placement.wishes import Part, parts_of
from phalanx.engine.policy import Policy
from phalanx.engine.session.entries import Moved
from phalanx.engine.session.request import Request, When
from phalanx.engine.session.session import Mark, Session
from phalanx.engine.session.units import Unit
from phalanx.model.axis import Bool, Int
from phalanx.model.running import OVERBUDGETED
from phalanx.model.wish import EVERYWHERE, Wish

#: In so many domains room is made on trial.
TRIALS = 8


class Cost(NamedTuple):
    """What clearing a domain costs; the less the better, the first things first."""

    highest_priority: int
    evicted: int
    moved: int
    seconds_lost: float
    age: float


def clearable(session: Session, policy: Policy, unit: Unit) -> list[Bool] | None:
    """Return the domains in which room may be made for a unit, the cheapest first; None: it may be anywhere."""
    part = parts_of(session, policy, unit)
    if part is None or part.wish is None or not len(unit.tasks):
        return None
    if part.wish.required == EVERYWHERE:
        return None if part.wish.segment is None else _for_segments(session, policy, unit, part)
    wish, home = part.wish, anchored(part.wish, part.there)
    if wish.problem is not None or len(part.there):
        return [home]
    of, size = wish.tree.domain_of(wish.required), wish.tree.size(wish.required)
    fits, needed, gained = np.ones(size, np.bool_), np.zeros(size, np.int64), np.zeros(size, np.int64)
    # A loop over the shapes of one unit.
    for request in _requests(session, unit, part):
        now, cleared = (summed(of, size, _in_pieces(wish, part, np.minimum(room, request.count)), home)
                        for room in (copies(session, policy, request), _cleared(session, policy, request)))  # fmt: skip
        fits &= cleared >= request.count
        needed += np.maximum(request.count - now, 0)
        gained += cleared - now
    there = np.bincount(of[session.residents.node][of[session.residents.node] >= 0], minlength=size)
    cost = needed * there / np.maximum(gained, 1)
    order = np.lexsort([np.arange(size), cost])
    return [of == domain for domain in order[fits[order]][:TRIALS].tolist()]


def _in_pieces(wish: Wish, part: Part, room: Int) -> Int:
    """Return [node]: the room for whole segments, where all tasks are in such; else the room as it is."""
    if wish.segment is None or part.children:
        return room
    return whole_pieces(wish.tree.domain_of(wish.segment), wish.tree.size(wish.segment), room, wish.size)


def _for_segments(session: Session, policy: Policy, unit: Unit, part: Part) -> list[Bool] | None:
    """Return sets of domains in which room may be made for segments: as few as can do, then more, then all."""
    wish = part.wish
    assert wish is not None and wish.segment is not None, "only who wishes for segments has some"  # noqa: PT018
    of, size = wish.tree.domain_of(wish.segment), wish.tree.size(wish.segment)
    found = np.zeros(size, np.bool_)
    # A loop over the segments that are not whole, which are few.
    for child in part.children:
        found[of[child.there][of[child.there] >= 0]] = True
    loose = [child for child in part.children if not len(child.there)]
    wanted = -(-len(part.tasks) // wish.size) + len(loose)
    if wish.problem is not None or not wanted:
        return None if wish.problem is not None else [np.append(found, False)[of]]
    now, cleared = np.full(size, wanted), np.full(size, wanted)
    everywhere = np.ones(len(of), np.bool_)
    # A loop over the shapes of one unit.
    for request in _requests(session, unit, part):
        for rooms, total in ((copies(session, policy, request), now), (_cleared(session, policy, request), cleared)):
            np.minimum(total, summed(of, size, np.minimum(rooms, request.count), everywhere) // wish.size, out=total)
    node = session.residents.node
    there = np.bincount(of[node][of[node] >= 0], minlength=size)
    found |= now > 0
    dear = np.flatnonzero(~found & (cleared > 0))
    order = dear[np.lexsort([dear, there[dear] / cleared[dear]])]
    missing = wanted - int(now.sum())
    few = int(np.searchsorted(np.cumsum(cleared[order]), missing)) + 1 if missing > 0 else 0
    sets = []
    for many in dict.fromkeys((few, few + 1, 2 * few + 2)):
        inside = found.copy()
        inside[order[:many]] = True
        sets.append(np.append(inside, False)[of])
    return [*sets, everywhere]


def _requests(session: Session, unit: Unit, part: Part) -> list[Request]:
    shapes = session.snapshot.tasks.shape[part.every]
    return [request_of(session, unit.gang, shape, int((shapes == shape).sum()), When.LATER)
            for shape in distinct_shapes(session, part.every)]  # fmt: skip


def _cleared(session: Session, policy: Policy, request: Request) -> Int:
    """Return [node]: the copies that would fit if everybody left who might ever be asked to."""

    def answer() -> Int:
        table = session.residents
        stay = (session.evicted[: len(table)] > 0) | (table.budget == OVERBUDGETED)
        stay |= ~table.preemptible[table.gang] | (table.waiting[table.gang] == request.gang)
        gone = np.flatnonzero(~stay[: table.running])
        return copies(session, policy, request, gone)

    return session.once(("cleared", request.shape, request.count, request.gang), answer)


def cost_since(session: Session, start: Mark, before: Int) -> Cost:
    """Return what was evicted."""
    table = session.residents
    gone = np.flatnonzero(session.evicted[: len(table)] > before[: len(table)])
    moved = sum(len(entry.nodes) for entry in session.log[start.log :] if isinstance(entry, Moved))
    highest = int(table.priority[table.gang[gone]].max(initial=np.iinfo(np.int32).min))
    gangs = np.unique(table.gang[gone])
    runs = gangs[np.isfinite(table.started[gangs])]
    lost = float(np.maximum(session.snapshot.now - table.started[runs], 0.0).sum())
    return Cost(highest, len(gone) - moved, moved, lost, float((session.snapshot.now - table.created[gangs]).sum()))


def attempt_by_domain(
    session: Session, policy: Policy, unit: Unit, attempt: Callable[..., bool], budget: SearchBudget
) -> bool:
    """Make room for one unit where that costs least."""
    found = candidates_of(session)
    domains = clearable(session, policy, unit)
    if domains is None:
        return attempt(session, policy, unit, found, budget)
    confined, before = session.fences.confined, session.evicted.copy()
    best: tuple[Cost, int, int] | None = None
    start = session.checkpoint()
    for number, inside in enumerate(domains):
        own = SearchBudget(max(budget.left // (len(domains) - number), 1))
        confined[unit.gang] = inside
        if attempt(session, policy, unit, found, own):
            if len(domains) == 1:
                del confined[unit.gang]
                budget.take(own.taken)
                return True
            trial = (cost_since(session, start, before), number, own.taken)
            best = trial if best is None else min(best, trial)
        session.rollback(start)
        del confined[unit.gang]
        if not budget.take(own.taken):
            break
    if best is None:
        return False
    confined[unit.gang] = domains[best[1]]
    made = attempt(session, policy, unit, found, SearchBudget(2 * best[2] + 1))
    del confined[unit.gang]
    return made
