"""The only door to the API server: requests, streams, and the difference between "no" and no answer."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from phalanx import __version__
from phalanx.kube.credentials import Access, AccessError
from phalanx.kube.wire.answer import REPLY_MAX, Answer, WireError
from phalanx.kube.wire.connection import Connection, Lost
from phalanx.kube.wire.pool import Pool
from phalanx.kube.wire.road import Road

T = TypeVar("T")
MERGE_PATCH = "application/strategic-merge-patch+json"
_PLAIN = re.compile(r"[\w/.:~-]*", re.ASCII)
_CONTROL = re.compile(r"[^\t\x20-\x7e]")


class Unanswered(Exception):  # noqa: N818 (what happened, not a fault of ours)
    """A request without an answer: it may have been carried out or not."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def ok(self) -> bool:
        """Tell whether the server did what was asked."""
        return 200 <= self.status < 300

    @property
    def message(self) -> str:
        """Return the server's words. An overloaded server answers in plain text, not JSON."""
        try:
            said = msgspec.json.decode(self.body).get("message", "")
        except (msgspec.DecodeError, AttributeError):
            said = self.body[:200].decode("utf-8", "replace")
        return f"{self.status} {said}".strip()

    @property
    def retry_after(self) -> float:
        """Return how long the server asks to wait, in seconds; a second when it does not say."""
        text = self.headers.get("Retry-After", "")
        return min(float(text), 30.0) if text.isascii() and text.isdigit() else 1.0

    @property
    def given_at(self) -> float | None:
        """Return when the server gave the answer, by its own clock; None: it does not say."""
        from email.utils import parsedate_to_datetime  # noqa: PLC0415 (a scheduler that starts asks nobody for the time)

        try:
            # It cuts the fraction off: half a second later is right on average.
            return parsedate_to_datetime(self.headers["Date"]).replace(tzinfo=UTC).timestamp() + 0.5
        except (KeyError, ValueError):
            return None

    def json(self) -> Any:
        """Return the body as plain values."""
        return msgspec.json.decode(self.body)


class Client:
    """Keep-alive connections with the credentials of one identity.

    A redirect is an answer like any other: an API server sends none to a scheduler, and to follow one would turn a
    bind into a read that succeeds.
    """

    def __init__(self, access: Access, connections: int = 64, reply_max: int = REPLY_MAX) -> None:
        self._access = access
        self._connections = connections
        self._reply_max = reply_max
        self._road = Road(access.server, access.proxy, access.tls_server_name)
        self._pool: Pool | None = None
        #: Answers that were asked for before anybody needed them.
        self._early: dict[str, asyncio.Task[Reply]] = {}
        self._fields = (
            f" HTTP/1.1\r\n{self._road.fields}User-Agent: phalanx/{__version__}\r\nAccept: application/json\r\n"
        )

    async def __aenter__(self) -> Self:
        self._pool = Pool(self._road, self._connections)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._early.values():
            task.cancel()
        await asyncio.gather(*self._early.values(), return_exceptions=True)
        if self._pool is not None:
            await self._pool.close()

    def ahead(self, path: str, query: Mapping[str, str]) -> asyncio.Task[Reply]:
        """Ask now for what will be asked for in the same words: whoever does it first gets this answer."""
        target = _target(path, query)
        if target not in self._early:
            self._early[target] = asyncio.create_task(self._answered("GET", path, query, None, "", 30.0))
        return self._early[target]

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        timeout: float = 30.0,  # noqa: ASYNC109 (it belongs to the request, not to the caller)
    ) -> Reply:
        """Ask once; after a 401, once more with fresh credentials."""
        if self._early and method == "GET" and (early := self._early.pop(_target(path, query), None)):
            return await early
        return await self._answered(method, path, query, body, content_type, timeout)

    async def _answered(
        self, method: str, path: str, query: Mapping[str, str] | None, body: bytes | None, kind: str, seconds: float
    ) -> Reply:
        reply = await self._ask(method, path, query, body, kind, seconds)
        if reply.status == 401:
            await self._trusted(self._access.refresh())
            reply = await self._ask(method, path, query, body, kind, seconds)
        return reply

    async def _ask(
        self, method: str, path: str, query: Mapping[str, str] | None, body: bytes | None, kind: str, seconds: float
    ) -> Reply:
        head = await self._head(method, path, query)
        if body is not None:
            head += f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        elif method != "GET":
            head += "Content-Length: 0\r\n"
        else:
            # A list shrinks to a twentieth, and over a slow road that counts.
            head += "Accept-Encoding: gzip\r\n"
        request = f"{head}\r\n".encode() + (body or b"")
        try:
            async with asyncio.timeout(seconds):
                connection = await self._sent(method, request, streamed=False)
            answer = connection.answer
            self._require().give_back(connection)
            return Reply(answer.status, answer.whole(), answer.headers)
        except (WireError, OSError) as error:
            raise _unanswered(method, path, error) from error

    async def stream(
        self, path: str, query: Mapping[str, str], stall: float, taken: Callable[[], None] = lambda: None
    ) -> AsyncIterator[bytes]:
        """Yield the chunks of a long answer; silence of `stall` seconds is taken for a dead connection.

        `taken` is called once the server agreed to answer: the first chunk may come much later.
        """
        request = f"{await self._head('GET', path, query)}\r\n".encode()
        connection: Connection | None = None
        try:
            async with asyncio.timeout(stall):
                connection = await self._sent("GET", request, streamed=True)
            answer = connection.answer
            if answer.status != 200:
                async with asyncio.timeout(stall):
                    await connection.news(whole=True)
                raise StreamRefused(Reply(answer.status, answer.whole(), answer.headers))
            taken()
            while True:
                chunk = connection.take()
                if chunk:
                    yield chunk
                elif answer.done:
                    return
                else:
                    async with asyncio.timeout(stall):
                        await connection.news(whole=False)
        except (WireError, OSError) as error:
            raise _unanswered("GET", path, error) from error
        finally:
            if connection is not None:
                self._require().give_back(connection)

    async def _sent(self, method: str, request: bytes, *, streamed: bool) -> Connection:
        """Return the connection on which the answer came, all of it or the head of a stream.

        The server may close an idle connection in the very moment in which it is used again. Reading is then done
        once more; of a write nobody knows whether it was carried out, so that it is left to whoever asked.
        """
        pool = self._require()
        while True:
            # The context is asked for each time: a renewed certificate opens new connections, and those in use
            # finish with the old.
            connection = await pool.take(self._access.ssl())
            try:
                answer = Answer(streamed=streamed, packed=method == "GET" and not streamed, limit=self._reply_max)
                await connection.ask(request, answer, whole=not streamed)
            except BaseException as error:
                connection.end()
                stale = isinstance(error, Lost) and connection.uses > 1 and connection.answer.silent
                if not stale or method != "GET":
                    raise
            else:
                return connection
            pool.forget_idle()

    async def _head(self, method: str, path: str, query: Mapping[str, str] | None) -> str:
        """Return the request line and the fields that every request has."""
        authorization = await self._trusted(self._access.authorization())
        head = f"{method} {self._road.prefix}{_target(path, query)}{self._fields}"
        if not authorization:
            return head
        if _CONTROL.search(authorization):
            raise Unanswered("the credential holds a character that cannot be sent, allowed is printable ASCII")
        return f"{head}Authorization: {authorization}\r\n"

    async def _trusted(self, work: Awaitable[T]) -> T:
        """Credentials that cannot be had now are no answer, not the end."""
        try:
            return await work
        except AccessError as error:
            raise Unanswered(str(error)) from error

    def _require(self) -> Pool:
        assert self._pool is not None, "the client is used inside `async with`"
        return self._pool


def _target(path: str, query: Mapping[str, str] | None) -> str:
    target = path if _PLAIN.fullmatch(path) else quote(path, safe="/:~!$&'()*+,;=@%")
    return f"{target}?{urlencode(query)}" if query else target


def _unanswered(method: str, path: str, error: Exception) -> Unanswered:
    return Unanswered(f"{method} {path}: {type(error).__name__} {error}".strip())


class StreamRefused(Exception):  # noqa: N818
    """The server answered a watch with an error."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.message)
        self.reply = reply
