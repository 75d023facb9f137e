"""Packing: places for things of several kinds at once, found whenever there are any, as long as things are few.

Placing kind after kind may fill the only place that a later kind has. Here every way to spread each kind is tried
before that is believed, so it is for a dozen things on a dozen nodes, and it gives up after so many looks.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from phalanx.model.axis import Int


def pack(space: Int, asks: Int, counts: Int, caps: Int, looks: int) -> tuple[list[list[int]] | None, int]:
    """Return for each kind the nodes of its copies; None: there is no way, or none within so many looks.

    And how many looks at a node it took.

    `space` is [node, resource], `asks` [kind, resource], `counts` [kind], `caps` [kind, node].
    """
    share = (asks / np.maximum(space.max(axis=0, initial=1), 1)).max(axis=1, initial=0.0)
    order = [kind for kind in np.argsort(-share, kind="stable").tolist() if counts[kind]]
    wanted = [[(at, amount) for at, amount in enumerate(ask) if amount] for ask in asks.tolist()]
    search = _Packing(space.tolist(), order, wanted, counts.tolist(), caps.tolist(), looks)
    found: list[list[int]] = [[] for _ in wanted]
    fine = search.from_kind(0, found)
    return found if fine else None, looks - search.looks


@dataclass(slots=True)
class _Packing:
    """Plain numbers: a look at one node costs less so than any array."""

    left: list[list[int]]
    #: Kinds, the largest first, and what one of each asks for.
    order: list[int]
    wanted: list[list[tuple[int, int]]]
    counts: list[int]
    caps: list[list[int]]
    looks: int

    def from_kind(self, position: int, found: list[list[int]]) -> bool:
        """Place this kind and all after it; leave no trace of what fails."""
        if position == len(self.order):
            return True
        kind = self.order[position]
        self.looks -= len(self.left) * (len(self.order) - position)
        for other in self.order[position + 1 :]:
            if sum(self._fit(other, node) for node in range(len(self.left))) < self.counts[other]:
                return False
        fits = [(self._fit(kind, node), self.left[node], node) for node in range(len(self.left))]
        # The tightest nodes first: what is left of them is of least use to others.
        nodes = sorted(entry for entry in fits if entry[0])
        for spread in self._spreads(nodes, self.counts[kind]):
            for node, copies in spread:
                self._put(kind, node, -copies)
            found[kind] = [node for node, copies in spread for _ in range(copies)]
            if self.from_kind(position + 1, found):
                return True
            for node, copies in spread:
                self._put(kind, node, copies)
        return False

    def _spreads(self, nodes: list[tuple[int, list[int], int]], count: int) -> Iterator[list[tuple[int, int]]]:
        """Yield every way to spread so many copies: (node, copies). Of equal nodes the first has most."""
        after = [0]
        for fit, _, _ in reversed(nodes):
            after.append(after[-1] + fit)
        after.reverse()
        most = [fit for fit, _, _ in nodes]
        alike = [at > 0 and self._alike(nodes[at - 1], nodes[at]) for at in range(len(nodes))]
        # How many copies the first nodes have. Without recursion: there may be more nodes than it allows.
        chosen: list[int] = []
        rest, deeper = count, True
        while self.looks > 0:
            self.looks -= 1
            at = len(chosen)
            if deeper and not rest:
                yield [(nodes[index][2], copies) for index, copies in enumerate(chosen) if copies]
                deeper = False
            elif deeper and rest <= after[at]:
                chosen.append(min(most[at], rest, chosen[-1] if alike[at] else rest))
                rest -= chosen[-1]
            else:
                while chosen and not chosen[-1]:
                    chosen.pop()
                if not chosen:
                    return
                chosen[-1] -= 1
                rest, deeper = rest + 1, True

    def _alike(self, one: tuple[int, list[int], int], other: tuple[int, list[int], int]) -> bool:
        return one[1] == other[1] and all(caps[one[2]] == caps[other[2]] for caps in self.caps)

    def _fit(self, kind: int, node: int) -> int:
        here = self.left[node]
        return max(min([self.caps[kind][node], *(here[at] // amount for at, amount in self.wanted[kind])]), 0)

    def _put(self, kind: int, node: int, sign: int) -> None:
        here = self.left[node]
        for at, amount in self.wanted[kind]:
            here[at] += sign * amount
