"""Greedy: the plain one-at-a-time placement that placement by count must equal, and is measured against."""

from dataclasses import replace

import numpy as np

from phalanx.engine.kernels.by_count import GridScore
from phalanx.engine.placement.copies import copies
from phalanx.engine.placement.find import NO_TASKS, score
from phalanx.engine.policy import Policy
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Int


def greedy(free: Int, count: int, grid_score: GridScore) -> Int:
    """Take, `count` times, the node whose next copy scores best; the first of equals."""
    given = np.zeros(len(free), np.int64)
    picked: list[int] = []
    for _ in range(count):
        nodes = np.flatnonzero(given < free)
        if not len(nodes):
            break
        best = int(nodes[np.argmax(grid_score(nodes, given[nodes]))])
        given[best] += 1
        picked.append(best)
    return np.array(picked, np.int64)


def one_at_a_time(session: Session, policy: Policy, shape: int, count: int) -> Int:
    """Ask every filter and score anew for each copy, over the same arrays, and charge for it."""
    request = Request(shape)
    request = replace(request, candidates=np.flatnonzero(copies(session, policy, request) > 0))
    picked: list[int] = []
    for _ in range(count):
        nodes = np.flatnonzero(copies(session, policy, request) > 0)
        if not len(nodes):
            break
        best = nodes[np.argmax(score(session, policy, request, nodes, np.zeros(len(nodes), np.int64)))]
        session.take(request, NO_TASKS, np.array([best]))
        picked.append(int(best))
    return np.array(picked, np.int64)
