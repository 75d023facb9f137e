"""The page that Prometheus reads: a scheduler's figures in its text format."""

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Metric, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from phalanx import __version__
from phalanx.kube.metrics import BUCKETS, Metrics
from phalanx.kube.queue_figures import QueueFigures
from phalanx.model.axis import unit
from phalanx.model.plan import Code
from phalanx.model.queue import UNLIMITED


def page(metrics: Metrics) -> Callable[[], bytes]:
    """Return what renders these figures, and those of our process, as they are then."""
    registry = CollectorRegistry()
    registry.register(_Counted(metrics))
    registry.register(_Scraped(metrics))
    ProcessCollector(registry=registry)
    return lambda: generate_latest(registry)


class _Counted(Collector):
    """What was counted since the start."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        metrics = self._metrics
        cycles = HistogramMetricFamily("phalanx_cycle_seconds", "Time of one decision cycle.")
        bounds = [*map(str, BUCKETS), "+Inf"]
        cycles.add_metric([], list(zip(bounds, metrics.cycles, strict=True)), metrics.cycle_seconds)
        yield cycles
        binds = CounterMetricFamily("phalanx_binds", "Binds by what became of them.", labels=["outcome"])
        for outcome, count in metrics.binds.items():
            binds.add_metric([outcome], count)
        yield binds
        text = "Evictions by action and by what became of them."
        evictions = CounterMetricFamily("phalanx_evictions", text, labels=["action", "outcome"])
        for (action, result), count in metrics.evictions.items():
            evictions.add_metric([action, result.value], count)
        yield evictions
        text = "Plans thrown away because they broke a promise."
        yield CounterMetricFamily("phalanx_invariant_violations", text, value=metrics.violations)


class _Scraped(Collector):
    """Figures that are read when somebody asks, so that nothing is kept up to date in between."""

    def __init__(self, metrics: Metrics) -> None:
        self._live = metrics.live

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
        yield from queue_gauges(live.queues() if decides else None)
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


def queue_gauges(figures: QueueFigures | None) -> Iterable[Metric]:
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
