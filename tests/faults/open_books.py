"""`python -m tests.faults.open_books FILE run …` is `phalanx run …` that writes its books to FILE on SIGUSR1.

So a test can lay the books of a running scheduler beside those of one that has just read everything. Nor does it have
to wait two minutes for a silent watch to be noticed: the environment's PHALANX_TEST_STALL makes that fewer seconds.
"""

import asyncio
import copy
import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from phalanx.cli.main import main as command
from phalanx.dialects.read import read
from phalanx.kube import process, reflector
from phalanx.kube.scheduler import Scheduler
from phalanx.model.snapshot import Snapshot
from phalanx.model.task import State
from phalanx.policy.load import load_policy
from phalanx.world.world import World

Books = dict[str, Any]
STALL = "PHALANX_TEST_STALL"


def books(world: World) -> Books:
    """Return what a decision would rest on now: what is free on each node, who is there, who shares what, who waits."""
    # A copy, because compiling settles what the next cycle must still see as new.
    snapshot = copy.deepcopy(world).compile(0.0)
    names = snapshot.axis.names
    free = {
        node: dict(zip(names, row, strict=True))
        for node, row in zip(snapshot.nodes.names, snapshot.nodes.free.tolist(), strict=True)
    }
    there = {node: sorted(uids) for node, uids in sorted(world.on_node.items())}
    waiting = sorted(task.uid for task in world.tasks.values() if task.ours and task.state is State.PENDING)
    return {"free": free, "there": there, "waiting": waiting, "shared": _shared(snapshot)}


def _shared(snapshot: Snapshot) -> list[list[object]]:
    """Return every device that is shared: node, number, group, and what is taken of it."""
    table = snapshot.shared
    if table is None:
        return []
    taken = np.flatnonzero((table.here + table.leaving).any(axis=0)).tolist()
    columns = (table.node, table.index, table.here, table.leaving)
    return [
        [snapshot.nodes.names[node], index, table.groups.get(row, str(index)), here, leaving]
        for row, (node, index, here, leaving) in ((row, [one[..., row].tolist() for one in columns]) for row in taken)
    ]


def fresh_books(objects: Iterable[dict[str, Any]], schedulers: Iterable[str] = ("phalanx",)) -> Books:
    """Return the books of somebody who has just read these objects."""
    world = World()
    world.sharings.set(load_policy("default").sharing, live=True)
    for item in objects:
        event = read(item, tuple(schedulers))
        if event is not None:
            world.apply(event)
    return books(world)


class _OpenBooks(Scheduler):
    path: Path

    async def run(self) -> None:
        """Schedule, and write the books down when asked."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, self._write_down)
        await super().run()

    def _write_down(self) -> None:
        unfinished = self.path.with_suffix(".unfinished")
        unfinished.write_bytes(msgspec.json.encode(books(self.world)))
        unfinished.rename(self.path)


def main() -> int:
    """Run the command with open books."""
    _OpenBooks.path = Path(sys.argv[1])
    if os.environ.get(STALL):
        reflector.STALL = float(os.environ[STALL])
    setattr(process, "Scheduler", _OpenBooks)  # noqa: B010 (the one place where a test looks inside)
    return command(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
