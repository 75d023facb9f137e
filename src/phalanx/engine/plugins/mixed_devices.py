"""MixedDevices: on a node whose GPUs differ, those that serve a wish are counted apart from the others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from phalanx.engine.kernels.device_match import asked, of_resources, places, serving
from phalanx.engine.plugin import UNLIMITED, Plugin
from phalanx.engine.session.column import Column
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Bool, Int, unit
from phalanx.model.device import DeviceKinds, DeviceWish
from phalanx.model.snapshot import Snapshot
from phalanx.model.task import Shape

COLUMN = "mixed_devices"

#: A resource, and which kinds of devices serve: wishes that the same kinds serve are one want.
_Want: TypeAlias = tuple[str, bytes]


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
        kinds, nodes = snapshot.nodes.devices.kinds, len(snapshot.nodes)
        masks: dict[DeviceWish, Bool] = {}
        # [shape, kind]: on which kinds a task of the shape may be. A loop over the shapes of the cluster.
        may = np.ones((len(snapshot.shapes), len(kinds.model)), np.bool_)
        for row, shape in enumerate(snapshot.shapes):
            if shape.devices is not None:
                may[row] = masks.setdefault(shape.devices, serving(kinds, shape.devices))
        footprint = np.zeros((len(snapshot.shapes), len(wants)), np.int64)
        capacity = np.zeros((nodes, len(wants)), np.int64)
        for column, (resource, served) in enumerate(wants):
            chosen = np.frombuffer(served, np.bool_)
            capacity[:, column] = places(kinds, chosen, nodes)
            amounts = snapshot.requests[:, snapshot.axis.index[resource]] if resource in snapshot.axis.index else 0
            footprint[:, column] = np.where((may & chosen).any(axis=1), -(-amounts // unit(resource)), 0)
        return (Column(COLUMN, footprint, capacity),)

    def room(self, session: Session, request: Request) -> Int | None:
        """Return how many copies the places that serve still hold; nothing to say where whole nodes serve."""
        rooms = [session.spare(request, column, COLUMN) // count for column, count in _own(session, request)]
        return np.maximum(np.minimum.reduce(rooms), 0) if rooms else None

    def ceiling(self, session: Session, request: Request) -> Int:
        """Return how many copies they hold if nobody else is there."""
        kinds, nodes = session.snapshot.nodes.devices.kinds, len(session.snapshot.nodes)
        wants, room = _wanted(session), np.full(nodes, UNLIMITED, np.int64)
        for column, count in _own(session, request):
            np.minimum(room, places(kinds, np.frombuffer(wants[column][1], np.bool_), nodes) // count, out=room)
        return room

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Say that the devices of one kind are used up where a node has several."""
        del session, request
        return [(len(nodes), "whose devices that serve may all be in use (it has others)")]


def _wanted(session: Session) -> list[_Want]:
    return session.once("mixed devices", lambda: _wants(session.snapshot), static=True)


def _own(session: Session, request: Request) -> list[tuple[int, int]]:
    """Return the columns of a request's own wish, and how many devices it asks for."""
    shape = session.snapshot.shapes[request.shape]
    # Who shares devices gets them by name, and those serve.
    if shape.devices is None or shape.part is not None or not (wants := _wanted(session)):
        return []
    return session.once(("own mixed devices", shape.wish), lambda: _columns_of(session, wants, shape), static=True)


def _columns_of(session: Session, wants: list[_Want], shape: Shape) -> list[tuple[int, int]]:
    kinds = session.snapshot.nodes.devices.kinds
    own = [(_want(kinds, shape, name), count) for name, count in asked(kinds, shape)]
    return [(wants.index(want), count) for want, count in own if want in wants]


def _want(kinds: DeviceKinds, shape: Shape, resource: str) -> _Want:
    assert shape.devices is not None
    return resource, (serving(kinds, shape.devices) & of_resources(kinds, (resource,))).tobytes()


def _wants(snapshot: Snapshot) -> list[_Want]:
    """Return what is wanted and some node serves with a part of its devices, in one order."""
    wishing = {shape.wish: shape for shape in snapshot.shapes if shape.devices is not None}
    if not wishing:
        return []
    kinds, nodes = snapshot.nodes.devices.kinds, len(snapshot.nodes)
    every = {_want(kinds, shape, name) for shape in wishing.values() for name, _ in asked(kinds, shape)}
    return sorted(want for want in every if _in_part(kinds, want, nodes))


def _in_part(kinds: DeviceKinds, want: _Want, nodes: int) -> bool:
    has = places(kinds, np.frombuffer(want[1], np.bool_), nodes)
    return bool(((has > 0) & (has < places(kinds, of_resources(kinds, want[:1]), nodes))).any())
