"""Moves: places for pods that were asked to leave and will be made again elsewhere.

Who comes back is another pod: its controller and its shape tell whose place it takes. Until then nobody else gets the
place, and its queue has what is kept, as it had what it was before.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from phalanx.model.task import Shape, Task
from phalanx.world.gangs import gang_key
from phalanx.world.indexes import take_out

#: So long after a pod is gone its place waits for its successor. A Job's controller waits for 10 s before it makes one.
SUCCESSOR_DEADLINE = 60.0
#: So long after it should be gone it is waited for: its node may be lost, and then it never goes.
STUCK = 600.0


@dataclass(frozen=True, slots=True)
class Move:
    """One pod on its way: as it was when it was asked to leave, and where to."""

    task: Task
    node: str
    #: When its place is given back, unless its successor comes.
    until: float
    #: It has left, and nobody has looked at the clock since.
    gone: bool = False
    #: The groups whose devices it will share there.
    groups: tuple[str, ...] = ()


class Moves:
    """Knows which pods are being moved, by the uid of the one that leaves."""

    def __init__(self) -> None:
        self._moves: dict[str, Move] = {}
        self._on_node: dict[str, dict[str, None]] = {}
        self._of_gang: dict[str, dict[str, None]] = {}
        self._alike: dict[tuple[str, Shape], dict[str, None]] = {}

    @property
    def gangs(self) -> Iterable[str]:
        """Return the keys of those who are on their way."""
        return self._of_gang

    @property
    def places(self) -> Mapping[str, Move]:
        """Return every place that is kept, by the uid of whom it is kept for."""
        return self._moves

    def keep(self, task: Task, node: str, now: float, groups: tuple[str, ...] = ()) -> Move:
        """Keep a place for a task that is asked to leave now."""
        move = self._moves[task.uid] = Move(task, node, now + task.grace + STUCK, groups=groups)
        self._on_node.setdefault(node, {})[task.uid] = None
        self._of_gang.setdefault(gang_key(task), {})[task.uid] = None
        if task.owner:
            self._alike.setdefault((task.owner, task.shape), {})[task.uid] = None
        return move

    def drop(self, uid: str) -> Move | None:
        """Keep nothing for a task any more; return what was kept."""
        move = self._moves.pop(uid, None)
        if move is not None:
            take_out(self._on_node, move.node, uid)
            take_out(self._of_gang, gang_key(move.task), uid)
            if move.task.owner:
                take_out(self._alike, (move.task.owner, move.task.shape), uid)
        return move

    def gone(self, uid: str) -> None:
        """Note that a task has left: from now on its successor has so much time."""
        if uid in self._moves:
            self._moves[uid] = replace(self._moves[uid], gone=True)

    def arrived(self, task: Task) -> Move | None:
        """Return, and keep no longer, the place for a task that is there for the first time, or again.

        A controller may make it before the one whom it replaces is gone.
        """
        if task.uid in self._moves:
            return self.drop(task.uid)
        alike = self._alike.get((task.owner, task.shape), {}) if task.owner else {}
        return self.drop(next(iter(alike), ""))

    def expire(self, now: float) -> list[Move]:
        """Return, and keep no longer, the places of those who did not come back in time."""
        for uid, move in self._moves.items():
            if move.gone:
                self._moves[uid] = replace(move, until=now + SUCCESSOR_DEADLINE, gone=False)
        late = [uid for uid, move in self._moves.items() if move.until <= now]
        return [found for uid in late if (found := self.drop(uid)) is not None]

    @property
    def next_end(self) -> float:
        """Return when the next place is given back."""
        return min((move.until for move in self._moves.values()), default=math.inf)

    def on(self, node: str) -> list[Task]:
        """Return those for whom a place on a node is kept."""
        return [move.task for move in self.kept_on(node)]

    def kept_on(self, node: str) -> list[Move]:
        """Return the places that are kept on a node."""
        return [self._moves[uid] for uid in self._on_node.get(node, {})]

    def of(self, key: str) -> list[Task]:
        """Return those of a gang, as they were before they were asked to leave."""
        return [self._moves[uid].task for uid in self._of_gang.get(key, {})]
