"""The history of use as Prometheus keeps it: what is made of its answers, and what happens without them.

The server here is a small one that answers in Prometheus' format and evaluates the two queries that are asked.
"""

import asyncio
import base64
import json
import re
from collections.abc import Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, cast

import pytest
from aiohttp import web

from phalanx.cli.main import main
from phalanx.dialects.read import read
from phalanx.kube.clock import Clock
from phalanx.kube.events import Events
from phalanx.kube.feed import Feed
from phalanx.kube.local import node_manifest
from phalanx.kube.log import Log
from phalanx.kube.queues import QueueStatus
from phalanx.kube.usage_source import HistoryError, UsageSource, checked_url
from phalanx.kube.writes import Writes
from phalanx.loop import Loop
from phalanx.model.axis import GPU
from phalanx.policy.load import parse_policy
from phalanx.world.world import World
from tests.kube.queue_cluster import queue

NOW = 1_800_000_123.0
HOUR = 3600.0
RANGE = re.compile(r"\(phalanx_(queue_allocated|capacity)\)\)\[(\d+)ms:(\d+)ms\]\)")


@dataclass
class Watch(Clock):
    """A clock that a test turns."""

    time: float = NOW

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


@dataclass
class Desk:
    """A scheduler's queues, a Prometheus, and the way between them."""

    memory: str
    #: What `team-a` and `team-b` had, and what there was, at a time.
    figures: Callable[[float], dict[str, float]]
    watch: Watch = field(default_factory=Watch)
    #: What the server says instead of an answer.
    trouble: web.Response | None = None
    asked: int = 0
    #: The header that says who asks.
    asker: str | None = None

    def __post_init__(self) -> None:
        policy = parse_policy(
            f"extends: default\nshare: {{name: quota_then_weight, arguments: {{memory: {self.memory}}}}}", "test"
        )
        self.world, self.lines = World(), StringIO()
        self.loop, self.log = Loop(self.world, policy), Log("text", self.lines, self.watch)
        feed, writes = Feed(self.world, ("phalanx",)), cast("Writes", None)
        events = Events(self.world, feed, writes, self.watch, "phalanx", "test")
        self.status = QueueStatus(self.loop, feed, writes, events, self.watch, self.log)
        for item in (node_manifest("n1", gpus=8), queue("team-a", {}), queue("team-b", {})):
            event = read(item, ("phalanx",))
            assert event is not None
            self.world.apply(event)
        self.usage()

    def usage(self) -> list[float]:
        """Return the part of the GPUs that each team used, as the next decision sees it."""
        cycle = self.loop.cycle(self.watch.now())
        return [round(part, 3) for part in cycle.snapshot.queues.usage[:, 0].tolist()]

    def said(self) -> list[str]:
        return [line.split(" ", 1)[1] for line in self.lines.getvalue().splitlines()]

    @asynccontextmanager
    async def source(self, user: str = "") -> Any:
        app = web.Application()
        app.add_routes([web.get("/prometheus/api/v1/query_range", self._answer)])
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        queues = self.world.queues
        yield UsageSource(
            checked_url(f"http://{user}127.0.0.1:{runner.addresses[0][1]}/prometheus/"),
            lambda: queues.usage.memory if queues.usage else None,
            lambda: {one.name: one.uid for one in queues.table.queues},
            self.status.begin_with, self.watch, self.log,
        )  # fmt: skip
        await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        self.asked += 1
        self.asker = request.headers.get("Authorization")
        if self.trouble is not None:
            return web.Response(status=self.trouble.status, body=self.trouble.body)
        found = RANGE.search(request.query["query"])
        assert found is not None
        start, end, step = (float(request.query[name]) for name in ("start", "end", "step"))
        result = []
        for name in ("team-a", "team-b") if found[1] == "queue_allocated" else ("total",):
            values = []
            for number in range(round((end - start) / step) + 1):
                at = start + number * step
                samples = sums(self.figures, name, at, float(found[2]) / 1000, float(found[3]) / 1000)
                if samples:
                    values.append([at, str(sum(samples))])
            labels = {"resource": GPU} | ({"queue": name} if name != "total" else {})
            result.append({"metric": labels, "values": values})
        return web.json_response({"status": "success", "data": {"resultType": "matrix", "result": result}})


def sums(figures: Callable[[float], dict[str, float]], name: str, at: float, width: float, fine: float) -> list[float]:
    """Return the samples of a subquery: at whole multiples of its resolution, the range's older end left out."""
    first = int((at - width) // fine) + 1
    times = [number * fine for number in range(first, int(at // fine) + 1)]
    return [found[name] for found in map(figures, times) if name in found]


def tell(desk: Desk, story: Callable[[UsageSource], Coroutine[None, None, None]]) -> None:
    async def whole() -> None:
        async with desk.source() as source:
            await story(source)

    asyncio.run(whole())


def quarter_then_rest(time: float) -> dict[str, float]:
    """A had all eight for the first three quarters of an hour, then b had four."""
    late = time > NOW - HOUR / 4
    return {"team-a": 0.0 if late else 8.0, "team-b": 4.0 if late else 0.0, "total": 8.0}


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        ("{window: 1h}", [0.75, 0.125]),
        # Of a half-life of 15 minutes, the last quarter counts (1 - 1/2) / (1 - 1/16) of all.
        ("{window: 1h, halfLife: 15m}", [0.467, 0.267]),
        ("{window: 30m}", [0.5, 0.25]),
    ],
)
def test_what_prometheus_remembers_takes_the_place_of_what_we_saw(memory: str, expected: list[float]) -> None:
    desk = Desk(memory, quarter_then_rest)
    assert desk.usage() == [0.0, 0.0]

    async def story(source: UsageSource) -> None:
        await source.look()

    tell(desk, story)
    assert desk.loop.due(desk.watch.now()), "the next cycle must not wait for an event"
    assert desk.usage() == pytest.approx(expected, abs=0.01)
    assert desk.said() == []


def test_whoever_the_address_names_is_who_asks() -> None:
    desk = Desk("{window: 1h}", quarter_then_rest)

    async def whole() -> list[str | None]:
        told = []
        for user in ("", "phalanx@", "phalanx:a%20b@"):
            async with desk.source(user) as source:
                await source.look()
            told.append(desk.asker and base64.b64decode(desk.asker.removeprefix("Basic ")).decode())
        return told

    assert asyncio.run(whole()) == [None, "phalanx:", "phalanx:a b"]
    assert desk.said() == []


def test_an_answer_without_an_end_is_not_read_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phalanx.kube.usage_source._REPLY_MAX", 100)
    desk = Desk("{window: 1h}", quarter_then_rest)

    async def story(source: UsageSource) -> None:
        await source.look()

    tell(desk, story)
    assert "the reply is too large" in desk.said()[0]


def test_a_prometheus_in_trouble_changes_nothing_and_is_told_of_once() -> None:
    desk = Desk("{window: 1h}", quarter_then_rest)

    async def story(source: UsageSource) -> None:
        await source.look()
        before = desk.usage()
        desk.trouble = web.Response(status=503, body=b'{"status": "error", "error": "starting up"}')
        for _ in range(3):
            desk.watch.time += 60
            await source.look()
        assert source.age == 180
        assert desk.usage() == pytest.approx(before, abs=0.06), "three more minutes of an hour, in which nothing ran"
        desk.trouble = None
        await source.look()
        assert source.age == 0

    tell(desk, story)
    assert desk.said() == [
        'history-unread source=127.0.0.1 why="503 starting up" then="the last one stays in force"',
        "history-read-again",
    ]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"<html>", "200, which is no answer of Prometheus': JSON is malformed: invalid character (byte 0)"),
        (
            json.dumps({"data": {"resultType": "vector", "result": []}}).encode(),
            "200, which is no answer of Prometheus': Expected `str` matching regex '^matrix$' - at `$.data.resultType`",
        ),
        (
            json.dumps({"data": {"resultType": "matrix", "result": []}}).encode(),
            "it knows no phalanx_capacity: does it scrape this scheduler?",
        ),
    ],
)
def test_an_answer_that_is_none_says_what_it_is(body: bytes, why: str) -> None:
    desk = Desk("{window: 1h}", quarter_then_rest, trouble=web.Response(body=body))

    async def story(source: UsageSource) -> None:
        await source.look()

    tell(desk, story)
    assert [line.partition(' why="')[2].partition('" then=')[0] for line in desk.said()] == [why]


def test_figures_that_ended_long_ago_are_not_used() -> None:
    desk = Desk("{window: 1h}", lambda time: quarter_then_rest(time) if time < NOW - 1200 else {})

    async def story(source: UsageSource) -> None:
        await source.look()

    tell(desk, story)
    assert desk.said()[0].startswith('history-unread source=127.0.0.1 why="its newest figures are ')


def test_nobody_is_asked_when_the_policy_remembers_nothing() -> None:
    desk = Desk("{window: 1h}", quarter_then_rest)
    desk.loop.policy = parse_policy("extends: default", "test")

    async def story(source: UsageSource) -> None:
        await source.look()

    tell(desk, story)
    assert (desk.asked, desk.said()) == (0, [])


@pytest.mark.parametrize(
    "url", ["prometheus:9090", "ftp://p", "http://", "http://p?x=1", "http://p:99999", "http://[p"]
)
def test_an_address_that_cannot_be_one_is_one_line(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(HistoryError, match=r"^--usage-prometheus: found .* allowed is an address such as http://"):
        checked_url(url)
    assert main(["run", "--usage-prometheus", url]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
