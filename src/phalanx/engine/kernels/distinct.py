"""Distinct: what of an array is different. Of one value there is nothing to sort, and most units are of one task."""

import numpy as np

from phalanx.model.axis import Int


def distinct(values: Int) -> Int:
    """Return the different values, in order."""
    return values if len(values) == 1 else np.unique(values)


def counted(values: Int) -> tuple[Int, Int]:
    """Return the different values, in order, and how often each is there."""
    return (values, np.ones(1, np.int64)) if len(values) == 1 else np.unique(values, return_counts=True)
