"""Steps: rows that lie together, one after the other, for many stretches at once."""

import numpy as np

from phalanx.model.axis import Int


def steps(counts: Int) -> tuple[Int, Int]:
    """Return each position as often as it counts, and 0, 1, 2, … along each of them."""
    of = np.repeat(np.arange(len(counts)), counts)
    return of, np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
