"""NodeAffinity: a task says which nodes it must have (nodeSelector, required) and which it likes (preferred)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.kernels.match import selected, term_mask
from phalanx.engine.plugin import Plugin, yes_no
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Float, Int


@dataclass(frozen=True, slots=True)
class NodeAffinity(Plugin):
    """Let through nodes that match; prefer nodes whose preferred terms weigh most."""

    name: ClassVar[str] = "node_affinity"
    reads: ClassVar[tuple[str, ...]] = ("node_selector", "node_terms")
    static: ClassVar[bool] = True

    def room(self, session: Session, request: Request) -> Int | None:
        """Return yes or no per node: the selector AND (one of the terms)."""
        spec, nodes = session.snapshot.shapes[request.shape], session.snapshot.nodes
        if spec.node_selector is None and spec.node_terms is None:
            return None
        return yes_no(selected(nodes, spec.node_selector, spec.node_terms))

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Name the selector, which is what people look for."""
        spec = session.snapshot.shapes[request.shape]
        if spec.node_selector is None or spec.node_terms is not None:
            return [(len(nodes), "not matching the node affinity")]
        wished = ",".join(f"{wish.key}={wish.values[0]}" for wish in spec.node_selector.labels)
        return [(len(nodes), f"without label {wished}")]

    def score(self, session: Session, request: Request, nodes: Int, copies: Int) -> Float:
        """Return the weights of the matching preferences, as a share of the most that any candidate has."""
        del copies
        preferences = session.snapshot.shapes[request.shape].preferences
        if not preferences:
            return np.zeros(len(nodes))
        weights = session.once(("preferred", preferences), lambda: self._weights(session, request), static=True)
        most = weights[request.candidates].max(initial=0)
        scored: Float = weights[nodes] * 100 // most / 100 if most else np.zeros(len(nodes))
        return scored

    def _weights(self, session: Session, request: Request) -> Int:
        nodes = session.snapshot.nodes
        total = np.zeros(len(nodes), np.int64)
        for preference in session.snapshot.shapes[request.shape].preferences:
            # A preferred term without any expression matches every node; a required one matches none.
            empty = not (preference.term.labels or preference.term.fields)
            total += preference.weight * (np.True_ if empty else term_mask(nodes, preference.term))
        return total
