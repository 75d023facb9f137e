"""NodeReady: nothing goes to a node that is not ready or is cordoned."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.kernels.tolerate import tolerates
from phalanx.engine.plugin import Plugin, yes_no
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Int
from phalanx.model.node import Taint

#: A pod that tolerates this may go to a cordoned node, as with kube-scheduler.
CORDONED = Taint("node.kubernetes.io/unschedulable", effect="NoSchedule")


@dataclass(frozen=True, slots=True)
class NodeReady(Plugin):
    """Let through nodes that are ready and not cordoned."""

    name: ClassVar[str] = "node_ready"
    reads: ClassVar[tuple[str, ...]] = ("tolerations",)
    static: ClassVar[bool] = True

    def room(self, session: Session, request: Request) -> Int:
        """Return yes or no per node."""
        nodes = session.snapshot.nodes
        if tolerates(session.snapshot.shapes[request.shape].tolerations, CORDONED):
            return yes_no(nodes.ready)
        return yes_no(nodes.ready & ~nodes.cordoned)

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Tell nodes that are down from nodes that are cordoned."""
        del request
        down = int(np.count_nonzero(~session.snapshot.nodes.ready[nodes]))
        counted = [(down, "not ready"), (len(nodes) - down, "cordoned")]
        return [(count, text) for count, text in counted if count]
