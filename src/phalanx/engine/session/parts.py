"""Parts: how many copies of a part fit on the devices of some nodes, and on which devices they go.

Free functions over arrays. Devices stand node by node; `starts` has where those of each node begin, and where the last
ones end.
"""

from dataclasses import dataclass, replace

import numpy as np

from phalanx.engine.session.rows import steps
from phalanx.model.axis import Bool, Int


@dataclass(frozen=True, slots=True)
class Offers:
    """What some nodes offer to copies of one part, each of which takes as much of so many devices."""

    starts: Int
    #: [device]: the node's place among these nodes.
    owner: Int
    #: [limit, device]: what is left of it, and what a copy takes of it; of the first limit every copy takes some.
    spare: Int
    cost: Int
    #: [device]: whether nobody shares it yet.
    opens: Bool
    #: [node]: how many devices that nobody shares may be shared from now on.
    wholes: Int
    #: A copy takes part of so many devices.
    devices: int

    @property
    def fits(self) -> Int:
        """Return how many copies each device holds by its limits.

        A copy that takes nothing of a limited thing, such as of the compute, goes where some of it is left.
        """
        fits = self.spare[0] // self.cost[0]
        # A loop over the limits beyond the first, of which there are two.
        for spare, cost in zip(self.spare[1:], self.cost[1:], strict=True):
            most = np.where(cost > 0, spare // np.maximum(cost, 1), np.where(spare > 0, fits, 0))
            np.minimum(fits, most, out=fits)
        return np.asarray(fits, np.int64)

    @property
    def copies(self) -> Int:
        """Return how many copies each device takes. Of those that nobody shares the first ones are for it."""
        fits = self.fits
        opening = self.opens & (fits > 0)
        if not opening.any():
            return fits
        rank = np.cumsum(opening)
        before = np.concatenate([[0], rank])[self.starts[:-1]]
        return np.where(opening & (rank - before[self.owner] > self.wholes[self.owner]), 0, fits)

    def sums(self, values: Int) -> Int:
        """Return [node]: the sum over its devices."""
        total = np.concatenate([[0], np.cumsum(values)])
        return np.asarray(total[self.starts[1:]] - total[self.starts[:-1]], np.int64)

    def room(self, fits: Int) -> Int:
        """Return [node]: how many copies fit, where each device takes so many."""
        most = self.sums(fits)
        if self.devices == 1:
            return most
        # Of m copies each has different devices, so a device serves at most m of them. More never fit where m do not.
        low, high = np.zeros(len(most), np.int64), most // self.devices
        while (low < high).any():
            middle = (low + high + 1) // 2
            enough = self.sums(np.minimum(fits, middle[self.owner])) >= middle * self.devices
            low, high = np.where(enough, middle, low), np.where(enough, high, middle - 1)
        return low


def chosen(offers: Offers, counts: Int, *, spread: bool, liked: Int | None = None) -> Int:
    """Return [entry, device]: the devices of so many copies per node, node by node, as if they came one by one.

    Tightest first: the fullest device that has room, by memory and then by compute, and one that nobody shares only if
    there is no other. Spread: the emptiest one. `liked`: [device] how good each is, which comes before both.
    """
    if offers.devices == 1:
        return _single(offers, counts, liked, spread=spread)[:, None]
    return _several(offers, counts, liked, spread=spread)


def _single(offers: Offers, counts: Int, liked: Int | None, *, spread: bool) -> Int:
    fits = np.minimum(offers.copies, counts[offers.owner])
    device, copy = steps(fits)
    left, cost = offers.spare[::-1, device], offers.cost[::-1, device]
    keys = [*(copy * cost - left)] if spread else [*left, offers.opens[device]]
    if liked is not None:
        keys.append(-liked[device])
    order = np.lexsort([device, *keys, offers.owner[device]])
    device = device[order]
    rank = _rank(offers.owner[device], np.ones(len(device), np.bool_), len(counts))
    return device[rank < counts[offers.owner[device]]]


def _several(offers: Offers, counts: Int, liked: Int | None, *, spread: bool) -> Int:
    """Take copy after copy on all nodes at once; of one node there are at most a few."""
    found = np.full((int(counts.sum()), offers.devices), -1)
    begin = np.cumsum(counts) - counts
    # A loop over the copies of one node, never over nodes.
    for turn in range(int(counts.max(initial=0))):
        picked = _next(offers, liked, spread=spread)
        picked = picked[(counts > turn)[offers.owner[picked]]]
        owner = offers.owner[picked]
        where = np.flatnonzero(counts > turn)
        found[begin[where] + turn] = picked.reshape(-1, offers.devices)
        spare, opens = offers.spare.copy(), offers.opens.copy()
        opened = np.bincount(owner[opens[picked]], minlength=len(counts))
        spare[:, picked] -= offers.cost[:, picked]
        opens[picked] = False
        offers = replace(offers, spare=spare, opens=opens, wholes=offers.wholes - opened)
    return found


def _next(offers: Offers, liked: Int | None, *, spread: bool) -> Int:
    """Return the devices of the next copy on each node that has room for one, node by node.

    The tightest ones, as far as that costs the node no other copy: a copy needs different devices, so those of which
    fewer are left than copies fit must not be used up beside each other.
    """
    fits = offers.copies
    room = offers.room(fits)
    able = (fits > 0) & (room > 0)[offers.owner]
    light = able & (fits < room[offers.owner])
    heavy = offers.sums((able & ~light).astype(np.int64))
    most = offers.sums(np.where(light, fits, 0)) + (heavy - offers.devices) * (room - 1)
    left = offers.spare[::-1]
    keys = [*-left] if spread else [*left, offers.opens]
    if liked is not None:
        keys.append(-liked)
    order = np.lexsort([np.arange(len(fits)), *keys, offers.owner])
    order = order[able[order]]
    owner = offers.owner[order]
    allowed = ~light[order] | (_rank(owner, light[order], len(room)) < most[owner])
    order, owner = order[allowed], owner[allowed]
    return order[_rank(owner, np.ones(len(order), np.bool_), len(room)) < offers.devices]


def _rank(owner: Int, counts: Bool, nodes: int) -> Int:
    """Return how many entries of the same node that count stand before each entry; entries stand node by node."""
    before: Int = np.cumsum(counts) - counts
    first = np.searchsorted(owner, np.arange(nodes))
    return np.asarray(before - np.append(before, 0)[first][owner], np.int64)
