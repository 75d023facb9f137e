"""The only door to the API server: requests, streams, and the difference between "no" and no answer."""

from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar

import aiohttp
import msgspec

from phalanx import __version__
from phalanx.kube.credentials import Access, AccessError

#: The largest reply that is read. A server, or somebody between, must not be able to fill our memory.
REPLY_MAX = 512 * 2**20
T = TypeVar("T")
MERGE_PATCH = "application/strategic-merge-patch+json"


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

    def json(self) -> Any:
        """Return the body as plain values."""
        return msgspec.json.decode(self.body)


class Client:
    """Keep-alive connections with the credentials of one identity."""

    def __init__(self, access: Access, connections: int = 64) -> None:
        self._access = access
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    def _open(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._connections),
            headers={"User-Agent": f"phalanx/{__version__}", "Accept": "application/json"},
            auto_decompress=True,
        )

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
        reply = await self._ask(method, path, query, body, content_type, timeout)
        if reply.status == 401:
            await self._trusted(self._access.refresh())
            reply = await self._ask(method, path, query, body, content_type, timeout)
        return reply

    async def _ask(
        self, method: str, path: str, query: Mapping[str, str] | None, body: bytes | None, kind: str, seconds: float
    ) -> Reply:
        session = self._require()
        headers = await self._headers()
        if body is not None:
            headers["Content-Type"] = kind
        try:
            async with session.request(
                method, self._access.server + path, params=query, data=body, headers=headers,
                timeout=aiohttp.ClientTimeout(total=seconds), **self._network(),
            ) as answer:  # fmt: skip
                return Reply(answer.status, await _bounded(answer), dict(answer.headers))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unanswered(f"{method} {path}: {type(error).__name__} {error}".strip()) from error

    async def stream(self, path: str, query: Mapping[str, str], stall: float) -> AsyncIterator[bytes]:
        """Yield the chunks of a long answer; silence of `stall` seconds is taken for a dead connection."""
        session = self._require()
        try:
            async with session.get(
                self._access.server + path, params=query, headers=await self._headers(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=stall), **self._network(),
            ) as answer:  # fmt: skip
                if answer.status != 200:
                    raise StreamRefused(Reply(answer.status, await _bounded(answer), dict(answer.headers)))
                async for chunk in answer.content.iter_any():
                    yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unanswered(f"GET {path}: {type(error).__name__} {error}".strip()) from error

    async def _headers(self) -> dict[str, str]:
        authorization = await self._trusted(self._access.authorization())
        return {"Authorization": authorization} if authorization else {}

    async def _trusted(self, work: Awaitable[T]) -> T:
        """Credentials that cannot be had now are no answer, not the end."""
        try:
            return await work
        except AccessError as error:
            raise Unanswered(str(error)) from error

    def _network(self) -> dict[str, Any]:
        # Asked for each request: connections are kept by context, so that a renewed certificate opens new ones
        # and those in use finish with the old.
        chosen: dict[str, Any] = {"ssl": self._access.ssl()}
        if self._access.tls_server_name:
            chosen["server_hostname"] = self._access.tls_server_name
        if self._access.proxy:
            chosen["proxy"] = self._access.proxy
        return chosen

    def _require(self) -> aiohttp.ClientSession:
        assert self._session is not None, "the client is used inside `async with`"
        return self._session


class StreamRefused(Exception):  # noqa: N818
    """The server answered a watch with an error."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.message)
        self.reply = reply


async def _bounded(answer: aiohttp.ClientResponse) -> bytes:
    body = await answer.content.read(REPLY_MAX) if answer.content_length is None else await answer.read()
    if answer.content_length is None:
        parts = [body]
        size = len(body)
        while not answer.content.at_eof():
            more = await answer.content.readany()
            size += len(more)
            if size > REPLY_MAX:
                raise aiohttp.ClientPayloadError("the reply is too large")
            parts.append(more)
        body = b"".join(parts)
    return body
