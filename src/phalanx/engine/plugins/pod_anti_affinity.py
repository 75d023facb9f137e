"""PodAntiAffinity: tasks that already run may keep others out of their domains."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.plugin import Plugin, yes_no
from phalanx.engine.session import Session
from phalanx.model.axis import Int


@dataclass(frozen=True, slots=True)
class PodAntiAffinity(Plugin):
    """Respect the required anti-affinity of tasks on nodes, whoever scheduled them.

    A pending task with such a wish of its own is held before it gets here, so no placement of a session adds
    to what is repelled: the answer is static.
    """

    name: ClassVar[str] = "pod_anti_affinity"
    reads: ClassVar[tuple[str, ...]] = ("namespace", "labels")
    static: ClassVar[bool] = True

    def room(self, session: Session, shape: int) -> Int:
        """Return no for every node in a domain that repels the shape."""
        spec, nodes = session.snapshot.shapes[shape], session.snapshot.nodes
        allowed = np.ones(len(nodes), np.bool_)
        for repulsion in session.snapshot.repulsions:
            meant = repulsion.namespaces is None or spec.namespace in repulsion.namespaces
            if meant and repulsion.selector.matches(dict(spec.labels)):
                level = nodes.domains(repulsion.topology_key)
                closed = [level.number[name] for name in repulsion.domains if name in level.number]
                allowed &= ~np.isin(level.of_node, closed)
        return yes_no(allowed)

    def refusals(self, session: Session, shape: int, nodes: Int) -> list[tuple[int, str]]:
        """Say that a running pod keeps it out."""
        del session, shape
        return [(len(nodes), "closed by the anti-affinity of a running pod")]
