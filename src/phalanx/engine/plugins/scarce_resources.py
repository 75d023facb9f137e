"""ScarceResources: tasks that need no GPU stay away from GPU nodes, so that those stay free for tasks that do."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from phalanx.engine.plugin import Plugin
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import PODS, Bool, Float, Int, is_extended
from phalanx.model.snapshot import Snapshot

#: Stands for every extended resource (`vendor.com/thing`).
ANY_EXTENDED = "*"


@dataclass(frozen=True, slots=True)
class ScarceResources(Plugin):
    """Score nodes lower the more scarce resources they have that the task does not ask for."""

    resources: list[str] = field(default_factory=lambda: [ANY_EXTENDED])
    name: ClassVar[str] = "scarce_resources"

    def score(self, session: Session, request: Request, nodes: Int, copies: Int) -> Float:
        """Return (|unasked| - |unasked and scarce|) / |unasked| over the node's resources; 1 when none is scarce."""
        del copies
        asked = session.snapshot.requests[request.shape] > 0
        scored = session.once(("scarce", asked.tobytes()), lambda: self._scores(session.snapshot, asked), static=True)
        return scored[nodes]

    def _scores(self, snapshot: Snapshot, asked: Bool) -> Float:
        """Return the score of every node for tasks that ask for these resources."""
        names = snapshot.axis.names
        listed = set(self.resources)
        total = np.zeros(len(snapshot.nodes), np.int64)
        wasted = np.zeros(len(snapshot.nodes), np.int64)
        # A loop over resources, each a column of the table.
        for column in np.flatnonzero(~asked).tolist():
            name = names[column]
            if name != PODS:
                there = snapshot.nodes.allocatable[:, column] > 0
                total += there
                if name in listed or (ANY_EXTENDED in listed and is_extended(name)):
                    wasted += there
        return np.where(wasted > 0, (total - wasted) * 100 // np.maximum(total, 1), 100) / 100
