"""How full a node is, as a score from 0 to 100 per resource: the formulas of kube-scheduler and Koordinator.

All in integers, with the division that Go does, so that the numbers are theirs. `used` includes the copy that
is being scored. Above 2^53 nothing is stored, so `used * 100` cannot wrap once it is cut to the capacity.
"""

import numpy as np

from phalanx.model.axis import Int


def most_allocated(used: Int, capacity: Int) -> Int:
    """min(used, capacity) * 100 / capacity: full nodes first. 0 where there is no capacity."""
    return _divide(np.minimum(used, capacity) * 100, capacity)


def least_allocated(used: Int, capacity: Int) -> Int:
    """(capacity - used) * 100 / capacity: empty nodes first. 0 where it does not fit."""
    return _divide(np.maximum(capacity - used, 0) * 100, capacity)


def ratio(used: Int, capacity: Int, utilization: Int, score: Int) -> Int:
    """Return a score on the line through the shape points (utilization 0-100, score 0-100), flat at both ends."""
    percent = _divide(np.minimum(used, capacity) * 100, capacity)
    right = np.searchsorted(utilization, percent, side="left")
    inner = np.clip(right, 1, len(utilization) - 1)
    if len(utilization) == 1:
        return np.full(percent.shape, score[0], np.int64)
    x0, x1, y0, y1 = utilization[inner - 1], utilization[inner], score[inner - 1], score[inner]
    rise = (y1 - y0) * (percent - x0)
    # Go's division truncates towards zero, Python's towards minus infinity.
    line = y0 + np.sign(rise) * (np.abs(rise) // (x1 - x0))
    line = np.where(percent <= utilization[0], score[0], line)
    scored: Int = np.where(percent > utilization[-1], score[-1], line)
    return scored


def balance(fractions: list[np.ndarray[tuple[int], np.dtype[np.float64]]]) -> Int:
    """int((1 - deviation) * 100) of the used fractions: 100 when all resources are equally used."""
    # Of two numbers the deviation is half their distance; written so to match Go's arithmetic to the bit.
    two = len(fractions) == 2
    deviation = np.abs(fractions[0] - fractions[1]) / 2 if two else np.std(np.stack(fractions), axis=0)
    return ((1 - deviation) * 100).astype(np.int64)


def _divide(above: Int, below: Int) -> Int:
    if below.size and below.flat[0] > 0 and (below == below.flat[0]).all():
        # Division by one number is several times as quick.
        return above // below.flat[0]
    out = np.zeros(np.broadcast(above, below).shape, np.int64)
    return np.floor_divide(above, below, out=out, where=below > 0)
