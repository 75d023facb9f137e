"""Taints: a node says which pods must stay away (NoSchedule, NoExecute) and which should (PreferNoSchedule)."""

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.kernels.tolerate import HARD, tolerates
from phalanx.engine.plugin import Plugin, yes_no
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Float, Int
from phalanx.model.node import Taint

SOFT = "PreferNoSchedule"


@dataclass(frozen=True, slots=True)
class Taints(Plugin):
    """Keep tasks off nodes whose taints they do not tolerate."""

    name: ClassVar[str] = "taints"
    reads: ClassVar[tuple[str, ...]] = ("tolerations",)
    static: ClassVar[bool] = True

    def room(self, session: Session, request: Request) -> Int:
        """Return yes or no per node: worked out per distinct set of taints, of which there are few."""
        nodes = session.snapshot.nodes
        allowed = [self._first_untolerated(session, request, taints) is None for taints in nodes.taint_sets]
        return yes_no(np.array(allowed, np.bool_)[nodes.taint_set])

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Count nodes under the first taint that is not tolerated."""
        sets, of_node = session.snapshot.nodes.taint_sets, session.snapshot.nodes.taint_set[nodes]
        counts: Counter[str] = Counter()
        for number, count in zip(*np.unique(of_node, return_counts=True), strict=True):
            counts[f"tainted {self._first_untolerated(session, request, sets[number])}"] += int(count)
        return [(count, text) for text, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]

    def score(self, session: Session, request: Request, nodes: Int, copies: Int) -> Float:
        """Return 1 - c/max, c the PreferNoSchedule taints that are not tolerated."""
        del copies
        table = session.snapshot.nodes
        tolerations = session.snapshot.shapes[request.shape].tolerations
        soft = [[taint for taint in taints if taint.effect == SOFT] for taints in table.taint_sets]
        if not any(soft):
            return np.ones(len(nodes))
        counts = np.array([sum(not tolerates(tolerations, taint) for taint in taints) for taints in soft])
        most = counts[table.taint_set[request.candidates]].max(initial=0)
        if not most:
            return np.ones(len(nodes))
        # In hundredths and whole numbers, as kube-scheduler normalises.
        scored: Float = (100 - 100 * counts // most)[table.taint_set[nodes]] / 100
        return scored

    def _first_untolerated(self, session: Session, request: Request, taints: tuple[Taint, ...]) -> Taint | None:
        tolerations = session.snapshot.shapes[request.shape].tolerations
        return next((t for t in taints if t.effect in HARD and not tolerates(tolerations, t)), None)
