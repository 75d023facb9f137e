"""What may become of a request on its way: it comes late, its answer is lost, its stream ends or says things twice."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable, Mapping

from aiohttp import web

from tests.faults.proxy import Change, Fault, Passage


def late(seconds: float) -> Fault:
    """The request is carried out, but only after a while."""

    async def fault(passage: Passage) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await passage.through()

    return fault


def answered(status: int, text: str = "said the proxy", headers: Mapping[str, str] | None = None) -> Fault:
    """The server never hears of it; the client gets this answer in plain text, as an overloaded server gives it."""

    async def fault(passage: Passage) -> web.StreamResponse:  # noqa: ARG001 (the same for all)
        return web.Response(status=status, text=text, headers=headers)

    return fault


async def answer_lost(passage: Passage) -> web.StreamResponse:
    """The server does it, and the connection breaks before the client hears so."""
    async with passage.ask() as answer:
        await answer.read()
    return passage.cut()


async def never_sent(passage: Passage) -> web.StreamResponse:
    """The connection breaks before the server hears anything."""
    return passage.cut()


class Gate:
    """Requests wait here until the test opens it; then they are carried out, whoever still waits for the answer.

    The first so many that the server grants pass before: one that it refuses is tried again and must not count.
    """

    def __init__(self, first: int = 0) -> None:
        self._first = first
        self._turn = asyncio.Lock()
        self._open = threading.Event()
        self._lost = False

    def open(self) -> None:
        """Let all of them through, those to come too."""
        self._open.set()

    def lose(self) -> None:
        """Lose all of them: the server never hears of them."""
        self._lost = True
        self._open.set()

    async def __call__(self, passage: Passage) -> web.StreamResponse:
        """Let one of the first through; keep the others until the opening."""
        async with self._turn:
            if self._first:
                response = await passage.through()
                self._first -= response.status < 300
                return response
        # Opened from the test's own thread, which an asyncio.Event does not bear.
        while not self._open.is_set():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        return passage.cut() if self._lost else await passage.through()


async def silence(passage: Passage) -> web.StreamResponse:  # noqa: ARG001 (the same for all)
    """The connection stays open and nothing ever comes."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets this event")


def changed(change: Change) -> Fault:
    """The lines of a watch pass through `change`."""

    async def fault(passage: Passage) -> web.StreamResponse:
        return await passage.through(change)

    return fault


EXPIRED = b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":410,"reason":"Expired"}}\n'


def ending_after(count: int, last: Iterable[bytes] = ()) -> Change:
    """The stream ends in the middle, after so many lines; `last` may be EXPIRED."""

    async def change(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for line in _first(lines, count):
            yield line
        for line in last:
            yield line

    return change


async def muted(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The stream stays open and tells nothing."""
    nothing: tuple[bytes, ...] = ()
    async for _ in lines:
        for line in nothing:
            yield line


async def twice(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Every event comes twice."""
    async for line in lines:
        yield line
        yield line


async def stale_again(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """After each event the one before it comes again: the past, told by a server that lags behind."""
    before = b""
    async for line in lines:
        yield line
        # A deletion is the last word on an object: no server tells of a life before it afterwards.
        if before and b'"type":"DELETED"' not in line:
            yield before
        before = line


async def _first(lines: AsyncIterator[bytes], count: int) -> AsyncIterator[bytes]:
    while count:
        try:
            yield await anext(lines)
        except StopAsyncIteration:
            return
        count -= 1
