"""By caps: placement by count where copies also count per domain: so many in each, evenly over all, or all in one.

The result equals greedy placement that asks after each copy. What a domain gets does not depend on the others, only
when it gets it. So the entries of each domain are put in order by themselves, and then merged.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from phalanx.engine.kernels.by_count import APART, GridScore, by_count
from phalanx.engine.kernels.spreading import risen
from phalanx.model.axis import Bool, Int

#: In so many domains the entries are worked out domain by domain; in more, those of all nodes at once.
FEW = 64
#: The level of a domain that does not count as one.
NO_DOMAIN = np.int64(2**40)


@dataclass(frozen=True, slots=True)
class Caps:
    """How copies of one request may lie in the domains of one node label."""

    #: [node]: its domain, or -1: no bound there.
    of_node: Int
    #: [domain]: how many copies it takes at most. With a level, that alone counts.
    most: Int
    #: [domain]: what it has already, where no domain may have `skew` more than the one that has least. Domains that do
    #: not count have NO_DOMAIN.
    level: Int | None = None
    skew: int = 0
    #: All copies go to one domain.
    together: bool = False

    def holds(self, room: Int, count: int) -> int:
        """Return how many of so many copies there is room for as far as these caps alone bound them."""
        each, known = np.minimum(room, count), self.of_node >= 0
        there = np.bincount(self.of_node[known], each[known], len(self.most)).astype(np.int64)
        if self.together:
            return int(there.max(initial=0))
        if self.level is not None:
            # What the lowest domain cannot get keeps all others down.
            lowest = (self.level + there).min(initial=NO_DOMAIN)
            there = np.minimum(there, np.maximum(lowest + self.skew - self.level, 0))
        return int(np.minimum(there, self.most).sum() + each[~known].sum())

    def allow(self, nodes: Int) -> bool:
        """Tell whether copies may lie on these very nodes, entry by entry, in some order."""
        domain = self.of_node[nodes]
        domain = domain[domain >= 0]
        counts = np.bincount(domain, minlength=len(self.most))
        if (counts > self.most).any() or (self.together and np.count_nonzero(counts) > 1):
            return False
        if self.level is None or not len(domain):
            return True
        after = self.level + counts
        return bool(after[counts > 0].max() - after.min() <= self.skew)


def by_caps(room: Int, count: int, score: GridScore, caps: Sequence[Caps]) -> Int | None:
    """Return the node of each copy, in greedy order; None: these caps cannot be looked at all at once."""
    plain = [one for one in caps if one.level is None and not one.together]
    for one in plain:
        if _single(one):
            room = np.minimum(room, _per_node(one))
    plain = [one for one in plain if not _single(one) and _binds(one, room, count)]
    levels = [one for one in caps if one.level is not None]
    together = [one for one in caps if one.together]
    if together:
        others = [*plain, *levels, *together[1:]]
        return in_one_domain(room, count, score, together[0], lambda inside: by_caps(inside, count, score, others))
    nested = _nested(plain, room)
    if nested is None or len(levels) > 1:
        return None
    if not levels:
        return _capped(room, count, score, nested)
    inside = all(_lies_inside(one, levels[0], room > 0) for one in nested)
    if not inside or (levels[0].of_node[room > 0] < 0).any():
        return None
    return _evenly(room, count, score, levels[0], nested)


def _single(caps: Caps) -> bool:
    """Tell whether every domain is one node."""
    known = caps.of_node[caps.of_node >= 0]
    return len(known) <= len(caps.most) and bool((np.bincount(known) <= 1).all())


def _per_node(caps: Caps) -> Int:
    return np.append(caps.most, NO_DOMAIN)[caps.of_node]


def _binds(caps: Caps, room: Int, count: int) -> bool:
    """Tell whether the caps keep anything out."""
    known = caps.of_node >= 0
    there = np.bincount(caps.of_node[known], np.minimum(room[known], count), len(caps.most))
    return bool((np.minimum(there, count) > caps.most).any())


def _nested(caps: list[Caps], room: Int) -> list[Caps] | None:
    """Return the caps, the finest first; None: some domains of one lie across those of another."""
    finest = sorted(caps, key=lambda one: -len(np.unique(one.of_node)))
    pairs = pairwise(finest)
    return finest if all(_lies_inside(fine, coarse, room > 0) for fine, coarse in pairs) else None


def _lies_inside(fine: Caps, coarse: Caps, roomy: Bool) -> bool:
    known = roomy & (fine.of_node >= 0)
    inner, outer = fine.of_node[known], coarse.of_node[known]
    of_inner = np.full(len(fine.most), -2)
    of_inner[inner] = outer
    return bool((of_inner[inner] == outer).all())


def _capped(room: Int, count: int, score: GridScore, nested: Sequence[Caps]) -> Int:
    """Place with at most so many copies per domain: a full domain stays full, so those behind just move up."""
    if not nested:
        return by_count(room, count, score)
    room = np.minimum(room, _per_node(nested[-1]))
    coarse, of_node, roomy = nested[-1], nested[-1].of_node, room > 0
    domains = np.unique(of_node[roomy])
    if len(domains) > FEW:
        picked = _capped(room, int(np.minimum(room, count).sum()), score, nested[:-1])
        domain = of_node[picked]
        return picked[(domain < 0) | (_rank(domain) < np.append(coarse.most, 0)[domain])][:count]
    # A loop over few domains: each is looked at as deep as it may get.
    most = np.minimum(np.append(coarse.most, count), count)
    parts = [_capped(np.where(of_node == one, room, 0), int(most[one]), score, nested[:-1]) for one in domains.tolist()]
    picked = np.concatenate([*parts, domains[:0]])
    step = _rank(picked)
    # As `by_count` has it: ordered by the running minimum of each node.
    order = np.lexsort((step, picked))
    owner = np.cumsum(step[order] == 0)
    lowest = np.empty(len(picked), np.int64)
    offered = score(picked, step)[order]
    lowest[order] = np.minimum.accumulate(offered - owner * APART) + owner * APART
    return picked[np.lexsort((step, picked, -lowest))[:count]]


def _rank(values: Int) -> Int:
    """Return how many equal values stand before each."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(values) else order
    rank = np.empty(len(values), np.int64)
    rank[order] = np.arange(len(values)) - np.repeat(begins, np.diff(np.append(begins, len(values))))
    return rank


def in_one_domain(
    room: Int, count: int, score: GridScore, caps: Caps, place: Callable[[Int], Int | None]
) -> Int | None:
    """Place all copies in the best domain that holds them all; in the one that holds most if none does.

    `place` places them where there is room; None: it cannot.
    """
    roomy = np.flatnonzero((room > 0) & (caps.of_node >= 0))
    if not len(roomy):
        return roomy
    domain, first = caps.of_node[roomy], score(roomy, np.zeros(len(roomy), np.int64))
    holds = np.bincount(domain, np.minimum(room[roomy], count), len(caps.most))
    order = np.lexsort((roomy, -first))
    best_first = domain[order][_rank(domain[order]) == 0]
    found = roomy[:0]
    # A loop over domains, as a rule over one: the best of those with enough room, unless other caps bind in it.
    for one in best_first[np.argsort(-np.minimum(holds[best_first], count), kind="stable")].tolist():
        if holds[one] <= len(found):
            break
        here = place(np.where(caps.of_node == one, room, 0))
        if here is None:
            return None
        found = here if len(here) > len(found) else found
        if len(found) == count:
            break
    return found


def _evenly(room: Int, count: int, score: GridScore, caps: Caps, nested: Sequence[Caps]) -> Int:
    """Place so that no domain gets `skew` more than the one that has least."""
    assert caps.level is not None
    level, roomy = caps.level, np.flatnonzero(room > 0)
    most = np.maximum(risen(level[level < NO_DOMAIN], count) + caps.skew - level, 0)
    domains = np.unique(caps.of_node[roomy])
    if len(domains) <= FEW:
        # A loop over few domains: each is looked at as deep as it may get.
        parts = [
            _capped(np.where(caps.of_node == one, room, 0), int(min(most[one], count)), score, nested)
            for one in domains.tolist()
        ]
        picked = np.concatenate([*parts, roomy[:0]])
    else:
        picked = _capped(room, int(room.sum()), score, [*nested, replace(caps, most=most, level=None)])
        picked = picked[np.argsort(caps.of_node[picked], kind="stable")]
    domain = caps.of_node[picked]
    height = level[domain] + _rank(domain) + 1
    # A domain that takes no more keeps the others from growing beyond it.
    there = np.bincount(domain, minlength=len(level))
    lowest = (level + there)[there < most].min(initial=NO_DOMAIN)
    fine = height <= lowest + caps.skew
    picked, domain, height = picked[fine], domain[fine], height[fine]
    offered = score(picked, _rank(picked))
    if caps.skew == 1 or not len(picked):
        # Nobody gets a copy of one height before all have the one below.
        order = np.lexsort((picked, -offered, height))
        return np.asarray(picked[order[:count]])
    return _merged(picked, domain, offered, level, caps.skew, count)


def _merged(picked: Int, domain: Int, offered: Int, level: Int, skew: int, count: int) -> Int:
    """Merge the entries of all domains: the best of those that are not too far above the lowest domain."""
    nodes, scores = picked.tolist(), offered.tolist()
    begins = {int(one): int(at) for one, at in zip(*np.unique(domain, return_index=True), strict=True)}
    ends = dict(zip(begins, [*list(begins.values())[1:], len(nodes)], strict=True))
    height = level.tolist()
    standing: dict[int, int] = {}
    for one in height:
        standing[one] = standing.get(one, 0) + 1
    low = min(height)
    ready: list[tuple[int, int, int]] = []
    waiting: dict[int, list[int]] = {}

    def offer(one: int) -> None:
        at = begins[one]
        if at < ends[one] and height[one] + 1 <= low + skew:
            heapq.heappush(ready, (-scores[at], nodes[at], one))
        elif at < ends[one]:
            waiting.setdefault(height[one] + 1 - skew, []).append(one)

    for one in begins:
        offer(one)
    found: list[int] = []
    # A loop over copies: who may get the next one depends on who got the last. Some microseconds each.
    while ready and len(found) < count:
        _, node, one = heapq.heappop(ready)
        found.append(node)
        begins[one] += 1
        standing[height[one]] -= 1
        height[one] += 1
        standing[height[one]] = standing.get(height[one], 0) + 1
        offer(one)
        while not standing.get(low):
            low += 1
            for other in waiting.pop(low, ()):
                offer(other)
    return np.array(found, np.int64)
