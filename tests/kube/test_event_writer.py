"""Events are sent at their rate, behind everything else; a server that takes none disturbs nobody."""

import asyncio
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import cast

import pytest

from phalanx.kube import event_writer
from phalanx.kube.client import Client, Reply, Unanswered
from phalanx.kube.clock import Clock
from phalanx.kube.event_writer import ONCE_MAX, EventCounts, EventWriter
from phalanx.kube.log import Log
from phalanx.kube.writes import TRIES_MAX, Write


@dataclass
class Server:
    """Answers as it is told to; None: not at all."""

    answer: Callable[[], Reply | None] = lambda: Reply(201, b"{}", {})
    asked: list[str] = field(default_factory=list[str])

    async def request(self, method: str, path: str, *, body: bytes, content_type: str) -> Reply:
        assert method
        assert body
        assert content_type
        self.asked.append(path)
        await asyncio.sleep(0)
        reply = self.answer()
        if reply is None:
            raise Unanswered("no answer")
        return reply


class Quick(Clock):
    """A clock that goes on by itself: each look at it is a hundredth of a second."""

    time = 0.0

    def monotonic(self) -> float:
        self.time += 0.01
        return self.time


def write(name: str) -> Write:
    return Write("POST", name, b"{}")


def after(
    server: Server, writes: int, until: Callable[[EventWriter], bool], *, busy: Callable[[], bool] = lambda: False,
    rate: float = 1000.0, told: bool = False,
) -> tuple[EventCounts, str]:  # fmt: skip
    """Run until something holds; return what became of the writes, and the log."""
    said = io.StringIO()

    async def story() -> EventCounts:
        writer = EventWriter(
            cast("Client", server), lambda: True, busy, Quick(), Log("text", said), rate, lambda: told
        )  # fmt: skip
        for number in range(writes):
            writer.submit(write(f"w{number}"))
        work = asyncio.create_task(writer.run())
        async with asyncio.timeout(60):
            while not until(writer):  # noqa: ASYNC110 (a test's safety net)
                await asyncio.sleep(0.001)
        work.cancel()
        return writer.counts

    return asyncio.run(story()), said.getvalue()


def test_all_are_written_and_counted() -> None:
    server = Server()
    counts, said = after(server, 20, lambda writer: writer.counts.written == 20)
    assert (counts, said) == (EventCounts(written=20), "")
    assert server.asked == [f"w{number}" for number in range(20)]


def test_nothing_is_sent_while_something_else_is_on_its_way() -> None:
    server, looks = Server(), iter(range(30))

    def busy() -> bool:
        if next(looks, None) is None:
            return False
        assert server.asked == []
        return True

    counts, _ = after(server, 3, lambda writer: writer.counts.written == 3, busy=busy)
    assert counts.written == 3


def test_a_server_that_takes_no_event_is_asked_six_times_and_said_once_and_nothing_is_lost_silently(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(event_writer, "PAUSE_MAX", 0.01)
    server = Server(lambda: Reply(500, b'{"message": "etcd is full"}', {}))
    counts, said = after(server, 2, lambda writer: writer.counts.dropped == 2)
    assert counts == EventCounts(dropped=2)
    assert len(server.asked) == 2 * TRIES_MAX
    assert said.count("events-put-off") == 1
    assert "etcd is full" in said


def test_an_answer_that_was_lost_is_asked_for_again() -> None:
    answers = iter([None, Reply(409, b'{"message": "already exists"}', {})])
    counts, said = after(Server(lambda: next(answers)), 1, lambda writer: writer.counts.written == 1)
    assert (counts, said) == (EventCounts(written=1), "")


def test_refusals_are_counted_and_said_once_a_minute_and_not_at_all_where_missing_rights_are_known() -> None:
    refusal = Reply(403, b'{"message": "forbidden: namespace is being terminated"}', {})
    for told, lines in ((False, 1), (True, 0)):
        counts, said = after(Server(lambda: refusal), 30, lambda writer: writer.counts.refused == 30, told=told)
        assert counts == EventCounts(refused=30)
        assert said.count("event-refused") == lines


def test_too_many_single_ones_drop_the_oldest_and_count_it() -> None:
    counts, _ = after(Server(), ONCE_MAX + 7, lambda _: True)
    assert (counts.dropped, counts.waiting) == (7, ONCE_MAX)


def test_a_rate_of_none_writes_none() -> None:
    counts, _ = after(Server(), 5, lambda _: True, rate=0)
    assert counts == EventCounts()


@dataclass
class Flood:
    """Lanes that never end."""

    names: tuple[str, ...]
    dropped = 0
    waiting = 1

    @property
    def lanes(self) -> list[Callable[[], Write | None]]:
        return [partial(write, name) for name in self.names]


def test_a_lane_that_never_ends_leaves_the_others_their_share() -> None:
    server = Server()

    async def story() -> None:
        writer = EventWriter(
            cast("Client", server), lambda: True, lambda: False, Quick(), Log("text", io.StringIO()), 1e4
        )
        writer.join(Flood(("news", "rest", "again")))
        for number in range(10):
            writer.submit(write(f"once{number}"))
        work = asyncio.create_task(writer.run())
        while len(server.asked) < 40:  # noqa: ASYNC110 (a test's safety net)
            await asyncio.sleep(0)
        work.cancel()

    asyncio.run(story())
    first = [name.rstrip("0123456789") for name in server.asked[:40]]
    assert {name: first.count(name) for name in first} == {"once": 10, "news": 10, "rest": 10, "again": 10}
