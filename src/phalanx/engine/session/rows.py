"""Rows: small expressions over row numbers. Most units are of one task, for which nothing has to be sorted."""

import numpy as np

from phalanx.model.axis import Int


def steps(counts: Int) -> tuple[Int, Int]:
    """Return each position as often as it counts, and 0, 1, 2, … along each of them."""
    of = np.repeat(np.arange(len(counts)), counts)
    return of, np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)


def distinct(values: Int) -> Int:
    """Return the different values, in order.

    Not `np.unique`: without further answers it loads masked arrays, a thirtieth of a second of a start.
    """
    if (values == values[:1]).all():
        return values[:1]
    ordered = np.sort(values)
    different: Int = ordered[np.append(True, ordered[1:] != ordered[:-1])]
    return different


def counted(values: Int) -> tuple[Int, Int]:
    """Return the different values, in order, and how often each is there."""
    return (values, np.ones(1, np.int64)) if len(values) == 1 else np.unique(values, return_counts=True)
