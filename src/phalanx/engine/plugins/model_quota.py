"""ModelQuota: where a queue counts a model of devices apart, only who asks for it by name goes there."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.plugin import Plugin, yes_no
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Int
from phalanx.model.keys import GPU_MODEL


@dataclass(frozen=True, slots=True)
class ModelQuota(Plugin):
    """Close nodes of such a model to tasks that would be there without counting as there."""

    name: ClassVar[str] = "model_quota"
    reads: ClassVar[tuple[str, ...]] = ("requests", "part", "wish")
    static: ClassVar[bool] = True

    def room(self, session: Session, request: Request) -> Int | None:
        """Return no room on those nodes; where nobody counts models there is nothing to say."""
        closed = [one.nodes for one in session.snapshot.apart if one.strangers[request.shape]]
        return yes_no(~np.logical_or.reduce(closed)) if closed else None

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Name the models that must be asked for."""
        told, left = [], nodes
        for one in session.snapshot.apart:
            if one.strangers[request.shape]:
                there = one.nodes[left]
                text = f"of model {one.model}, which queues count apart: ask for it by {GPU_MODEL}"
                told += [(int(there.sum()), text)] if there.any() else []
                left = left[~there]
        return told
