"""The port that the kubelet and Prometheus ask: /healthz, /readyz, /metrics. It answers questions and takes no orders.

The default is loopback, for whoever runs the scheduler by hand. In a pod the kubelet asks from outside, so the
manifests listen on every address; what is told there names queues, and nobody's gangs or pods.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import Protocol

from phalanx.kube.choices import ListenError
from phalanx.kube.clock import Clock
from phalanx.kube.feed import Feed
from phalanx.kube.leader import Leader
from phalanx.kube.metrics import Metrics
from phalanx.kube.queue_figures import QueueFigures

#: Whoever connects and says nothing, or does not listen, is gone after this many seconds.
_IDLE = 15.0
#: The longest question that is read.
_QUESTION_MAX = 16 * 2**10

#: Status, type of content, content.
_Page = tuple[HTTPStatus, str, bytes]
_TEXT = "text/plain; charset=utf-8"
#: Of Prometheus' text format.
_FIGURES = "text/plain; version=1.0.0; charset=utf-8"


class Scheduling(Protocol):
    """Of a scheduler, what is asked here."""

    feed: Feed
    clock: Clock

    @property
    def leader(self) -> Leader | None:
        """Return who holds the lease; None: nobody needs one."""

    @property
    def unready(self) -> list[str]:
        """Say, a line each, why nothing can be decided or followed now."""

    def figures(self) -> QueueFigures | None:
        """Return the queues as of the last cycle."""


@asynccontextmanager
async def serve_health(address: str, port: int, scheduler: Scheduling, metrics: Metrics) -> AsyncIterator[int]:
    """Answer while the block lasts; yield the port. An empty address is every address."""
    _attach(metrics, scheduler)
    callers = _Callers(_pages(metrics, scheduler))
    server = await listen(callers.answer, address, port)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        callers.dismiss()


async def listen(
    answer: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], address: str, port: int
) -> asyncio.Server:
    """Return a server for these callers. An empty address is every address."""
    try:
        return await asyncio.start_server(answer, address or None, port, limit=_QUESTION_MAX)
    except (OSError, OverflowError) as error:
        reason = os.strerror(error.errno).lower() if isinstance(error, OSError) and error.errno else error
        raise ListenError(f"--address and --port: {address}:{port}: {reason}") from None


def _attach(metrics: Metrics, scheduler: Scheduling) -> None:
    """Let a scrape see how the scheduler is now."""
    leader, feed, clock = scheduler.leader, scheduler.feed, scheduler.clock
    metrics.live.leading = leader.holds if leader is not None else lambda: True
    metrics.live.ready = lambda: not scheduler.unready
    metrics.live.queues = scheduler.figures
    metrics.live.silence = lambda: {
        f"{kind.kind} {kind.api_version}": clock.monotonic() - heard for kind, heard in feed.heard_at.items()
    }


def _pages(metrics: Metrics, scheduler: Scheduling) -> dict[str, Callable[[], _Page]]:
    def health() -> _Page:
        # Decisions, binds and this answer share one event loop: to be answered at all is the sign of life.
        return HTTPStatus.OK, _TEXT, b"ok\n"

    def readiness() -> _Page:
        told = "".join(f"{line}\n" for line in scheduler.unready)
        return (HTTPStatus.SERVICE_UNAVAILABLE, _TEXT, told.encode()) if told else (HTTPStatus.OK, _TEXT, b"ok\n")

    def figures() -> _Page:
        return HTTPStatus.OK, _FIGURES, metrics.text()

    return {"/healthz": health, "/readyz": readiness, "/metrics": figures}


class _Callers:
    """Whoever asks: one question, one answer, good-bye. He comes every few seconds, not often enough to be kept."""

    def __init__(self, pages: dict[str, Callable[[], _Page]]) -> None:
        self._pages = pages
        self._here: set[asyncio.StreamWriter] = set()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one caller."""
        self._here.add(writer)
        try:
            # Whoever leaves early, says nothing or too much gets no answer, and nobody minds.
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                async with asyncio.timeout(_IDLE):
                    writer.write(self._reply(await reader.readuntil(b"\r\n\r\n")))
                    await writer.drain()
        finally:
            self._here.discard(writer)
            writer.close()

    def dismiss(self) -> None:
        """Hang up on everybody: who was being answered hears no more."""
        for writer in self._here:
            writer.transport.abort()

    def _reply(self, question: bytes) -> bytes:
        method, _, rest = question.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        page = self._pages.get(rest.partition(" ")[0].partition("?")[0])
        if page is None:
            status, kind, content = HTTPStatus.NOT_FOUND, _TEXT, b"allowed are /healthz, /readyz and /metrics\n"
        elif method not in {"GET", "HEAD"}:
            status, kind, content = HTTPStatus.METHOD_NOT_ALLOWED, _TEXT, b"allowed is GET\n"
        else:
            status, kind, content = page()
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n"
            f"{'Allow: GET, HEAD' if status is HTTPStatus.METHOD_NOT_ALLOWED else 'Cache-Control: no-store'}\r\n"
            "Connection: close\r\n\r\n"
        )
        return head.encode() + (b"" if method == "HEAD" else content)
