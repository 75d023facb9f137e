"""Moves: places for pods that were asked to leave and will be made again elsewhere.

Who comes back is another pod: its controller and its shape tell whose place it takes. Until then nobody else gets the
place, and its queue has what is kept, as it had what it was before.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from phalanx.model.task import Task
from phalanx.world.gangs import gang_key
from phalanx.world.indexes import take_out

#: So long after a pod is gone its place waits for its successor. A Job's controller waits for 10 s before it makes one.
PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Move:
    """One pod on its way: as it was when it was asked to leave, and where to."""

    task: Task
    node: str
    #: It has left.
    gone: bool = False
    #: When its place is given back; infinity where nobody has looked at the clock since it left.
    until: float = math.inf


class Moves:
    """Knows who is on his way, by the uid that he had."""

    def __init__(self) -> None:
        self._moves: dict[str, Move] = {}
        self._on_node: dict[str, dict[str, None]] = {}
        self._of_gang: dict[str, dict[str, None]] = {}
        self._of_owner: dict[str, dict[str, None]] = {}

    @property
    def places(self) -> Mapping[str, Move]:
        """Return every place that is kept, by the uid of whom it is kept for."""
        return self._moves

    def keep(self, task: Task, node: str) -> Move:
        """Keep a place for a task that is asked to leave."""
        move = self._moves[task.uid] = Move(task, node)
        for index, name in self._indexes(move):
            index.setdefault(name, {})[task.uid] = None
        return move

    def drop(self, uid: str) -> Move | None:
        """Keep nothing for a task any more; return what was kept."""
        move = self._moves.pop(uid, None)
        if move is not None:
            for index, name in self._indexes(move):
                take_out(index, name, uid)
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
        alike = (uid for uid in self._of_owner.get(task.owner or "", {}) if self._moves[uid].task.shape == task.shape)
        return self.drop(min(alike, default=""))

    def expire(self, now: float) -> list[Move]:
        """Return, and keep no longer, the places of those who did not come back in time."""
        for uid, move in self._moves.items():
            if move.gone and move.until == math.inf:
                self._moves[uid] = replace(move, until=now + PATIENCE)
        late = [uid for uid, move in self._moves.items() if move.until <= now]
        return [found for uid in late if (found := self.drop(uid)) is not None]

    @property
    def next_end(self) -> float:
        """Return when the next place is given back."""
        return min((move.until for move in self._moves.values()), default=math.inf)

    def on(self, node: str) -> list[Task]:
        """Return those for whom a place on a node is kept."""
        return [self._moves[uid].task for uid in self._on_node.get(node, {})]

    def of(self, key: str) -> list[Task]:
        """Return those of a gang, as they were before they were asked to leave."""
        return [self._moves[uid].task for uid in self._of_gang.get(key, {})]

    def _indexes(self, move: Move) -> list[tuple[dict[str, dict[str, None]], str]]:
        by_place = [(self._on_node, move.node), (self._of_gang, gang_key(move.task))]
        return [*by_place, (self._of_owner, move.task.owner)] if move.task.owner else by_place
