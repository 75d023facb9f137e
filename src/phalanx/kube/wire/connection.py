"""One connection: a request is written, its answer is read, and only then comes the next."""

import asyncio
import ssl
from collections.abc import Callable
from typing import cast

from phalanx.kube.wire.answer import Answer, WireError

#: A stream whose reader is behind by this much is not read from the network until it caught up.
HELD_MAX = 4 * 2**20


class Lost(WireError):  # noqa: N818 (what happened)
    """The connection went away under a request."""


class Connection(asyncio.Protocol):
    """Carries one request at a time. Whatever goes wrong in between ends it: it is never used again."""

    def __init__(self, context: ssl.SSLContext | None, gone: Callable[["Connection"], None]) -> None:
        #: What it was opened with; another context means that it is out of date.
        self.context = context
        self.uses = 0
        self.idle_since = 0.0
        self.answer = Answer()
        self._gone = gone
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._busy = False
        self._paused = False
        self._error: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self._whole = False

    @property
    def transport(self) -> asyncio.Transport:
        """Return the way out."""
        assert self._transport is not None, "a connection is used once it is open"
        return self._transport

    @property
    def usable(self) -> bool:
        """Tell whether another request may be written."""
        return not self._busy and self._transport is not None and not self._transport.is_closing()

    async def ask(self, request: bytes, answer: Answer, *, whole: bool) -> None:
        """Write a request and wait for its answer: all of it, or the head."""
        assert not self._busy, "one request at a time"
        self.uses += 1
        self.answer = answer
        self._busy = True
        self.transport.write(request)
        await self.news(whole=whole)
        while not answer.headed:
            await self.news(whole=False)

    async def news(self, *, whole: bool) -> None:
        """Wait until more of the answer came, or all of it."""
        if self._error is None and not self.answer.done:
            self._whole = whole
            self._reader = self._loop.create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        if self._error is not None:
            raise self._error

    def take(self) -> bytes:
        """Return the body that came, and let more come."""
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return self.answer.take()

    def finish(self) -> bool:
        """The answer was read; tell whether the connection is good for another."""
        transport, answer = self.transport, self.answer
        self._busy = False
        # Bytes still to be written: the server answered without reading them, and will not read on in step.
        good = answer.done and answer.keep and not answer.surplus and not transport.get_write_buffer_size()
        if not good or transport.is_closing():
            self.end()
            return False
        return True

    def end(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way out."""
        # Not checked: a faster loop's transports are of their own kind.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Read on."""
        answer = self.answer
        if not self._busy or answer.done:
            # Said without being asked: it must not become the answer to the next question.
            self.end()
            return
        try:
            answer.feed(data)
        except WireError as error:
            self._fail(error)
            self.end()
            return
        if answer.done or not self._whole:
            self._wake()
            if answer.held > HELD_MAX and not self._paused and self._transport is not None:
                self._paused = True
                self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell whoever waits, and the pool."""
        if self._busy and not self.answer.done and self._error is None:
            try:
                if exc is not None:
                    raise Lost(f"{type(exc).__name__} {exc}".strip())
                if self.answer.silent:
                    raise Lost("the server closed the connection")
                self.answer.end()
                self._wake()
            except WireError as error:
                self._fail(error)
        self._gone(self)

    def _fail(self, error: Exception) -> None:
        self._error = error
        self._wake()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
