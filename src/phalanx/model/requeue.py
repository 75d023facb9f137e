"""Start timeouts: a gang that has not started in time queues again, behind those who came meanwhile."""

import numpy as np

from phalanx.model.axis import Float, Int


def turns(now: float, created: Float, timeout: Float, running: Int) -> Float:
    """Return how many full timeouts have passed since creation.

    0 where there is no timeout, and for a gang that has members on nodes: it has started.
    """
    counts = (timeout > 0) & (running == 0)
    waited = np.maximum(now - created, 0.0)
    passed: Float = np.floor_divide(waited, timeout, out=np.zeros(len(created)), where=counts)
    return passed
