"""Spreading: how evenly pods lie over domains, as numbers over all nodes."""

import numpy as np

from phalanx.model.axis import Bool, Float, Int


def lowest(counts: Int, counting: Bool, least_domains: int) -> int:
    """Return what the domain that has least has; with too few domains, nothing."""
    there = counts[counting]
    return int(there.min()) if len(there) >= max(least_domains, 1) else 0


def unevenness(counts: Float, weight: float, skew: int) -> Float:
    """Return what one constraint adds to the raw score: the fewer the better."""
    return np.asarray(counts * weight + (skew - 1), np.float64)


def weight_of(domains: int) -> float:
    """Return how much one pod counts: more in a topology of many domains."""
    return float(np.log(domains + 2.0))


def evenness(raw: Float, candidates: Int, scored: Bool) -> Float:
    """Return [node] from 0 to 1: the raw scores turned around, in whole hundredths, over the candidates that count."""
    rounded = np.floor(raw + 0.5).astype(np.int64)
    there = rounded[candidates][scored[candidates]]
    if not len(there) or not there.max():
        return scored.astype(np.float64)
    most, least = int(there.max()), int(there.min())
    hundredths = 100 * (most + least - rounded) // most
    return np.where(scored, np.clip(hundredths, 0, 100), 0) / 100
