"""Spreading: how evenly pods lie over domains, as numbers over all nodes."""

import numpy as np

from phalanx.model.axis import Bool, Float, Int


def lowest(counts: Int, counting: Bool, least_domains: int) -> int:
    """Return what the domain that has least has; with too few domains, nothing."""
    there = counts[counting]
    return int(there.min()) if len(there) >= max(least_domains, 1) else 0


def risen(level: Int, count: int) -> int:
    """Return how high the lowest of these can stand after so many copies."""
    counting = np.sort(level)
    if not len(counting):
        return 0
    heights = (count + np.cumsum(counting)) // np.arange(1, len(counting) + 1)
    return int(heights[np.flatnonzero(heights >= counting)[-1]])


def unevenness(counts: Float, weight: float, skew: int) -> Float:
    """Return what one constraint adds to the raw score: the fewer the better."""
    return np.asarray(counts * weight + (skew - 1), np.float64)


def weight_of(domains: int) -> float:
    """Return how much one pod counts: more in a topology of many domains."""
    return float(np.log(domains + 2.0))


def evenness(raw: Float, candidates: Int, scored: Bool) -> Float:
    """Return [node] from 0 to 1: the raw scores turned around, in whole hundredths, over the candidates that count."""
    rounded = np.floor(raw + 0.5).astype(np.int64)
    there = rounded[candidates[scored[candidates]]]
    most = int(there.max()) if len(there) else 0
    if not most:
        return scored.astype(np.float64)
    hundredths = 100 * (most + int(there.min()) - rounded) // most
    # numpy's own clip takes several times as long where entries are few.
    return np.where(scored, np.maximum(np.minimum(hundredths, 100), 0), 0) / 100
