"""Failures of members, gang by gang, as events tell of them: for who does not want to put a gang back on a bad node."""

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from phalanx.model.failure import Failure
from phalanx.model.node import Node
from phalanx.model.task import State, Task
from phalanx.world.gangs import THERE, gang_key

if TYPE_CHECKING:
    from phalanx.world.world import World

_FINISHED = frozenset({State.SUCCEEDED, State.FAILED})
#: Of one gang the last so many count.
_KEPT_MAX = 64


class Failures:
    """What is remembered of each gang, for as long as the policy wants it."""

    def __init__(self) -> None:
        #: For so many seconds; None: nothing is remembered.
        self.span: float | None = None
        self._known: dict[str, list[Failure]] = {}
        #: Seen since the last snapshot: events have no time.
        self._fresh: list[tuple[str, Failure]] = []

    def note(self, old: Task | None, new: Task | None, world: "World") -> None:
        """Look at a task that changed or is gone: at one that was up and is no longer, or had failed when seen."""
        failed = new is not None and new.state is State.FAILED
        was_up = old is not None and old.state in THERE
        if not was_up and not (old is None and failed):
            return
        end = new if new is not None and failed else old
        if end is None or not end.ours or end.membership is None or end.node is None:
            return
        if failed or new is None or new.state is State.RELEASING:
            self._ended(gang_key(end), end, world, failed=failed)

    def _ended(self, key: str, end: Task, world: "World", *, failed: bool) -> None:
        """Remember it, if that may be its node's fault: most of its gang was up elsewhere."""
        node = world.nodes.get(end.node or "")
        lost = node is None or not node.ready
        if not (lost or failed):
            return
        members = (world.tasks[uid] for uid in world.members.get(key, {}) if uid != end.uid)
        others = [task for task in members if task.state not in _FINISHED]
        up = sum(task.state in THERE and task.node != end.node and _well(world.nodes, task.node) for task in others)
        if up and 2 * up >= len(others) + 1:
            at = math.inf if end.finished is None else end.finished
            self._fresh.append((key, Failure(end.node or "", at, lost)))

    def see(self, now: float) -> Mapping[str, tuple[Failure, ...]]:
        """Return what is remembered by now."""
        for key, failure in self._fresh if self.span is not None else ():
            self._known.setdefault(key, []).append(failure._replace(at=min(failure.at, now)))
            del self._known[key][:-_KEPT_MAX]
        self._fresh.clear()
        for key in list(self._known):
            left = [one for one in self._known[key] if self.span is not None and now < one.at + self.span]
            self._known[key] = left
            if not left:
                del self._known[key]
        return {key: tuple(self._known[key]) for key in sorted(self._known)}

    def next_end(self, waits: Callable[[str], bool]) -> float:
        """Return when something is forgotten of a gang that waits."""
        if self.span is None:
            return math.inf
        times = (one.at + self.span for key, found in self._known.items() if waits(key) for one in found)
        return min(times, default=math.inf)


def _well(nodes: Mapping[str, Node], name: str | None) -> bool:
    node = nodes.get(name or "")
    return node is not None and node.ready
