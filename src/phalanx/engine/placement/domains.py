"""Domains: which domain of a level a part should go to, and which of its nodes it uses.

First the level that is preferred, or else required, then one level up, and so on to the level that is required. Of the
domains of a level that hold all: those with members already, then those of which fewest parts are needed, then the
tightest, so that large ones stay whole. Inside a domain the same again, level by level.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from phalanx.engine.kernels.tree_capacity import Fill, fewest, parts_needed, summed, whole_pieces
from phalanx.engine.placement.copies import copies, reaches
from phalanx.engine.placement.find import find
from phalanx.engine.placement.wishes import Part
from phalanx.engine.policy import Policy
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Bool, Int
from phalanx.model.tree import NONE, Tree
from phalanx.model.wish import EVERYWHERE, Wish


@dataclass(frozen=True, slots=True)
class Choice:
    """A domain that a part may go to."""

    level: int
    #: [node]: which nodes are in it.
    inside: Bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """What must fit into one domain: copies of several shapes, and what all of them take together."""

    #: Per shape: the room of each node, at most so many as are wanted; and how many are.
    rooms: tuple[Int, ...]
    counts: tuple[int, ...]
    #: Amounts that all nodes of the domain must have together: [node] and how much, resource by resource.
    amounts: tuple[tuple[Int, int], ...] = ()
    #: Of whole segments of equal tasks, by shape: the room of each node, and how many copies they are.
    pieces: tuple[tuple[Int, int], ...] = ()
    #: The room of each node for all that will be wanted of it in the end, and how much that is; None: no more.
    later: tuple[Int, int] | None = None
    #: [node]: pods of other replicas in its domain of the level over which they are spread; None: it is no replica.
    others: Int | None = None

    @property
    def room(self) -> Int:
        """Return [node]: the copies of all shapes, as if they did not share a node."""
        return self.rooms[0] if len(self.rooms) == 1 else np.sum(self.rooms, axis=0)


def wanted_by(
    session: Session, policy: Policy, requests: list[Request], pieces: list[Request], coming: int = 0
) -> Wanted:
    """Return what requests want of one domain.

    `pieces`: those of whole segments, which count among the others too. `coming`: so many copies will be wanted of it.
    """
    rooms = tuple(np.minimum(copies(session, policy, request), request.count) for request in requests)
    counts = tuple(request.count for request in requests)
    whole = tuple((np.minimum(copies(session, policy, one), one.count), one.count) for one in pieces)
    if len(requests) == 1:
        more = coming > counts[0]
        later = (np.minimum(copies(session, policy, requests[0]), coming), coming) if more else None
        return Wanted(rooms, counts, pieces=whole, later=later)
    asks = session.snapshot.requests
    together = np.sum([asks[request.shape] * request.count for request in requests], axis=0)
    spare = np.maximum.reduce([session.spare_amounts(request) for request in requests])
    amounts = ((np.maximum(spare[:, at], 0), int(together[at])) for at in np.flatnonzero(together).tolist())
    return Wanted(rooms, counts, tuple(amounts), whole)


def choices(part: Part, wanted: Wanted, within: Bool) -> Iterator[Choice]:
    """Yield the domains into which a part may fit, the best first."""
    wish = part.wish
    if wish is None:
        yield Choice(EVERYWHERE, within)
        return
    within = within & anchored(wish, part.there)
    whole = _in_pieces(wish, wanted, within)
    counted = whole[0][0] if whole and len(wanted.rooms) == 1 else wanted.room
    lowest = wish.required if wish.preferred is None else wish.preferred
    # A loop over levels, which are few.
    for level in range(lowest, max(wish.required, 0) - 1, -1):
        of, size = wish.tree.domain_of(level), wish.tree.size(level)
        fits, total = _fits(of, size, wanted, within)
        if whole and wish.segment is not None and level < wish.segment:
            fits &= np.logical_and.reduce([summed(of, size, room, within) >= count for room, count in whole])
            total = summed(of, size, counted, within)
        rows = np.flatnonzero(fits)
        if len(rows) > 1:
            needed = _needed(wish, level, counted, sum(wanted.counts), within)
            ample, others = _ample(of, size, wanted, within), _others(part, level, wanted, within)
            near = [-members[rows] for members in _members(wish.tree, level, part.there)]
            rows = rows[np.lexsort([rows, total[rows], needed[rows], others[rows], ~ample[rows], *near])]
        for domain in rows.tolist():
            yield Choice(level, within & (of == domain))
    if wish.required == EVERYWHERE and all(int(room.sum()) >= count for room, count in whole):
        yield Choice(EVERYWHERE, within)


def _in_pieces(wish: Wish, wanted: Wanted, within: Bool) -> list[tuple[Int, int]]:
    """Return, by shape, the room for whole segments, and how many copies they are."""
    if wish.segment is None:
        return []
    of, size = wish.tree.domain_of(wish.segment), wish.tree.size(wish.segment)
    return [(whole_pieces(of, size, np.where(within, room, 0), wish.size), count) for room, count in wanted.pieces]


def _members(tree: Tree, level: int, there: Int) -> list[Int]:
    """Return [domain]: how many members are in it, and before that in the domains above it, from the top."""
    of, found = tree.domain_of(level), list[Int]()
    # A loop over levels, which are few, of a part of which somebody is there already.
    for up in range(level + 1) if len(there) else ():
        above = tree.domain_of(up)
        counts = np.bincount(above[there][above[there] >= 0], minlength=tree.size(up))
        inside = np.zeros(tree.size(level), np.int64)
        known = (of >= 0) & (above >= 0)
        inside[of[known]] = counts[above[known]]
        found.append(inside)
    return found


def anchored(wish: Wish, there: Int) -> Bool:
    """Return [node]: where a part with these members may go. It stays in the domain that it is in."""
    of = wish.tree.position if wish.required == EVERYWHERE else wish.tree.domain_of(wish.required)
    if wish.required == EVERYWHERE or not len(there):
        return of >= 0
    return np.isin(of, np.unique(of[there])) & (of >= 0)


def _fits(of: Int, size: int, wanted: Wanted, within: Bool) -> tuple[Bool, Int]:
    """Return [domain]: whether everything may fit, and how many copies do."""
    fits, total = np.ones(size, np.bool_), np.zeros(size, np.int64)
    # A loop over the shapes of one unit.
    for room, count in zip(wanted.rooms, wanted.counts, strict=True):
        fit = summed(of, size, room, within)
        fits &= fit >= count
        total += fit
    # As floats: exact as long as amounts are, and beyond that these sums must not wrap.
    for spare, amount in wanted.amounts:
        rows = np.flatnonzero(within & (of >= 0))
        fits &= np.bincount(of[rows], spare[rows].astype(np.float64), size) >= amount
    return fits, total


def _others(part: Part, level: int, wanted: Wanted, within: Bool) -> Int:
    """Return [domain]: how little it suits replicas.

    For a replica, how many pods of other ones are there, or in the domain that it is part of; for a gang with replicas,
    for how many of them there is no domain of their own.
    """
    assert part.wish is not None, "only who wishes something chooses a domain"
    tree = part.wish.tree
    found, of = np.zeros(tree.size(level), np.int64), tree.domain_of(level)
    replicas = [child for child in part.children if child.spread is not None]
    low = tree.number.get(replicas[0].spread or "", -1) if replicas else -1
    if level < low:
        at, above = tree.domain_of(low), np.full(tree.size(low), NONE)
        inside = (at >= 0) & (of >= 0)
        above[at[inside]] = of[inside]
        roomy = summed(at, tree.size(low), wanted.room, within) >= min(len(child.every) for child in replicas)
        found = np.maximum(len(replicas) - np.bincount(above[roomy & (above >= 0)], minlength=len(found)), 0)
    if wanted.others is not None and part.spread is not None and level >= tree.number.get(part.spread, tree.lowest + 1):
        found[of[of >= 0]] = wanted.others[of >= 0]
    return found


def _ample(of: Int, size: int, wanted: Wanted, within: Bool) -> Bool:
    """Return [domain]: whether there is room for what will be wanted of it later, too."""
    if wanted.later is None:
        return np.ones(size, np.bool_)
    room, count = wanted.later
    return summed(of, size, room, within) >= count


def _needed(wish: Wish, level: int, room: Int, count: int, within: Bool) -> Int:
    """Return [domain]: how few parts of it, one level down, hold what is wanted; one where parts do not matter."""
    tree, size = wish.tree, wish.tree.size(level)
    if level + 1 > wish.bottom:
        return np.ones(size, np.int64)
    of, above = tree.domain_of(level + 1), tree.domain_of(level)
    capacity = summed(of, tree.size(level + 1), room, within)
    parent = np.full(tree.size(level + 1), -1)
    parent[of[of >= 0]] = above[of >= 0]
    return parts_needed(parent, capacity, count, size)


def fill(
    session: Session, policy: Policy, request: Request, wish: Wish | None, choice: Choice, there: Int
) -> Int | None:
    """Return the nodes for all copies of a request inside a domain, as few and as close parts of it as can be."""
    if wish is None or not policy.by_count or (request.count > 1 and reaches(session, policy, request.shape)):
        found = find(session, policy, replace(request, within=choice.inside))
        return found if len(found) == request.count else None
    room = np.minimum(copies(session, policy, request), request.count)
    inside, left, picked = choice.inside, request.count, list[Int]()
    if wish.segment is not None and choice.level < wish.segment:
        of, size = wish.tree.domain_of(wish.segment), wish.tree.size(wish.segment)
        room = whole_pieces(of, size, np.where(inside, room, 0), wish.size)
    if int(room[inside].sum()) < left:
        return None
    # A loop over levels, which are few; of each, one part at most is looked into.
    for level in range(choice.level + 1, wish.bottom + 1):
        of, size = wish.tree.domain_of(level), wish.tree.size(level)
        capacity = summed(of, size, np.minimum(room, left), inside)
        there_are = int(capacity.sum())
        # Nodes without the label come last.
        use = (
            Fill(np.arange(size), NONE, left - there_are)
            if there_are < left
            else fewest(capacity, left, np.bincount(of[there][of[there] >= 0], minlength=size))
        )
        if len(use.whole):
            full = np.zeros(size + 1, np.bool_)
            full[use.whole] = True
            nodes = np.flatnonzero(inside & full[of] & (room > 0))
            picked.append(np.repeat(nodes, room[nodes]))
        inside, left = inside & (of == use.last), use.rest
    found = find(session, policy, replace(request, count=left, within=inside), np.where(inside, room, 0))
    if len(found) < left:
        return None
    return np.concatenate([*picked, found])


def most(session: Session, part: Part, wanted: Wanted, within: Bool) -> tuple[int, str]:
    """Return how many copies the best domain of the required level takes, and say so."""
    wish, count = part.wish, sum(wanted.counts)
    if wish is None:
        return min(int(wanted.room[within].sum()), count), ""
    within = within & anchored(wish, part.there)
    whole = _in_pieces(wish, wanted, within)
    room = whole[0][0] if whole and len(wanted.rooms) == 1 else wanted.room
    if wish.required == EVERYWHERE:
        fit = min(int(room[within].sum()), count)
        return fit, f"there is room for {fit} of {count}" if whole else ""
    of, size = wish.tree.domain_of(wish.required), wish.tree.size(wish.required)
    total = summed(of, size, room, within)
    level = wish.tree.levels[wish.required].name
    best = int(np.argmax(total))
    name = _name(session, wish, best)
    fit = min(int(total[best]), count)
    if len(part.there):
        homes = np.unique(of[part.there])
        if len(homes) == 1 and homes[0] >= 0:
            name = _name(session, wish, int(homes[0]))
            return fit, f"its members are in {level} {name}, which has room for {fit} of {count}"
    return fit, f"{level} {name} has room for {fit} of {count}" if fit else f"no {level} has room for any of {count}"


def _name(session: Session, wish: Wish, domain: int) -> str:
    names = session.snapshot.nodes.names if wish.required == wish.tree.lowest else wish.tree.names[wish.required]
    return names[domain]
