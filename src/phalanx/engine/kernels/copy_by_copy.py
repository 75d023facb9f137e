"""Copy by copy: greedy placement where each copy changes what domains count, and that decides who gets the next.

Nodes that are alike to whoever counts are one class: they lie in the same zones, and their hosts count the same. Of a
class the node that is best by itself is next, so a copy costs as much as there are classes, not nodes.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from phalanx.engine.kernels.by_caps import NO_DOMAIN, Caps, in_one_domain
from phalanx.engine.kernels.by_count import GridScore
from phalanx.model.axis import Bool, Int

#: Of a class that takes no more: above any number that is made of a score (below `APART`) and a node row of 17 bits.
_NONE = np.int64(2**62)


@dataclass(frozen=True, slots=True)
class Count:
    """What is counted in the domains of one node label, and what a copy adds to its own."""

    #: [node]: its domain, or -1.
    of_node: Int
    #: [domain]
    now: Int
    #: [node]: what a copy there adds to its domain.
    adds: Int
    #: What counts on nodes in no domain.
    nowhere: int = 0

    def of_nodes(self) -> Int:
        """Return [node]: what its domain has."""
        found: Int = np.append(self.now, self.nowhere)[self.of_node]
        return found


#: (of each count what each entry has, the entries over which it is normalised) -> the score of each entry on the grid.
CountScore = Callable[[Sequence[Int], Int], Int]


def copy_by_copy(
    room: Int,
    count: int,
    near: GridScore,
    counts: Sequence[Count],
    far: CountScore,
    candidates: Int,
    caps: Sequence[Caps],
) -> Int:
    """Return the node of each copy, in greedy order.

    `near`: what scores say that look at the node alone. `far`: those that look at `counts`, over `candidates`.
    """
    together = [one for one in caps if one.together]
    if not together:
        return _Classes(room, count, near, counts, far, candidates, caps).picked(count)
    others = [one for one in caps if one is not together[0]]

    def first(nodes: Int, copies: Int) -> Int:
        worth = far([one.of_nodes() for one in counts], candidates)[nodes] if counts else 0
        return np.asarray(near(nodes, copies) + worth)

    def inside(here: Int) -> Int:
        return copy_by_copy(here, count, near, counts, far, candidates, others)

    found = in_one_domain(room, count, first, together[0], inside)
    assert found is not None
    return found


class _Classes:
    """The nodes by class, and what their domains count after each copy."""

    def __init__(
        self, room: Int, count: int, near: GridScore, counts: Sequence[Count], far: CountScore, candidates: Int,
        caps: Sequence[Caps],
    ) -> None:  # fmt: skip
        for one in caps:
            if one.level is None and _single(one.of_node):
                room = np.minimum(room, np.append(one.most, NO_DOMAIN)[one.of_node])
        self._room, self._far, self._counts = room, far, counts
        #: A score and a node row make one number: the greatest is the best score, and of equals the first node.
        self._bits = len(room).bit_length()
        caps = [one for one in caps if one.level is not None or not _single(one.of_node)]
        self._levels = [None if one.level is None else one for one in caps]
        #: Per count and cap: the domain of each node, what each domain has (the last: no domain), what a copy adds.
        self._of_node = [*(one.of_node for one in counts), *(one.of_node for one in caps)]
        self._has = [np.append(one.now, one.nowhere) for one in counts]
        self._has += [np.append(-one.most if one.level is None else one.level, -NO_DOMAIN) for one in caps]
        self._adds = [*(one.adds for one in counts), *(np.broadcast_to(1, len(room)) for _ in caps)]
        #: A domain that is one node tells nodes apart by what it counts alone.
        self._single = [_single(of_node) for of_node in self._of_node]
        self._low = [
            0 if one is None else int(self._has[len(counts) + at][:-1].min(initial=NO_DOMAIN))
            for at, one in enumerate(self._levels)
        ]
        self._lay_out(near, candidates, count)

    @property
    def _row(self) -> int:
        return (1 << self._bits) - 1

    def _lay_out(self, near: GridScore, candidates: Int, count: int) -> None:
        roomy = np.flatnonzero(self._room > 0)
        normal = np.zeros(len(self._room), np.bool_)
        normal[candidates] = True
        nodes = np.union1d(candidates, roomy)
        columns = [
            has[of_node[nodes]] if single else of_node[nodes]
            for of_node, has, single in zip(self._of_node, self._has, self._single, strict=True)
        ]
        columns.append(normal[nodes].astype(np.int64))
        of = np.zeros(len(nodes), np.int64)
        for column in columns:
            values, at = np.unique(column, return_inverse=True)
            of = np.unique(of * len(values) + at, return_inverse=True)[1]
        first = np.unique(of, return_index=True)[1]
        #: [column of the key, class]; the last column: its nodes are candidates.
        self._keys = np.stack(columns)[:, first] if len(nodes) else np.zeros((len(columns), 0), np.int64)
        self._at = {tuple(key): at for at, key in enumerate(self._keys.T.tolist())}
        self._class_of = np.full(len(self._room), -1)
        self._class_of[nodes] = of
        self._members = np.bincount(of, minlength=len(first)).tolist()
        packed = (-near(roomy, np.zeros(len(roomy), np.int64)) << self._bits) + roomy
        order = np.lexsort((packed, self._class_of[roomy]))
        packed, of = packed[order], self._class_of[roomy][order]
        begins = np.searchsorted(of, np.arange(len(first)))
        ends = np.searchsorted(of, np.arange(len(first)), side="right")
        # Nobody beyond the best `count` of a class gets a copy. What is in order is a heap.
        self._next = [packed[a : min(b, a + count)].tolist() for a, b in zip(begins, ends, strict=True)]
        self._tops = np.array([one[0] if one else _NONE for one in self._next], np.int64)
        every = np.sort(np.array([one for heap in self._next for one in heap], np.int64))
        self._ahead = _Ahead(near, self._room, (every & self._row).tolist())

    def picked(self, count: int) -> Int:
        """Return the nodes of so many copies."""
        found: list[int] = []
        stale, far, depth = True, self._tops, dict[int, int]()
        # A loop over copies: who gets the next one depends on who got the last.
        while len(found) < count and len(self._tops):
            if stale:
                far = self._scores()
            worth = far - self._tops
            if self._levels:
                worth[~self._open()] = -_NONE
            best = int(worth.argmax())
            if worth.item(best) <= -_NONE // 2:
                break
            node = heapq.heappop(self._next[best]) & self._row
            found.append(node)
            depth[node] = taken = depth.get(node, 0) + 1
            target, stale = self._put(best, node)
            if taken < self._room.item(node):
                score = self._ahead.score(node, taken, count - len(found))
                heapq.heappush(self._next[target], (-score << self._bits) + node)
            for one in {best, target}:
                self._tops[one] = self._next[one][0] if self._next[one] else _NONE
        return np.array(found, np.int64)

    def _scores(self) -> Int:
        among = np.flatnonzero(np.array(self._members) * self._keys[-1])
        values = [self._values(at) for at in range(len(self._counts))]
        return np.asarray(self._far(values, among) << self._bits)

    def _values(self, at: int) -> Int:
        """Return [class]: what a count or cap has there."""
        found: Int = self._keys[at] if self._single[at] else self._has[at][self._keys[at]]
        return found

    def _open(self) -> Bool:
        """Return [class]: whether every cap allows one more."""
        found = np.ones(len(self._tops), np.bool_)
        for number, caps in enumerate(self._levels):
            most = 0 if caps is None else self._low[number] + caps.skew
            found &= self._values(len(self._counts) + number) < most
        return found

    def _put(self, at: int, node: int) -> tuple[int, bool]:
        """Count a copy on a node; return the class of the node now, and whether that changes scores."""
        moved, stale = False, False
        for number, of_node in enumerate(self._of_node):
            domain, adds = of_node.item(node), self._adds[number].item(node)
            if domain < 0 or not adds:
                continue
            has = self._has[number]
            was = has.item(domain)
            has[domain] = was + adds
            moved |= self._single[number]
            if number < len(self._counts):
                stale |= not self._single[number]
            elif self._levels[number - len(self._counts)] is not None and was == self._low[number - len(self._counts)]:
                self._low[number - len(self._counts)] = int(has[:-1].min())
        if not moved:
            return at, stale
        key = self._keys[:, at].tolist()
        for number, of_node in enumerate(self._of_node):
            if self._single[number]:
                key[number] = self._has[number].item(of_node.item(node))
        target = self._at.get(tuple(key))
        if target is None:
            target = self._at[tuple(key)] = len(self._members)
            self._keys = np.append(self._keys, np.array(key)[:, None], axis=1)
            self._tops = np.append(self._tops, _NONE)
            self._members.append(0)
            self._next.append([])
        self._members[at] -= 1
        self._members[target] += 1
        return target, stale or not self._members[at] or self._members[target] == 1


class _Ahead:
    """What nodes are worth for their second copy and those behind it: asked for many nodes at once."""

    def __init__(self, near: GridScore, room: Int, order: list[int]) -> None:
        self._near, self._room, self._order = near, room, order
        self._known: dict[int, list[int]] = {}
        self._begun = 0

    def score(self, node: int, copy: int, left: int) -> int:
        """Return what one more copy is worth on a node that got so many; `left` copies are to be placed."""
        known = self._known.get(node)
        if known is None or len(known) < copy:
            self._look(node, copy, left)
            known = self._known[node]
        return known[copy - 1]

    def _look(self, node: int, copy: int, left: int) -> None:
        """Work out twice as many copies of the node, and as many of those that will probably be next."""
        if copy == 1:
            ahead = self._order[self._begun : self._begun + left]
            self._begun += len(ahead)
            nodes = [node, *(one for one in ahead if one != node and one not in self._known)]
        else:
            others = (one for one, known in self._known.items() if len(known) == copy - 1 and one != node)
            nodes = [node, *(one for one, _ in zip(others, range(left), strict=False))]
        rows = np.array(nodes)
        depth = np.clip(self._room[rows] - copy, 0, copy)
        depth[0] = max(depth[0], 1)
        owner = np.repeat(np.arange(len(rows)), depth)
        level = copy + np.arange(len(owner)) - np.repeat(np.cumsum(depth) - depth, depth)
        scores = self._near(rows[owner], level).tolist()
        end = np.cumsum(depth).tolist()
        for at, one in enumerate(nodes):
            self._known.setdefault(one, []).extend(scores[end[at] - int(depth[at]) : end[at]])


def _single(of_node: Int) -> bool:
    """Tell whether every domain is one node."""
    known = of_node[of_node >= 0]
    return len(known) == 0 or bool(np.bincount(known).max() <= 1)
