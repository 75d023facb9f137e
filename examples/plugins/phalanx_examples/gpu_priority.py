"""GpuPriority: prefer nodes with more GPUs, for jobs that run best on the largest machines."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.plugin_api import GPU, Float, Int, Plugin, Request, Session


@dataclass(frozen=True, slots=True)
class GpuPriority(Plugin):
    """Score a node by its GPUs, as a share of the most that any candidate has."""

    resource: str = GPU
    name: ClassVar[str] = "gpu_priority"

    def score(self, session: Session, request: Request, nodes: Int, copies: Int) -> Float:
        """Return GPUs of the node ÷ GPUs of the largest candidate. Used ones count: it is the machine that matters."""
        del copies
        column = session.snapshot.axis.index.get(self.resource)
        if column is None:
            return np.zeros(len(nodes))
        gpus = session.snapshot.nodes.allocatable[:, column]
        most = gpus[request.candidates].max(initial=0)
        return gpus[nodes] / most if most else np.zeros(len(nodes))
