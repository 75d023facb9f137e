"""Division: amounts are handed out among siblings by weight, exactly, for every parent and resource at once.

Water is poured into vessels as wide as their weights: all stand at one level, except those that are full (`high`) and
those whose floor (`low`) lies above it. A level that limits some queue is then cut to whole grains, and the grains that
are left over go one each by largest remainder, the oldest first among equals. Integers all the way: an amount is at
most 2^62, the weights of siblings add up to at most WEIGHTS_MAX, so that neither product below leaves an int64.
"""

import numpy as np

from phalanx.engine.kernels.stretches import Stretches
from phalanx.model.axis import Bool, Int

WEIGHTS_MAX = 2**31


def scaled(weight: Int, siblings: Stretches) -> Int:
    """Halve the weights of siblings until they add up to WEIGHTS_MAX at most. What has weight keeps some."""
    while (heavy := siblings.sums(weight) > WEIGHTS_MAX).any():
        weight = np.where(heavy[siblings.of] & (weight > 1), weight >> 1, weight)
    return weight


def portion(amount: Int, weight: Int, weights: Int) -> tuple[Int, Int]:
    """Return amount * weight / weights as the whole number below it and the remainder, in 1/weights."""
    parts = np.maximum(weights, 1)
    rest = (amount % parts) * weight
    return (amount // parts) * weight + rest // parts, rest % parts


def fill(amount: Int, low: Int, high: Int, weight: Int, siblings: Stretches, grain: Int, age: Int) -> Int:
    """Divide amount[siblings, resource] and return what each [row, resource] gets: low to high.

    Every floor is given even when there is less than all of them. Without weight a row gets its floor alone.
    """
    of, share = siblings.of, low.copy()
    rising = (weight > 0) & (low < high)
    left = np.maximum(amount - siblings.sums(np.where(rising, 0, low)), 0)
    # Each round settles at least one row of every parent that is not done, and most rounds settle many.
    while True:
        counted = np.where(rising, weight, 0)
        weights = siblings.sums(counted)
        whole, rest = portion(left[of], counted, weights[of])
        full, dry = rising & (high <= whole), rising & (low > whole)
        bound = full | dry
        if not bound.any():
            break
        # What full vessels spill against what floors draw: if these draw more, the level will sink, and who is below
        # its floor now stays there; otherwise it will rise, and who is full now stays full.
        asked = siblings.sums(np.where(full, high, np.where(dry, low, 0)))
        offered, _ = portion(left, siblings.sums(np.where(bound, counted, 0)), weights)
        settled = np.where((asked > offered)[of], dry, full)
        share = np.where(settled & full, high, share)
        left = np.maximum(left - siblings.sums(np.where(settled, share, 0)), 0)
        rising &= ~settled
    base = np.where(rising, np.maximum(low, whole - whole % grain), 0)
    left = np.where(weights > 0, left - siblings.sums(base), 0)
    remainder = (whole - base) * weights[of] + rest
    room = np.where(rising, np.minimum(grain, high - base), 0)
    return np.where(rising, base, share) + _grains(left, room, remainder, siblings, age)


def _grains(left: Int, room: Int, remainder: Int, siblings: Stretches, age: Int) -> Int:
    """Hand out what is left, one grain each (the last may be a part): the largest remainder first, then the oldest."""
    extra = np.zeros_like(room)
    wants: Bool = (room > 0) & (left > 0)[siblings.of]
    row, column = np.nonzero(wants)
    if not len(row):
        return extra
    group = siblings.of[row]
    order = np.lexsort((age[row], -remainder[row, column], group, column))
    row, column, group = row[order], column[order], group[order]
    turns = Stretches.by(column * len(siblings.first) + group)
    asked = room[row, column]
    before = np.cumsum(asked) - asked
    before -= before[turns.first][turns.of]
    extra[row, column] = np.clip(left[group, column] - before, 0, asked)
    return extra
