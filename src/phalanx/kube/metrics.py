"""What a scheduler tells Prometheus.

Of the names that people give, only those of queues become labels: how many there are is the administrators' choice,
while gangs and pods are anybody's.

What each figure means, and what to do about it, is in docs/operate.md.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    Metric,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from phalanx import __version__
from phalanx.engine.eviction.step_back import STEP_BACK
from phalanx.engine.policy import TAKING
from phalanx.kube.event_writer import EventCounts
from phalanx.kube.queue_figures import QueueFigures
from phalanx.loop import Cycle
from phalanx.model.axis import unit
from phalanx.model.outcome import Result
from phalanx.model.plan import Code
from phalanx.model.queue import UNLIMITED

# A cycle is milliseconds; a person notices a second.
_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

# The time when a series was made says nothing that the process's own start does not.
disable_created_metrics()  # type: ignore[no-untyped-call]


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
    """One scheduler's figures, apart from any other's in the same process."""

    def __init__(self) -> None:
        self.live = Live()
        self._registry = CollectorRegistry()
        self._cycles = Histogram(
            "phalanx_cycle_seconds", "Time of one decision cycle.", buckets=_BUCKETS, registry=self._registry
        )
        binds = Counter("phalanx_binds", "Binds by what became of them.", ["outcome"], registry=self._registry)
        # Made once: a look-up by label costs as much as a bind's whole bookkeeping, and a series that is 0 from the
        # start is one that an alert can be written on.
        self._binds = {result.value: binds.labels(outcome=result.value) for result in Result}
        evictions = Counter(
            "phalanx_evictions", "Evictions by action and by what became of them.", ["action", "outcome"],
            registry=self._registry,
        )  # fmt: skip
        self._evictions = {
            (action, result): evictions.labels(action=action, outcome=result.value)
            for action in sorted({*TAKING, "evict_stale", STEP_BACK})
            for result in (Result.OK, Result.REFUSED)
        }
        self._violations = Counter(
            "phalanx_invariant_violations", "Plans thrown away because they broke a promise.", registry=self._registry
        )
        self._registry.register(_Scraped(self.live))
        ProcessCollector(registry=self._registry)

    def cycle(self, seconds: float, cycle: Cycle) -> None:
        """Count one cycle, and the plans that broke a promise before its own."""
        self._cycles.observe(seconds)
        self._violations.inc(len(cycle.broken))
        pending = dict.fromkeys(Code, 0)
        for wait in cycle.plan.waits:
            pending[wait.reason.code] += 1
        self.live.pending = pending

    def bind(self, outcome: str) -> None:
        """Count one bind: ok, refused or unknown."""
        self._binds[outcome].inc()

    def eviction(self, action: str, outcome: Result) -> None:
        """Count one eviction: ok or refused."""
        if (action, outcome) in self._evictions:
            self._evictions[action, outcome].inc()

    def violation(self) -> None:
        """Count one plan that broke a promise."""
        self._violations.inc()

    def text(self) -> bytes:
        """Return everything in Prometheus' text format."""
        return generate_latest(self._registry)


class _Scraped(Collector):
    """Figures that are read when somebody asks, so that nothing is kept up to date in between."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def collect(self) -> Iterable[Metric]:
        live = self._live
        leading = live.leading() and not live.dry_run
        decides = leading or live.dry_run
        yield GaugeMetricFamily("phalanx_leader", "1 when this replica decides and writes.", value=leading)
        yield GaugeMetricFamily("phalanx_dry_run", "1 when this replica decides and never writes.", value=live.dry_run)
        yield GaugeMetricFamily("phalanx_ready", "1 when every watched kind was applied.", value=live.ready())
        silence = GaugeMetricFamily(
            "phalanx_watch_silence_seconds", "Time since the API server last spoke.", labels=["kind"]
        )
        for kind, seconds in live.silence().items():
            silence.add_metric([kind], seconds)
        yield silence
        waiting = GaugeMetricFamily("phalanx_pending_gangs", "Waiting gangs by code.", labels=["code"])
        for code in Code:
            # A replica that does not decide knows nothing of what waits; the leader's figure must not be doubled.
            waiting.add_metric([code.value], live.pending.get(code, 0) if decides else 0)
        yield waiting
        yield from _queues(live.queues() if decides else None)
        events = live.events()
        told = CounterMetricFamily("phalanx_events", "Kubernetes Events by what became of them.", labels=["outcome"])
        for outcome in ("written", "refused", "dropped"):
            told.add_metric([outcome], getattr(events, outcome))
        yield told
        yield GaugeMetricFamily("phalanx_events_waiting", "Events that are still to be written.", value=events.waiting)
        age = live.history()
        if age is not None:
            yield GaugeMetricFamily("phalanx_usage_history_seconds", "Age of the history from Prometheus.", value=age)
        version = GaugeMetricFamily("phalanx_build_info", "1; the version is a label.", labels=["version"])
        version.add_metric([__version__], 1)
        yield version


def _queues(figures: QueueFigures | None) -> Iterable[Metric]:
    """Yield the queues' gauges, in cores, devices and bytes. What is unlimited has no series: it would spoil sums."""
    labels = ["queue", "resource"]
    capacity = GaugeMetricFamily("phalanx_capacity", "What there is to divide among the queues.", labels=["resource"])
    waiting = GaugeMetricFamily("phalanx_queue_pending_gangs", "Waiting gangs by queue.", labels=["queue"])
    amounts = {
        name: GaugeMetricFamily(f"phalanx_queue_{name}", text, labels=labels)
        for name, text in (
            ("allocated", "What runs in a queue, or is on its way."),
            ("requested", "What runs and what waits."),
            ("share", "What a queue is entitled to now."),
            ("quota", "What a queue is guaranteed."),
        )
    }
    if figures is not None:
        table = figures.table
        units = [unit(name) for name in table.resources]
        for resource, one, total in zip(table.resources, units, table.total.tolist(), strict=True):
            capacity.add_metric([resource], total / one)
        arrays = (table.allocated, table.requested, figures.share, table.quota)
        for family, array in zip(amounts.values(), arrays, strict=True):
            for queue, row in zip(table.queues, array.tolist(), strict=True):
                for resource, one, amount in zip(table.resources, units, row, strict=True):
                    if amount < UNLIMITED:
                        family.add_metric([queue.name, resource], amount / one)
        for queue, count in zip(table.queues, figures.pending.tolist(), strict=True):
            waiting.add_metric([queue.name], count)
    yield from (capacity, *amounts.values(), waiting)
