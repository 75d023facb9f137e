"""Events of placed pods, in the words that everybody knows, with the gang's places behind them."""

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from phalanx.kube.events import Events, Notice, Regarding
from phalanx.kube.writes import Write
from phalanx.model.plan import Bind
from phalanx.model.task import State
from phalanx.world.views import members_of
from phalanx.world.world import World

#: Pods that are still to be told. Beyond this the oldest gang's are dropped, and counted.
PLACED_MAX = 20_000
NODES_NAMED = 4
_PLACED = (State.BINDING, State.RUNNING)


@dataclass(slots=True, eq=False)
class _Placed:
    """Where pods of a gang went."""

    todo: deque[Bind] = field(default_factory=deque[Bind])
    #: The gang's places in a few words, empty for a pod in no gang; None: not looked up yet.
    summary: str | None = None
    #: Whom the summary is to be told.
    makers: list[Regarding] = field(default_factory=list[Regarding])


class PlacedEvents:
    """Knows who was seen bound and is still to be told."""

    def __init__(self, world: World, events: Events, wake: Callable[[], None] = lambda: None) -> None:
        self._world = world
        self._events = events
        self._wake = wake
        self._gangs: OrderedDict[str, _Placed] = OrderedDict()
        self.waiting = 0
        self.dropped = 0

    @property
    def lanes(self) -> Sequence[Callable[[], Write | None]]:
        """What makes the next write."""
        return (self._next,)

    def add(self, bind: Bind) -> None:
        """Take note of a pod that was seen bound."""
        placed = self._gangs.setdefault(bind.gang_key, _Placed())
        placed.todo.append(bind)
        placed.summary = None
        self.waiting += 1
        while self.waiting > PLACED_MAX:
            _, oldest = self._gangs.popitem(last=False)
            self.waiting -= len(oldest.todo)
            self.dropped += len(oldest.todo)
        self._wake()

    def _next(self) -> Write | None:
        """Take one of each gang in turn, its makers first. Nothing is on its way while events are sent."""
        while self._gangs:
            key, placed = next(iter(self._gangs.items()))
            if placed.summary is None:
                self._look_up(key, placed)
            if placed.makers:
                self._gangs.move_to_end(key)
                return self._write(placed.makers.pop(0), placed.summary or "")
            if not placed.todo:
                del self._gangs[key]
                continue
            self._gangs.move_to_end(key)
            bind = placed.todo.popleft()
            self.waiting -= 1
            pod = self._events.pod(bind.uid)
            if pod is not None:
                behind = f" ({placed.summary})" if placed.summary else ""
                return self._write(pod, f"Successfully assigned {bind.task} to {bind.node}{behind}")
        return None

    def _write(self, regarding: Regarding, note: str) -> Write:
        return self._events.write(Notice(regarding, "Normal", "Scheduled", "Binding", note), lambda: True)

    def _look_up(self, key: str, placed: _Placed) -> None:
        members = members_of(self._world, key)
        placed.summary = ""
        if not members or members[0].membership is None:
            return
        at = Counter(task.node for task in members if task.node is not None and task.state in _PLACED)
        count, total = at.total(), sum(task.state in {*_PLACED, State.PENDING} for task in members)
        gang = placed.todo[0].gang if placed.todo else ""
        placed.summary = f"gang {gang}: {count} of {total} pods, {on_nodes(at)}"
        placed.makers = self._events.makers(key)


def on_nodes(pods: Mapping[str, int]) -> str:
    """Return how many pods are on which nodes, the first few by name."""
    shown = ", ".join(f"{node} ×{count}" for node, count in sorted(pods.items())[:NODES_NAMED])
    return shown + (f" and {len(pods) - NODES_NAMED} more nodes" if len(pods) > NODES_NAMED else "")
