"""HostPorts: a port of the node itself can be taken once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.plugin import UNLIMITED, Plugin
from phalanx.engine.session import Session
from phalanx.model.axis import Int
from phalanx.model.selectors import HostPort
from phalanx.model.snapshot import Snapshot

COLUMN = "host_ports"


@dataclass(frozen=True, slots=True)
class HostPorts(Plugin):
    """Let at most one copy per node have a host port, and none where it is taken."""

    name: ClassVar[str] = "host_ports"

    def columns(self, snapshot: Snapshot) -> Mapping[str, Int]:
        """Return [node, port]: 1 where a port that some waiting shape wants cannot be had."""
        ports = _wanted(snapshot)
        if not ports:
            return {}
        taken = np.zeros((len(snapshot.nodes), len(ports)), np.int64)
        for node, used in snapshot.nodes.ports.items():
            taken[node] = [any(port.overlaps(other) for other in used) for port in ports]
        return {COLUMN: taken}

    def charge(self, session: Session, shape: int, nodes: Int, counts: Int) -> None:
        """Close the ports of the shape on these nodes."""
        del counts
        own = session.snapshot.shapes[shape].host_ports
        if own:
            ports = session.once("host_ports", lambda: _wanted(session.snapshot), static=True)
            closed = np.array([any(port.overlaps(other) for other in own) for port in ports], np.int64)
            session.write(COLUMN, nodes, session.columns[COLUMN][nodes] | closed)

    def room(self, session: Session, shape: int) -> Int:
        """Return one copy where all its ports are free, none elsewhere; no ports, no limit."""
        own = session.snapshot.shapes[shape].host_ports
        if not own:
            return np.full(len(session.snapshot.nodes), UNLIMITED, np.int64)
        ports = session.once("host_ports", lambda: _wanted(session.snapshot), static=True)
        mine = [ports.index(port) for port in own]
        free: Int = 1 - session.columns[COLUMN][:, mine].max(axis=1)
        return free

    def ceiling(self, session: Session, shape: int) -> Int:
        """Return one copy per node, or no limit."""
        limit = 1 if session.snapshot.shapes[shape].host_ports else UNLIMITED
        return np.full(len(session.snapshot.nodes), limit, np.int64)

    def refusals(self, session: Session, shape: int, nodes: Int) -> list[tuple[int, str]]:
        """Name the ports."""
        ports = ",".join(str(port.port) for port in session.snapshot.shapes[shape].host_ports)
        return [(len(nodes), f"with host port {ports} taken")]

    def limits(self, session: Session, shape: int, nodes: Int) -> str:
        """A port is one per node."""
        del nodes
        ports = ",".join(str(port.port) for port in session.snapshot.shapes[shape].host_ports)
        return f"host port {ports} is free once per node" if ports else ""


def _wanted(snapshot: Snapshot) -> list[HostPort]:
    """Return every host port that a waiting shape wants, sorted."""
    return sorted({port for shape in snapshot.shapes for port in shape.host_ports})
