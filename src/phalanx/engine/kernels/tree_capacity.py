"""Tree capacity: how many copies fit into each domain, how few parts of a domain hold them, and which parts to fill."""

from dataclasses import dataclass

import numpy as np

from phalanx.model.axis import Bool, Int


def summed(of: Int, size: int, room: Int, mask: Bool) -> Int:
    """Return [domain]: the room of its nodes that are in the mask. `of` is [node]: its domain, or -1."""
    rows = np.flatnonzero(mask & (of >= 0) & (room > 0))
    return np.bincount(of[rows], room[rows], size).astype(np.int64)


def whole_pieces(of: Int, size: int, room: Int, piece: int) -> Int:
    """Return [node]: the room that is left when every domain takes whole pieces of so many copies alone.

    In each domain the nodes with most room keep theirs. Nodes that are in none have no room.
    """
    rows = np.flatnonzero((of >= 0) & (room > 0))
    total = np.bincount(of[rows], room[rows], size).astype(np.int64)
    found = np.zeros(len(room), np.int64)
    found[rows] = room[rows]
    over = (total % piece > 0)[of[rows]]
    rows = rows[over]
    order = rows[np.lexsort((rows, -room[rows], of[rows]))]
    before = np.cumsum(room[order]) - room[order]
    first = np.searchsorted(of[order], of[order])
    keep = (total // piece * piece)[of[order]]
    found[order] = np.clip(keep - (before - before[first]), 0, room[order]) if len(order) else 0
    return found


def parts_needed(parent: Int, capacity: Int, wanted: int, domains: int) -> Int:
    """Return [domain]: how few of its parts hold so many copies, the largest first. `parent` and `capacity` by part."""
    kept = np.flatnonzero((parent >= 0) & (capacity > 0))
    order = kept[np.lexsort([-capacity[kept], parent[kept]])]
    before = np.cumsum(capacity[order]) - capacity[order]
    first = np.searchsorted(parent[order], parent[order])
    needed = before - before[first] < wanted if len(order) else np.zeros(0, np.bool_)
    return np.bincount(parent[order][needed], minlength=domains)


@dataclass(frozen=True, slots=True)
class Fill:
    """Which parts to use: all the room of `whole`, and `rest` copies in `last`."""

    whole: Int
    last: int
    rest: int


def fewest(capacity: Int, wanted: int, there: Int) -> Fill:
    """Choose as few parts as can hold so many copies: the tightest one that holds all, or the largest and a tight rest.

    `there`: how many members each part has already; parts with members come first.
    """
    number = np.arange(len(capacity))
    enough = np.flatnonzero(capacity >= wanted)
    if len(enough):
        return Fill(number[:0], int(enough[np.lexsort([enough, capacity[enough], -there[enough]])[0]]), wanted)
    order = np.lexsort([number, -capacity, -there])
    total = np.cumsum(capacity[order])
    cut = int(np.searchsorted(total, wanted))
    rest = wanted - (int(total[cut - 1]) if cut else 0)
    left = order[cut:]
    left = left[capacity[left] >= rest]
    last = int(left[np.lexsort([left, capacity[left], -there[left]])[0]])
    return Fill(order[:cut], last, rest)
