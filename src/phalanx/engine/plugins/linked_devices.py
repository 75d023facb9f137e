"""LinkedDevices: a pod gets GPUs that have a fast link between them, such as NVLink."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.plugin import UNLIMITED, Plugin
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.engine.session.taking import aligned, island_room, islands_of
from phalanx.model.axis import Float, Int
from phalanx.model.island import LINK


@dataclass(frozen=True, slots=True)
class LinkedDevices(Plugin):
    """Let through nodes with enough linked GPUs for pods that insist on them; prefer such nodes for all others."""

    name: ClassVar[str] = "linked_devices"
    reads: ClassVar[tuple[str, ...]] = ("requests", "pinned", "part", "wish")
    layer: ClassVar[str] = LINK

    def room(self, session: Session, request: Request) -> Int | None:
        """Return how many copies a node takes, island by island; nothing to say where nobody minds."""
        return island_room(session, self.layer, request)

    def ceiling(self, session: Session, request: Request) -> Int:
        """Return how many it takes if nobody is there."""
        books = islands_of(session, self.layer)
        return np.full(len(session.snapshot.nodes), UNLIMITED) if books is None else books.ceiling(request.shape)

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Tell nodes without room on their link groups from those of which nobody says what is near what."""
        books = islands_of(session, self.layer)
        assert books is not None
        known = books.known(request.shape)[nodes] | books.minds(request.shape)[nodes]
        few, unknown = int(known.sum()), int((~known).sum())
        found = [(few, "without room for it on devices that are linked")] if few else []
        return [*found, (unknown, "whose links are not known")] if unknown else found

    def score(self, session: Session, request: Request, nodes: Int, copies: Int) -> Float | None:
        """Return 1 where the next copy is known to lie on as few link groups as it can, else 0."""
        return aligned(session, self.layer, request, nodes, copies)
