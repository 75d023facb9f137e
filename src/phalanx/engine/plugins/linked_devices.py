"""LinkedDevices: a pod gets GPUs that have a fast link between them, such as NVLink."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from phalanx.engine.plugin import UNLIMITED, Plugin
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.engine.session.taking import aligned, island_room, islands_of
from phalanx.model.axis import Float, Int, unit
from phalanx.model.device import DEVICES_MAX
from phalanx.model.island import LINK


@dataclass(frozen=True, slots=True)
class LinkedDevices(Plugin):
    """Let through nodes with enough linked GPUs for pods that insist on them; prefer such nodes for all others.

    Of some vendors' devices a pod gets certain numbers alone, as few link groups as hold them.
    """

    #: By resource: how many a pod may ask for.
    counts: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    name: ClassVar[str] = "linked_devices"
    reads: ClassVar[tuple[str, ...]] = ("requests", "pinned", "part", "wish")
    layer: ClassVar[str] = LINK

    def __post_init__(self) -> None:
        for resource, counts in self.counts.items():
            if not counts or not all(0 < count <= DEVICES_MAX for count in counts):
                raise ValueError(
                    f"counts.{resource}: found {list(counts)}, allowed are numbers of devices from 1 to {DEVICES_MAX}"
                )

    def room(self, session: Session, request: Request) -> Int | None:
        """Return how many copies a node takes, island by island; nothing to say where nobody minds."""
        if self._odd(session, request) is not None:
            return np.zeros(len(session.snapshot.nodes), np.int64)
        return island_room(session, self.layer, request, insist=self._counted(session, request))

    def ceiling(self, session: Session, request: Request) -> Int:
        """Return how many it takes if nobody is there."""
        nodes, books = len(session.snapshot.nodes), islands_of(session, self.layer)
        if self._odd(session, request) is not None:
            return np.zeros(nodes, np.int64)
        if books is None:
            return np.full(nodes, UNLIMITED)
        return books.ceiling(request.shape, insist=self._counted(session, request))

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Tell nodes without room on their link groups from those of which nobody says what is near what."""
        odd = self._odd(session, request)
        if odd is not None:
            resource, count = odd
            *others, last = map(str, sorted(self.counts[resource]))
            allowed = f"{', '.join(others)} or {last}" if others else last
            return [(len(nodes), f"left aside: it asks for {count} {resource}, allowed is {allowed}")]
        books = islands_of(session, self.layer)
        assert books is not None
        minds = books.minds(request.shape, insist=self._counted(session, request))
        known = books.known(request.shape)[nodes] | minds[nodes]
        few, unknown = int(known.sum()), int((~known).sum())
        found = [(few, "without room for it on devices that are linked")] if few else []
        return [*found, (unknown, "whose links are not known")] if unknown else found

    def score(self, session: Session, request: Request, nodes: Int, copies: Int) -> Float | None:
        """Return 1 where the next copy is known to lie on as few link groups as it can, else 0."""
        return aligned(session, self.layer, request, nodes, copies)

    def _odd(self, session: Session, request: Request) -> tuple[str, int] | None:
        """Return the first resource of which a copy asks for a number that it may not ask for."""
        for resource, amount in session.snapshot.shapes[request.shape].requests if self.counts else ():
            count = -(-amount // unit(resource))
            if count not in self.counts.get(resource, (count,)):
                return resource, count
        return None

    def _counted(self, session: Session, request: Request) -> bool:
        """Tell whether a copy asks for devices of which certain numbers alone are given out."""
        return bool(self.counts) and any(
            resource in self.counts for resource, _ in session.snapshot.shapes[request.shape].requests
        )
