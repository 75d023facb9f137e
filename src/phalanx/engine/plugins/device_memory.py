"""DeviceMemory: a task says how much memory each of its GPUs has at least, and takes the smallest that serves."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.kernels.device_match import asked, asked_kinds, places, room, serving
from phalanx.engine.plugin import Plugin
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import MEMORY, Float, Int
from phalanx.model.keys import GPU_MEMORY_MINIMUM
from phalanx.model.quantity import written
from phalanx.model.snapshot import Snapshot
from phalanx.model.task import Shape


@dataclass(frozen=True, slots=True)
class DeviceMemory(Plugin):
    """Let through nodes with enough devices that have the memory, of the models that serve; prefer small ones."""

    name: ClassVar[str] = "device_memory"
    reads: ClassVar[tuple[str, ...]] = ("wish",)
    static: ClassVar[bool] = True

    def room(self, session: Session, request: Request) -> Int | None:
        """Return how many copies the devices with so much memory would hold if nobody else were there."""
        snapshot = session.snapshot
        shape, kinds, nodes = snapshot.shapes[request.shape], snapshot.nodes.devices.kinds, len(snapshot.nodes)
        if shape.devices is None or not shape.devices.memory:
            return None
        return room(kinds, shape, serving(kinds, shape.devices), nodes)

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Name the memory that was asked for and the most that there is; tell devices that do not say theirs."""
        shape, kinds = session.snapshot.shapes[request.shape], session.snapshot.nodes.devices.kinds
        assert shape.devices is not None, "it refuses who wishes for memory alone"
        if not any("/" in name for name, _ in shape.requests):
            return [(len(nodes), f"left aside: it asks for no device, and {GPU_MEMORY_MINIMUM} says how large a one")]
        every = len(session.snapshot.nodes)
        wish, chosen = shape.devices, asked_kinds(kinds, shape)
        have = places(kinds, chosen & serving(kinds, wish), every)
        silent = places(kinds, chosen & (kinds.memory == 0), every)
        few, untold = have[nodes] > 0, (have[nodes] == 0) & (silent[nodes] > 0)
        least = written(wish.memory, MEMORY)
        of = f" of model {wish.model_names}" if wish.by_model else ""
        found = []
        if small := int((~few & ~untold).sum()):
            most = int(kinds.memory[chosen & serving(kinds, wish, memory=False)].max(initial=0))
            largest = f"largest {written(most >> 20 << 20, MEMORY)}, " if most else ""
            text = f"without a device{of} of at least {least} ({largest}{int((have > 0).sum())}/{every} nodes have one)"
            found.append((small, text))
        if untold.any():
            found.append((int(untold.sum()), f"with devices of unknown memory ({least} asked)"))
        if few.any():
            count, most = max(count for _, count in asked(kinds, shape)), int(have[nodes].max())
            text = f"with too few devices{of} of at least {least} ({count} asked, most on one node: {most})"
            found.append((int(few.sum()), text))
        return found

    def score(self, session: Session, request: Request, nodes: Int, copies: Int) -> Float | None:
        """Return the memory that is asked for as a part of the smallest device that serves: a large one is kept."""
        del copies
        shape = session.snapshot.shapes[request.shape]
        if shape.devices is None or not shape.devices.memory:
            return None
        key = ("snug", shape.wish)
        return session.once(key, lambda: _snug(session.snapshot, shape), static=True)[nodes]


def _snug(snapshot: Snapshot, shape: Shape) -> Float:
    wish, kinds = shape.devices, snapshot.nodes.devices.kinds
    assert wish is not None
    served = asked_kinds(kinds, shape) & serving(kinds, wish)
    smallest, entries = np.full(len(snapshot.nodes), np.inf), served[kinds.kind]
    np.minimum.at(smallest, kinds.node[entries], kinds.memory[kinds.kind[entries]])
    return wish.memory / smallest
