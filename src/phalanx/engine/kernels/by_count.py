"""By count: place n equal copies in one array expression instead of n loops.

Greedy placement takes, n times, the node whose next copy scores best. Its result can be written down at
once: of all entries (node, j-th copy), ordered by the running minimum of that node's scores over j, falling,
then by node, then by j, take the first n. A node is left for a better one exactly when its next copy scores
less than what others offer, and a later copy that scores more can only be reached through the worse one.
"""

from collections.abc import Callable

import numpy as np

from phalanx.model.axis import Int

#: (nodes, copies) -> the score of one more copy on nodes[i] that already got copies[i], on an integer grid.
GridScore = Callable[[Int, Int], Int]

#: Farther apart than any two scores on the grid, so that nodes do not mix in a running minimum.
APART = np.int64(2**44)


def by_count(room: Int, count: int, score: GridScore, roomy: Int | None = None) -> Int:
    """Return the node of each copy, in greedy order; fewer than `count` when there is no more room.

    `roomy` are the nodes with room, for a caller who knows them already.
    """
    nodes = np.flatnonzero(room > 0) if roomy is None else roomy
    if count <= 0 or not len(nodes):
        return nodes[:0]
    if len(nodes) == 1:
        return np.repeat(nodes, np.minimum(room[nodes], count))
    first = score(nodes, np.zeros(len(nodes), np.int64))
    if count == 1:
        return nodes[np.argmax(first) :][:1]
    copies = np.minimum(room[nodes], count)
    # Enough nodes by their first copy's score, whose copies already number `count`.
    # Often those with the best score of all are enough, and then nothing has to be sorted.
    best_first = np.flatnonzero(first == first.max())
    if int(copies[best_first].sum()) < count:
        best_first = np.argsort(-first, kind="stable")
    enough = int(np.searchsorted(np.cumsum(copies[best_first]), count)) + 1
    chosen = np.sort(best_first[:enough])
    if enough >= len(nodes):
        return _best(nodes, copies, count, score)[0]
    taken, worst, last = _best(nodes[chosen], copies[chosen], count, score)
    # A node outside can only enter with entries no better than its first copy: those that could still be
    # among the best `count` are the ones that beat the worst taken, or tie with it and come before it.
    outside = np.ones(len(nodes), np.bool_)
    outside[chosen] = False
    rivals = outside & ((first > worst) | ((first == worst) & (nodes < last)))
    if not rivals.any():
        return taken
    wider = np.flatnonzero(rivals | ~outside)
    return _best(nodes[wider], copies[wider], count, score)[0]


def _best(nodes: Int, copies: Int, count: int, score: GridScore) -> tuple[Int, int, int]:
    """Return the best `count` entries of these nodes in order, the worst score among them and its node."""
    owner = np.repeat(np.arange(len(nodes)), copies)
    begin = np.repeat(np.cumsum(copies) - copies, copies)
    copy = np.arange(len(owner)) - begin
    offered = score(nodes[owner], copy)
    lowest: Int = np.minimum.accumulate(offered - owner * APART) + owner * APART
    if len(lowest) > count:
        worst = np.partition(lowest, len(lowest) - count)[len(lowest) - count]
        better = lowest > worst
        tied = np.flatnonzero(lowest == worst)[: count - int(better.sum())]
        better[tied] = True
        entries = np.flatnonzero(better)
    else:
        entries = np.arange(len(lowest))
    entries = entries[np.argsort(-lowest[entries], kind="stable")]
    picked = nodes[owner[entries]]
    return picked, int(lowest[entries[-1]]), int(picked[-1])
