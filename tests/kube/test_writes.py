"""Writes that nobody waits for: what fails for thousands is said once, and nothing is lost silently."""

import asyncio
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import pytest

from phalanx.kube import writes as module
from phalanx.kube.client import Client, Reply, Unanswered
from phalanx.kube.log import Log
from phalanx.kube.writes import Write, Writes


@dataclass
class Server:
    """Answers every request alike; None: not at all."""

    answer: Reply | None

    async def request(self, method: str, path: str, *, body: bytes, content_type: str) -> Reply:
        assert method
        assert path
        assert body
        assert content_type
        await asyncio.sleep(0)
        if self.answer is None:
            raise Unanswered("no answer")
        return self.answer


def after(answer: Reply | None, count: int, fence: Callable[[], bool] = lambda: True) -> tuple[list[str], list[str]]:
    """Send writes to a server; return the names of those that were lost, and the log without its times."""
    said, lost = io.StringIO(), []

    async def story() -> None:
        writes = Writes(cast("Client", Server(answer)), fence, lambda: False, Log(stream=said))
        for number in range(count):
            name = f"{number}"
            writes.submit(Write("PATCH", f"/{name}", b"{}", lost=lambda name=name: lost.append(name)))  # type: ignore[misc]
        work = asyncio.create_task(writes.run())
        await writes.settle()
        work.cancel()

    asyncio.run(story())
    return sorted(lost), [line.partition(" ")[2] for line in said.getvalue().splitlines()]


def test_a_server_that_does_not_answer_is_said_once_for_all_and_each_write_hears_that_it_was_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "PAUSE_MAX", 0.0)
    lost, said = after(None, 50)
    assert lost == sorted(f"{number}" for number in range(50))
    assert said == ["write-given-up path=/0 tries=6 so_far=1"]


def test_a_refusal_is_said_once_for_all_and_is_an_answer() -> None:
    lost, said = after(Reply(403, b'{"message": "the namespace ends"}', {}), 50)
    assert lost == []
    assert said == ['write-refused path=/0 answer="403 the namespace ends" so_far=1']


def test_whoever_does_not_lead_any_more_sends_nothing_and_each_write_hears_it() -> None:
    """We may lead again, before anybody else did."""
    assert after(None, 3, fence=lambda: False) == (["0", "1", "2"], [])
