"""DeviceModel: a task says which models of GPU serve it, and how much each is worth to it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.kernels.device_match import asked, asked_kinds, known, places, room, serving, worths
from phalanx.engine.plugin import Plugin
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Float, Int
from phalanx.model.keys import GPU_MODEL
from phalanx.model.task import Shape


@dataclass(frozen=True, slots=True)
class DeviceModel(Plugin):
    """Let through nodes with enough devices of a model that serves; prefer the model that is worth most."""

    name: ClassVar[str] = "device_model"
    reads: ClassVar[tuple[str, ...]] = ("wish",)
    static: ClassVar[bool] = True

    def room(self, session: Session, request: Request) -> Int | None:
        """Return how many copies the devices of these models would hold if nobody else were there."""
        shape = session.snapshot.shapes[request.shape]
        if shape.devices is None or not shape.devices.by_model:
            return None
        kinds, nodes = session.snapshot.nodes.devices.kinds, len(session.snapshot.nodes)
        return room(kinds, shape, serving(kinds, shape.devices, memory=False), nodes)

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Name the models that were asked for, how many nodes have them, and which there are."""
        shape, kinds = session.snapshot.shapes[request.shape], session.snapshot.nodes.devices.kinds
        assert shape.devices is not None, "it refuses who wishes for a model alone"
        if not any("/" in name for name, _ in shape.requests):
            return [(len(nodes), f"left aside: it asks for no device, and {GPU_MODEL} says which model of one")]
        chosen = asked_kinds(kinds, shape)
        served = chosen & serving(kinds, shape.devices, memory=False)
        have = places(kinds, served, len(session.snapshot.nodes))
        few = int((have[nodes] > 0).sum())
        count = max((count for _, count in asked(kinds, shape)), default=1)
        models = shape.devices.model_names
        found = []
        if len(nodes) - few:
            total, every = int((have > 0).sum()), len(session.snapshot.nodes)
            others = sorted({kinds.models[code] for code in kinds.model[chosen & ~served & known(kinds)].tolist()})
            text = f"without a device of model {models} ({total}/{every} nodes have one"
            found.append(
                (len(nodes) - few, text + (f"; other models here: {', '.join(others[:5])})" if others else ")"))
            )
        if few:
            most = int(have[nodes].max())
            found.append((few, f"with too few devices of model {models} ({count} asked, most on one node: {most})"))
        return found

    def score(self, session: Session, request: Request, nodes: Int, copies: Int) -> Float | None:
        """Return what the devices that serve are worth on the mean, as a part of the best model of the wish."""
        del copies
        shape = session.snapshot.shapes[request.shape]
        if shape.devices is None or not shape.devices.models:
            return None
        key = ("worth", shape.wish)
        return session.once(key, lambda: _worth(session, shape), static=True)[nodes]


def _worth(session: Session, shape: Shape) -> Float:
    """Return the mean over the devices that serve, on every node."""
    wish, kinds, nodes = shape.devices, session.snapshot.nodes.devices.kinds, len(session.snapshot.nodes)
    assert wish is not None
    best = max(worth for _, worth in wish.models)
    served = asked_kinds(kinds, shape) & serving(kinds, wish)
    entries = served[kinds.kind]
    worth = worths(kinds, wish)[kinds.kind[entries]] * kinds.places[entries]
    total = np.bincount(kinds.node[entries], weights=worth, minlength=nodes)
    return total / np.maximum(places(kinds, served, nodes), 1) / best if best else np.zeros(nodes)
