"""BalancedAllocation: prefer nodes that stay evenly used in cpu and memory (kube-scheduler 1.36's formula)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.kernels.fit_scores import balance
from phalanx.engine.plugin import Plugin
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Float, Int


@dataclass(frozen=True, slots=True)
class BalancedAllocation(Plugin):
    """Score how a placement changes the balance: 75 when it does not, towards 100 when it evens out."""

    name: ClassVar[str] = "balanced_allocation"

    def score(self, session: Session, request: Request, nodes: Int, copies: Int) -> Float:
        """Return 50 + (50 + balance with - balance without) / 2, in hundredths."""
        if not session.snapshot.requests[request.shape, :2].any():
            return np.zeros(len(nodes))
        without = self._balance(session, request, nodes, copies)
        with_it = self._balance(session, request, nodes, copies + 1)
        scored: Float = (50 + (50 + with_it - without) // 2) / 100
        return scored

    def _balance(self, session: Session, request: Request, nodes: Int, copies: Int) -> Int:
        fractions = []
        for column in (0, 1):
            capacity = session.snapshot.nodes.allocatable[nodes, column]
            used = (
                capacity
                - session.ledger.books().free[nodes, column]
                + copies * session.snapshot.requests[request.shape, column]
            )
            share = np.divide(used, capacity, out=np.zeros(len(nodes)), where=capacity > 0)
            fractions.append(np.minimum(share, 1.0))
        return balance(fractions)
