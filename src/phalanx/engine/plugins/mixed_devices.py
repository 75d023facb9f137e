"""MixedDevices: on a node whose GPUs differ, those that serve a wish are counted apart from the others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from phalanx.engine.kernels.device_match import asked, places, serving
from phalanx.engine.plugin import UNLIMITED, Plugin
from phalanx.engine.session.column import Column
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Int, unit
from phalanx.model.device import DeviceWish
from phalanx.model.snapshot import Snapshot

COLUMN = "mixed_devices"

#: A wish and the resource of which it speaks.
_Want: TypeAlias = tuple[DeviceWish, str]


@dataclass(frozen=True, slots=True)
class MixedDevices(Plugin):
    """Count the devices that serve where a node has others too.

    Nobody knows which of them a task without a wish is on: it counts as being on those that serve.
    """

    name: ClassVar[str] = COLUMN
    reads: ClassVar[tuple[str, ...]] = ("wish",)

    def columns(self, snapshot: Snapshot) -> Sequence[Column]:
        """Return [node, want]: how many places serve each want that some node can only serve in part."""
        wants = _wants(snapshot)
        if not wants:
            return ()
        table, nodes = snapshot.nodes.devices, len(snapshot.nodes)
        footprint = np.zeros((len(snapshot.shapes), len(wants)), np.int64)
        capacity = np.zeros((nodes, len(wants)), np.int64)
        # A loop over the few wants that are served in part, and the shapes that ask for such a resource.
        for column, (wish, resource) in enumerate(wants):
            served = serving(table, wish) & table.of_resource(resource)
            capacity[:, column] = places(table, served, nodes)
            for row, shape in enumerate(snapshot.shapes):
                amount = dict(shape.requests).get(resource, 0)
                if amount and (shape.devices is None or (served & serving(table, shape.devices)).any()):
                    footprint[row, column] = -(-amount // unit(resource))
        return (Column(COLUMN, footprint, capacity),)

    def room(self, session: Session, request: Request) -> Int | None:
        """Return how many copies the places that serve still hold; nothing to say where whole nodes serve."""
        rooms = [session.spare(request, column, COLUMN) // count for column, count in _own(session, request)]
        return np.maximum(np.minimum.reduce(rooms), 0) if rooms else None

    def ceiling(self, session: Session, request: Request) -> Int:
        """Return how many copies they hold if nobody else is there."""
        table, nodes = session.snapshot.nodes.devices, len(session.snapshot.nodes)
        wants, room = _wanted(session), np.full(nodes, UNLIMITED, np.int64)
        for column, count in _own(session, request):
            wish, resource = wants[column]
            has = places(table, serving(table, wish) & table.of_resource(resource), nodes)
            np.minimum(room, has // count, out=room)
        return room

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Say that the devices of one kind are used up where a node has several."""
        del session, request
        return [(len(nodes), "whose devices that serve may all be in use (it has others)")]


def _wanted(session: Session) -> list[_Want]:
    return session.once("mixed devices", lambda: _wants(session.snapshot), static=True)


def _own(session: Session, request: Request) -> list[tuple[int, int]]:
    """Return the columns of a request's own wish, and how many devices it asks for."""
    wants, shape = _wanted(session), session.snapshot.shapes[request.shape]
    if not wants or shape.devices is None:
        return []
    own = {(shape.devices, name): count for name, count in asked(session.snapshot.nodes.devices, shape) if count}
    return [(column, own[want]) for column, want in enumerate(wants) if want in own]


def _wants(snapshot: Snapshot) -> list[_Want]:
    """Return the wishes that some node serves with a part of its devices, each with its resource, in one order."""
    table, nodes = snapshot.nodes.devices, len(snapshot.nodes)
    found = set()
    # A loop over the distinct wishes in the cluster, which are few.
    for shape in {(shape.devices, shape.requests): shape for shape in snapshot.shapes if shape.devices}.values():
        for resource, _ in asked(table, shape):
            if shape.devices is not None and (shape.devices, resource) not in found:
                all_ = table.of_resource(resource) & table.usable
                has = places(table, all_ & serving(table, shape.devices), nodes)
                if ((has > 0) & (has < places(table, all_, nodes))).any():
                    found.add((shape.devices, resource))
    return sorted(found, key=lambda want: (want[1], want[0].models, want[0].memory))
