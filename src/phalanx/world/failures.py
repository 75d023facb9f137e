"""Failures of members, gang by gang, as events tell of them: for who does not want to put a gang back on a bad node."""

import math
from collections.abc import Callable, Iterable, Mapping

from phalanx.model.failure import Failure
from phalanx.model.node import Node
from phalanx.model.task import State, Task

_UP = frozenset({State.BINDING, State.RUNNING})
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

    def ended(self, key: str, task: Task, now_failed: bool, nodes: Mapping[str, Node], gang: Iterable[Task]) -> None:
        """Note that a member of a gang that was up is up no longer, if that may be its node's fault.

        `gang`: its other members that have not finished.
        """
        node = nodes.get(task.node or "")
        lost = node is None or not node.ready
        others = list(gang)
        if task.membership is None or task.node is None or not (lost or now_failed):
            return
        up = sum(1 for one in others if one.state in _UP and _well(nodes, one.node) and one.node != task.node)
        if up and 2 * up >= len(others) + 1:
            self._fresh.append((key, Failure(task.node, math.inf if task.finished is None else task.finished, lost)))

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
