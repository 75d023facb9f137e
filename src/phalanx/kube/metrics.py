"""What a scheduler tells Prometheus.

Of the names that people give, only those of queues become labels: how many there are is the administrators' choice,
while gangs and pods are anybody's.

What each figure means, and what to do about it, is in docs/operate.md.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from phalanx.engine.eviction.step_back import STEP_BACK
from phalanx.engine.policy import TAKING
from phalanx.kube.event_writer import EventCounts
from phalanx.kube.queue_figures import QueueFigures
from phalanx.loop import Cycle
from phalanx.model.outcome import Result
from phalanx.model.plan import Code

# A cycle is milliseconds; a person notices a second.
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


def _nothing() -> Mapping[str, float]:
    return {}


def _no_queues() -> QueueFigures | None:
    return None


@dataclass(slots=True)
class Live:
    """What is not counted but asked for at each scrape."""

    #: Whether this replica may write.
    leading: Callable[[], bool] = bool
    #: It decides and tells, and never writes: other replicas' figures are the cluster's, these are what would be.
    dry_run: bool = False
    #: Whether every watched kind was applied.
    ready: Callable[[], bool] = bool
    #: Seconds since the server last spoke, by kind.
    silence: Callable[[], Mapping[str, float]] = _nothing
    #: Waiting gangs of the last cycle, by code.
    pending: dict[Code, int] = field(default_factory=dict[Code, int])
    #: The queues after the last cycle; None before the first one.
    queues: Callable[[], QueueFigures | None] = _no_queues
    #: What became of events.
    events: Callable[[], EventCounts] = EventCounts
    #: Seconds since the history of use was last read from Prometheus; None: it is not read there.
    history: Callable[[], float | None] = lambda: None


class Metrics:
    """One scheduler's figures, apart from any other's in the same process. Plain numbers until somebody asks."""

    def __init__(self) -> None:
        self.live = Live()
        self.cycle_seconds = 0.0
        # A series that is 0 from the start is one that an alert can be written on.
        self.binds = dict.fromkeys((result.value for result in Result), 0)
        self.evictions = {
            (action, result): 0
            for action in sorted({*TAKING, "evict_stale", STEP_BACK})
            for result in (Result.OK, Result.REFUSED)
        }
        self.violations = 0
        self._cycles = [0] * (len(BUCKETS) + 1)
        self._page: Callable[[], bytes] | None = None

    @property
    def cycles(self) -> list[int]:
        """Return how many cycles took at most as long as each bucket says; the last one: all of them."""
        return list(accumulate(self._cycles))

    def cycle(self, seconds: float, cycle: Cycle) -> None:
        """Count one cycle, and the plans that broke a promise before its own."""
        self._cycles[bisect_left(BUCKETS, seconds)] += 1
        self.cycle_seconds += seconds
        self.violations += len(cycle.broken)
        pending = dict.fromkeys(Code, 0)
        for wait in cycle.plan.waits:
            pending[wait.reason.code] += 1
        self.live.pending = pending

    def bind(self, outcome: str) -> None:
        """Count one bind: ok, refused or unknown."""
        self.binds[outcome] += 1

    def eviction(self, action: str, outcome: Result) -> None:
        """Count one eviction: ok or refused."""
        if (action, outcome) in self.evictions:
            self.evictions[action, outcome] += 1

    def violation(self) -> None:
        """Count one plan that broke a promise."""
        self.violations += 1

    def text(self) -> bytes:
        """Return everything in Prometheus' text format."""
        if self._page is None:
            # Here and not above: its library takes a tenth of the time of a start to load, and nobody asks so soon.
            from phalanx.kube.metrics_page import page  # noqa: PLC0415

            self._page = page(self)
        return self._page()
