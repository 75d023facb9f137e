"""Left: what of amounts may be given out, now and once every leaving task has left. Written here, and nowhere else.

A promise first waits for what is leaving; only what exceeds that lies in what is free.
"""

import numpy as np

from phalanx.model.axis import Int


def left_now(free: Int, leaving: Int, promised: Int) -> Int:
    """Return what is free, less what is promised of it."""
    left: Int = free - np.maximum(promised - leaving, 0)
    return left


def left_later(free: Int, leaving: Int, promised: Int) -> Int:
    """Return what will be free, less what is promised."""
    return free + leaving - promised
