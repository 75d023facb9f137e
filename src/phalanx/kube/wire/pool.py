"""Connections that are kept open between requests, and as many more as are wanted, opened a few at a time.

Whoever needs a connection gets the first that is there: one just opened, or one that somebody gave back meanwhile. A
handshake costs both sides several binds' worth of work, so the first binds go out before the last connection is up.
"""

import asyncio
import ssl
from collections import deque

from phalanx.kube.wire.answer import WireError
from phalanx.kube.wire.connection import Connection
from phalanx.kube.wire.road import Road

#: Handshakes at the same time.
OPENING_MAX = 8
#: Seconds for one connection to open.
OPEN_TIMEOUT = 10.0
#: Seconds after which an idle connection is not trusted: what lies between may have forgotten it without a word.
IDLE_MAX = 15.0


class Pool:
    """At most `limit` connections to one server."""

    def __init__(self, road: Road, limit: int) -> None:
        self._road = road
        self._limit = limit
        self._context: ssl.SSLContext | None = None
        self._idle: deque[Connection] = deque()
        self._waiting: deque[asyncio.Future[Connection]] = deque()
        self._open: set[Connection] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._empty = asyncio.Event()
        self._closed = False

    async def take(self, context: ssl.SSLContext) -> Connection:
        """Return a connection that was opened with this context, and is nobody else's until it is given back."""
        if context is not self._context:
            self._context = context
            self.forget_idle()
        self._trim()
        while True:
            # The one that was used last: the others grow old and are closed.
            connection = self._idle.pop() if self._idle else await self._next()
            # It may have been lost on its way here. What is not yet written can still go another way.
            if connection.usable:
                return connection

    async def _next(self) -> Connection:
        """Wait for one that is opened or given back."""
        waiter: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        self._grow()
        try:
            return await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled() and waiter.exception() is None:
                # Handed over in the same moment: it goes to the next in line.
                self._hand_over(waiter.result())
            raise

    def give_back(self, connection: Connection) -> None:
        """Take back a connection whose answer was read."""
        if connection.finish():
            self._hand_over(connection)

    def forget_idle(self) -> None:
        """Close what is not in use: one of its kind turned out to be dead, or the credentials changed."""
        while self._idle:
            self._idle.pop().end()

    async def close(self) -> None:
        """Close everything, whoever uses it."""
        self._closed = True
        while self._waiting:
            self._refuse(WireError("the client was closed"))
        for task in self._opening:
            task.cancel()
        for connection in list(self._open):
            connection.end()
        if self._opening:
            await asyncio.wait(self._opening)
            # A socket that was given up while it opened is closed by the loop's next turn.
            await asyncio.sleep(0)
        if self._open:
            await self._empty.wait()

    def _hand_over(self, connection: Connection) -> None:
        if connection.context is not None and connection.context is not self._context:
            connection.end()
            return
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(connection)
                return
        connection.idle_since = asyncio.get_running_loop().time()
        self._idle.append(connection)

    def _trim(self) -> None:
        oldest = asyncio.get_running_loop().time() - IDLE_MAX
        while self._idle and self._idle[0].idle_since < oldest:
            self._idle.popleft().end()

    def _grow(self) -> None:
        """Open what is lacking, a few at a time."""
        while self._waiting and self._waiting[0].done():
            self._waiting.popleft()
        while (
            not self._closed
            and len(self._opening) < min(OPENING_MAX, len(self._waiting))
            and len(self._open) + len(self._opening) < self._limit
        ):
            task = asyncio.create_task(self._add())
            self._opening.add(task)
            task.add_done_callback(self._added)

    def _added(self, task: asyncio.Task[None]) -> None:
        self._opening.discard(task)
        self._grow()

    async def _add(self) -> None:
        """Open one for the request that waits longest, which is told when it cannot be had."""
        try:
            async with asyncio.timeout(OPEN_TIMEOUT):
                connection = await self._road.open(self._context, self._gone)
        except Exception as error:  # noqa: BLE001 (whatever it is, the request must be told, or it waits for ever)
            self._refuse(error)
        else:
            if not connection.usable:
                self._refuse(WireError("the server closed the connection as soon as it was open"))
                return
            self._open.add(connection)
            self._empty.clear()
            self._hand_over(connection)

    def _refuse(self, error: Exception) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_exception(error)
                return

    def _gone(self, connection: Connection) -> None:
        """A connection closed, by whomever."""
        self._open.discard(connection)
        if not self._open:
            self._empty.set()
        self._grow()
