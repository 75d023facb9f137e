"""HostPorts: a port of the node itself can be taken once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.plugin import UNLIMITED, Plugin
from phalanx.engine.session.column import Column
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Int
from phalanx.model.selectors import HostPort
from phalanx.model.snapshot import Snapshot

COLUMN = "host_ports"


@dataclass(frozen=True, slots=True)
class HostPorts(Plugin):
    """Let at most one copy per node have a host port, and none where it is taken."""

    name: ClassVar[str] = "host_ports"
    reads: ClassVar[tuple[str, ...]] = ("host_ports",)

    def columns(self, snapshot: Snapshot) -> Sequence[Column]:
        """Return [node, port]: how many pods have a port that overlaps this one."""
        ports = _ports(snapshot)
        if not ports:
            return ()
        footprint = np.zeros((len(snapshot.shapes), len(ports)), np.int64)
        # A loop over the shapes with host ports, which are few.
        for row, shape in enumerate(snapshot.shapes):
            if shape.host_ports:
                footprint[row] = [any(port.overlaps(own) for own in shape.host_ports) for port in ports]
        return (Column(COLUMN, footprint, np.ones((len(snapshot.nodes), len(ports)), np.int64)),)

    def room(self, session: Session, request: Request) -> Int | None:
        """Return one copy where all its ports are free, none elsewhere; no ports, nothing to say."""
        own = session.snapshot.shapes[request.shape].host_ports
        if not own:
            return None
        ports = session.once("host_ports", lambda: _ports(session.snapshot), static=True)
        free = [session.spare(request, ports.index(port), COLUMN) for port in own]
        room: Int = np.maximum(np.minimum.reduce(free), 0)
        return room

    def ceiling(self, session: Session, request: Request) -> Int:
        """Return one copy per node, or no limit."""
        limit = 1 if session.snapshot.shapes[request.shape].host_ports else UNLIMITED
        return np.full(len(session.snapshot.nodes), limit, np.int64)

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Name the ports."""
        return [(len(nodes), f"with host port {_named(session, request)} taken")]

    def limits(self, session: Session, request: Request, nodes: Int) -> str:
        """A port is one per node."""
        del nodes
        ports = _named(session, request)
        return f"host port {ports} is free once per node" if ports else ""


def _named(session: Session, request: Request) -> str:
    return ",".join(str(port.port) for port in session.snapshot.shapes[request.shape].host_ports)


def _ports(snapshot: Snapshot) -> list[HostPort]:
    """Return every host port that some shape has, sorted."""
    return sorted({port for shape in snapshot.shapes for port in shape.host_ports})
