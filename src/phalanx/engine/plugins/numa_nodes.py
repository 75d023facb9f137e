"""NumaNodes: a pod gets its GPUs, and the cpus that it has for itself, near each other where its node sees to that."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.plugin import UNLIMITED, Plugin
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.engine.session.taking import aligned, island_room, islands_of
from phalanx.model.axis import Float, Int
from phalanx.model.island import NUMA


@dataclass(frozen=True, slots=True)
class NumaNodes(Plugin):
    """Let through nodes whose topology policy would admit a copy; prefer those where it lies on few NUMA nodes."""

    name: ClassVar[str] = "numa_nodes"
    reads: ClassVar[tuple[str, ...]] = ("requests", "pinned", "part", "wish")
    layer: ClassVar[str] = NUMA

    def room(self, session: Session, request: Request) -> Int | None:
        """Return how many copies a node takes, island by island; nothing to say where nobody minds."""
        return island_room(session, self.layer, request)

    def ceiling(self, session: Session, request: Request) -> Int:
        """Return how many it takes if nobody is there."""
        books = islands_of(session, self.layer)
        return np.full(len(session.snapshot.nodes), UNLIMITED) if books is None else books.ceiling(request.shape)

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Tell nodes without room on their NUMA nodes from those of which nobody says what is near what."""
        books = islands_of(session, self.layer)
        assert books is not None
        known = books.known(request.shape)[nodes] | books.minds(request.shape)[nodes]
        few, unknown = int(known.sum()), int((~known).sum())
        found = [(few, "without room for it on one NUMA node, or on as few as can be")] if few else []
        return [*found, (unknown, "whose NUMA nodes are not known")] if unknown else found

    def score(self, session: Session, request: Request, nodes: Int, copies: Int) -> Float | None:
        """Return 1 where the next copy is known to lie on as few NUMA nodes as it can, else 0."""
        return aligned(session, self.layer, request, nodes, copies)
