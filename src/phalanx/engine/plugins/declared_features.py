"""DeclaredFeatures: what needs a feature of the kubelet goes to nodes that declare it."""

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.plugin import Plugin, yes_no
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Int


@dataclass(frozen=True, slots=True)
class DeclaredFeatures(Plugin):
    """Let through nodes that declare every feature that the task needs."""

    name: ClassVar[str] = "declared_features"
    reads: ClassVar[tuple[str, ...]] = ("features",)
    static: ClassVar[bool] = True

    def room(self, session: Session, request: Request) -> Int | None:
        """Return yes or no per node: worked out per distinct set of features, of which there are few."""
        needed = set(session.snapshot.shapes[request.shape].features)
        if not needed:
            return None
        nodes = session.snapshot.nodes
        allowed = np.array([needed <= set(declared) for declared in nodes.feature_sets], np.bool_)
        return yes_no(allowed[nodes.feature_set])

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Count nodes under the first feature that they do not declare."""
        needed, table = session.snapshot.shapes[request.shape].features, session.snapshot.nodes
        counts: Counter[str] = Counter()
        for number, count in zip(*np.unique(table.feature_set[nodes], return_counts=True), strict=True):
            declared = table.feature_sets[number]
            counts[next(one for one in needed if one not in declared)] += int(count)
        return [
            (count, f"not declaring the feature {name}")
            for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        ]
