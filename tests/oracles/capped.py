"""Capped: the plain one-at-a-time placement under caps that placement by caps must equal."""

from collections.abc import Sequence

import numpy as np

from phalanx.engine.kernels.by_caps import Caps
from phalanx.engine.kernels.by_count import GridScore
from phalanx.model.axis import Int


def greedy_under(caps: Sequence[Caps], free: Int, count: int, grid_score: GridScore) -> Int:
    """Take, `count` times, the node whose next copy scores best of those that every cap allows."""
    given = np.zeros(len(free), np.int64)
    picked: list[int] = []
    for _ in range(count):
        nodes = [node for node in range(len(free)) if given[node] < free[node] and allowed(caps, picked, node)]
        if not nodes:
            break
        scores = grid_score(np.array(nodes), given[nodes])
        best = nodes[int(np.argmax(scores))]
        given[best] += 1
        picked.append(best)
    return np.array(picked, np.int64)


def allowed(caps: Sequence[Caps], picked: list[int], node: int) -> bool:
    for one in caps:
        mine = int(one.of_node[node])
        if mine < 0:
            continue
        counts = np.bincount([domain for domain in one.of_node[picked] if domain >= 0], minlength=len(one.most))
        if counts[mine] >= one.most[mine]:
            return False
        if one.level is not None and one.level[mine] + counts[mine] + 1 - (one.level + counts).min() > one.skew:
            return False
    return True
