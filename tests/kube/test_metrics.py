"""What a scheduler tells: figures for Prometheus, health for the kubelet, and lines for people."""

import asyncio
import json
from contextlib import AbstractAsyncContextManager
from io import StringIO
from types import SimpleNamespace
from typing import cast

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from phalanx import __version__
from phalanx.engine.invariants import Violation
from phalanx.kube.choices import ListenError
from phalanx.kube.clock import Clock
from phalanx.kube.kinds import PODS
from phalanx.kube.log import Log
from phalanx.kube.metrics import Metrics
from phalanx.kube.metrics_page import queue_gauges
from phalanx.kube.scheduler import Scheduler
from phalanx.kube.server import serve_health
from phalanx.loop import Cycle
from phalanx.model.plan import Bind, Code, Plan, Reason, Wait


def cycle(plan: Plan, *broken: Violation) -> Cycle:
    return cast("Cycle", SimpleNamespace(plan=plan, broken=broken))


def wait(gang: str, code: Code) -> Wait:
    return Wait(gang, gang, 1, Reason(code, "because"))


def figures(metrics: Metrics) -> dict[str, float]:
    """Everything but the process's own and the buckets, as `name{labels}`."""
    found = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        for sample in family.samples:
            if sample.name.startswith("phalanx_") and not sample.name.endswith("_bucket"):
                labels = ",".join(sample.labels.values())
                found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


NOTHING = {
    "phalanx_binds_total{ok}": 0.0,
    "phalanx_binds_total{refused}": 0.0,
    "phalanx_binds_total{unknown}": 0.0,
    "phalanx_build_info{" + __version__ + "}": 1.0,
    "phalanx_cycle_seconds_count": 0.0,
    "phalanx_cycle_seconds_sum": 0.0,
    **{
        f"phalanx_evictions_total{{{action},{outcome}}}": 0.0
        for action in ("consolidate", "evict_stale", "preempt", "reclaim", "step_back")
        for outcome in ("ok", "refused")
    },
    "phalanx_dry_run": 0.0,
    **{f"phalanx_events_total{{{outcome}}}": 0.0 for outcome in ("dropped", "refused", "written")},
    "phalanx_events_waiting": 0.0,
    "phalanx_invariant_violations_total": 0.0,
    "phalanx_leader": 0.0,
    "phalanx_pending_gangs{error}": 0.0,
    "phalanx_pending_gangs{full}": 0.0,
    "phalanx_pending_gangs{held}": 0.0,
    "phalanx_pending_gangs{never}": 0.0,
    "phalanx_ready": 0.0,
}


def test_every_series_is_there_from_the_start() -> None:
    assert figures(Metrics()) == NOTHING


def test_cycles_binds_and_what_waits_are_counted() -> None:
    metrics = Metrics()
    metrics.live.leading = metrics.live.ready = lambda: True
    metrics.live.silence = lambda: {"Pod": 2.5, "Node": 40.0}
    waits = [wait("ml/a", Code.FULL), wait("ml/b", Code.FULL), wait("ml/c", Code.HELD)]
    metrics.cycle(0.5, cycle(Plan(0.0, (Bind("ml/t", "u", "n1", "ml/d", "ml/d"), *waits))))
    metrics.cycle(0.25, cycle(Plan(1.0, tuple(waits[1:])), Violation("no task is bound twice", ("ml/d",))))
    for outcome in ("ok", "ok", "refused"):
        metrics.bind(outcome)
    metrics.violation()
    assert figures(metrics) == NOTHING | {
        "phalanx_binds_total{ok}": 2.0,
        "phalanx_binds_total{refused}": 1.0,
        "phalanx_cycle_seconds_count": 2.0,
        "phalanx_cycle_seconds_sum": 0.75,
        "phalanx_invariant_violations_total": 2.0,
        "phalanx_leader": 1.0,
        "phalanx_pending_gangs{full}": 1.0,
        "phalanx_pending_gangs{held}": 1.0,
        "phalanx_ready": 1.0,
        "phalanx_watch_silence_seconds{Node}": 40.0,
        "phalanx_watch_silence_seconds{Pod}": 2.5,
    }
    metrics.live.leading = lambda: False
    assert figures(metrics)["phalanx_pending_gangs{full}"] == 0.0


def test_every_figure_is_explained_to_operators(pytestconfig: pytest.Config) -> None:
    page = (pytestconfig.rootpath / "docs" / "operate.md").read_text()
    names = {name.partition("{")[0] for name in figures(Metrics())} | {"phalanx_watch_silence_seconds"}
    names |= {family.name for family in queue_gauges(None)} | {"phalanx_usage_history_seconds"}
    names -= {"phalanx_cycle_seconds_count", "phalanx_cycle_seconds_sum"}
    assert [name for name in sorted(names | {"phalanx_cycle_seconds"}) if f"`{name}" not in page] == []


class Shown:
    """A scheduler as far as its port shows it."""

    def __init__(self, *lacking: str) -> None:
        self.feed = SimpleNamespace(heard_at={PODS: 98.0})
        self.unready = [f"not listed yet: {name}" for name in lacking]
        self.leader = None
        self.clock = SimpleNamespace(monotonic=lambda: 100.0)
        self.figures = lambda: None


def port_of(scheduler: Shown, address: str = "127.0.0.1", port: int = 0) -> AbstractAsyncContextManager[int]:
    return serve_health(address, port, cast("Scheduler", scheduler), Metrics())


def ask(scheduler: Shown, *paths: str) -> list[tuple[int, str]]:
    async def story() -> list[tuple[int, str]]:
        found = []
        async with port_of(scheduler) as port, aiohttp.ClientSession() as session:
            for path in paths:
                async with session.get(f"http://127.0.0.1:{port}{path}") as reply:
                    found.append((reply.status, await reply.text()))
        return found

    return asyncio.run(story())


def test_health_readiness_and_metrics_are_answered() -> None:
    health, ready, metrics, other = ask(Shown(), "/healthz", "/readyz", "/metrics", "/debug")
    assert (health, ready, other[0]) == ((200, "ok\n"), (200, "ok\n"), 404)
    lines = {"phalanx_leader 1.0", "phalanx_ready 1.0", 'phalanx_watch_silence_seconds{kind="Pod v1"} 2.0'}
    assert lines <= set(metrics[1].splitlines())


def test_whoever_is_not_ready_says_what_is_missing() -> None:
    assert ask(Shown("Pod (v1)", "Node (v1)"), "/readyz", "/healthz") == [
        (503, "not listed yet: Pod (v1)\nnot listed yet: Node (v1)\n"),
        (200, "ok\n"),
    ]


def test_a_port_that_cannot_be_had_is_one_line() -> None:
    async def taken() -> None:
        async with port_of(Shown()) as port, port_of(Shown(), port=port):
            pass

    async def none() -> None:
        async with port_of(Shown(), port=65536):
            pass

    with pytest.raises(ListenError, match=r"^--address and --port: 127\.0\.0\.1:\d+: .*address already in use$"):
        asyncio.run(taken())
    with pytest.raises(ListenError, match=r"^--address and --port: 127\.0\.0\.1:65536: .*0-65535"):
        asyncio.run(none())


class Noon(Clock):
    def now(self) -> float:
        return 1_794_830_400.123


def said(form: str, what: str, **fields: str | float | bool | None) -> str:
    stream = StringIO()
    Log("json" if form == "json" else "text", stream, Noon()).say(what, **fields)
    return stream.getvalue()


def test_a_log_line_can_be_read_by_a_person() -> None:
    line = said("text", "bound", gang="ml/train", pods=8, nodes="n1, n2 …", share=0.25, whole=True, why=None)
    assert line == '2026-11-16T12:00:00.123Z bound gang=ml/train pods=8 nodes="n1, n2 …" share=0.25 whole=true\n'


def test_a_stranger_cannot_forge_a_line_or_move_the_cursor() -> None:
    line = said("text", "bad\nname", name='a"\\b', note="x\n2026 bound\x1b[2J\u202eevil", empty="", long="y" * 2000)
    assert line == (
        r'2026-11-16T12:00:00.123Z "bad\nname" name="a\"\\b" note="x\n2026 bound\x1b[2J\u202eevil" empty=""'
        f' long="{"y" * 1024}… (2000 characters)"\n'
    )


def test_a_log_can_be_json() -> None:
    line = said("json", "bound", gang="ml/train", pods=8, note="x\n\u202ey", why=None)
    assert line.isascii()
    assert json.loads(line) == {
        "time": "2026-11-16T12:00:00.123Z",
        "what": "bound",
        "gang": "ml/train",
        "pods": 8,
        "note": "x\n\u202ey",
    }


def test_a_reader_that_went_away_does_not_stop_the_scheduler() -> None:
    stream = StringIO()
    stream.close()
    Log(stream=stream).say("bound", gang="ml/train")
