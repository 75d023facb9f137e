"""A reflector keeps one kind in step with the server: a paged list, then a watch, again and again.

An end of the stream is not the end of anything; 410 comes as a status and as an event inside a 200; a silent
connection is a dead one. Whatever a fresh list does not hold any more was deleted meanwhile.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from phalanx.kube.client import Client, Reply, StreamRefused, Unanswered
from phalanx.kube.fault import refused, silent
from phalanx.kube.kinds import Kind
from phalanx.kube.log import Log
from phalanx.kube.standing import Standing
from phalanx.kube.start import PAGE

#: The server sends a bookmark about once a minute; twice that without a byte is silence.
STALL = 130.0
#: How often a kind that the cluster does not serve is looked for.
ABSENT_RETRY = 30.0
BACKOFF_MAX = 30.0


class _Meta(msgspec.Struct):
    resourceVersion: str = ""  # noqa: N815 (the wire's name)
    continue_: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct):
    metadata: _Meta
    items: list[msgspec.Raw] | None = None


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Bookmark(msgspec.Struct):
    metadata: _Meta


class _Status(msgspec.Struct):
    code: int = 0
    message: str = ""


_page = msgspec.json.Decoder(_Page)
_line = msgspec.json.Decoder(_Line)
_bookmark = msgspec.json.Decoder(_Bookmark)
_status = msgspec.json.Decoder(_Status)


class Expired(Exception):  # noqa: N818
    """The server no longer knows the version we stand at: list again."""


class Sink(Protocol):
    """Whoever takes what is heard of kinds of objects."""

    def put(self, kind: Kind, raw: msgspec.Raw, *, listed: bool = False, api_version: str | None = None) -> str:
        """Take an object as it is now; return its uid."""

    def gone(self, kind: Kind, raw: msgspec.Raw) -> None:
        """Take a deletion."""

    def replaced(self, kind: Kind, seen: set[str]) -> None:
        """A list is complete: these uids are all that there is."""

    def unsync(self, kind: Kind) -> None:
        """Nothing is known for sure until this kind was listed again."""

    def forget_versions(self, *kinds: Kind) -> None:
        """Read every object of these kinds again at the next list."""

    def heard(self, kind: Kind) -> None:
        """The server spoke."""


class Reflector:
    """Runs for ever; `feed` gets every object and every deletion."""

    def __init__(
        self,
        client: Client,
        kind: Kind,
        feed: Sink,
        log: Log,
        wake: Callable[[], None],
        standing: Standing | None = None,
    ) -> None:
        self.kind = kind
        self._name = kind.title
        #: The kind in the version that is watched, and in those to be tried should the server not serve it.
        self._served, self._untried = kind, _versions(kind)[1:]
        #: The version of the last list.
        self._listed = kind
        self._client = client
        self._feed = feed
        self._standing = standing or Standing(log)
        self._standing.on_back.append(self._hurry)
        self._wake = wake
        self._version: str | None = None
        self._failures = 0
        self._stream: asyncio.Task[None] | None = None
        self._asked = asyncio.Event()
        #: The server has the kind.
        self.served = False

    def relist(self) -> None:
        """Forget where we stand: the next thing is a fresh list."""
        self._version = None
        self._feed.unsync(self.kind)
        self._asked.set()
        if self._stream is not None:
            self._stream.cancel()

    def _hurry(self) -> None:
        """Ask again now if we back off: others are answered."""
        self._asked.set()

    async def run(self) -> None:
        """Keep in step until cancelled."""
        while True:
            try:
                if self._version is None:
                    await self._list()
                self._stream = asyncio.create_task(self._watch())
                try:
                    await self._stream
                except asyncio.CancelledError:
                    # Either `relist` ended the stream, or somebody ends this reflector and the stream with it.
                    task = asyncio.current_task()
                    if task is None or task.cancelling():
                        raise
                self._failures = 0
                # A server that ends every watch at once must not be asked in a hot loop.
                await self._nap(0.05)
            except Expired:
                self._version = None
                self._failures += 1
                await self._pause()
            except StreamRefused as refusal:
                await self._refused(refusal.reply)
            except Unanswered as silence:
                self._failures += 1
                self._standing.bad(self._name, silent(silence))
                await self._pause()

    async def fetch(self) -> None:
        """List once and watch nothing; a kind that the cluster need not have may be absent."""
        try:
            await self._list()
        except StreamRefused as refusal:
            if not self._absent(refusal.reply):
                raise
            if self._try_another():
                await self.fetch()
            else:
                self._feed.replaced(self.kind, set())

    def _absent(self, reply: Reply) -> bool:
        return reply.status == 404 and self.kind.optional

    def _serves(self) -> None:
        """The version is served. Objects read in another one are read again: writes must go to this one."""
        if self._served is not self._listed:
            self._feed.forget_versions(self.kind)
        self.served = True
        self._listed = self._served
        self._untried = [kind for kind in _versions(self.kind) if kind is not self._served]

    def _try_another(self) -> bool:
        """Turn to a version that was not asked for yet; False: the server has none, and the next is the newest."""
        found = bool(self._untried)
        self._served, *self._untried = self._untried or _versions(self.kind)
        return found

    async def _refused(self, reply: Reply) -> None:
        if reply.status == 410:
            self._version = None
            return
        if self._absent(reply):
            self._version = None
            if self._try_another():
                return
            self.served = False
            self._feed.replaced(self.kind, set())
            self._standing.good(self._name)
            self._wake()
            await self._nap(ABSENT_RETRY)
            return
        self._failures += 1
        self._version = None
        self._standing.bad(self._name, refused(reply))
        await (self._nap(reply.retry_after) if reply.status == 429 else self._pause())

    async def _pause(self) -> None:
        """Back off with jitter, so that many watchers do not come back at once."""
        limit = min(0.1 * 2**self._failures, BACKOFF_MAX)
        await self._nap(limit * (0.5 + random.random() / 2))  # noqa: S311 (spread, not secrecy)

    async def _nap(self, seconds: float) -> None:
        """Sleep, unless somebody asks for a fresh list: a new leader waits for it."""
        self._asked.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._asked.wait()

    async def _list(self) -> None:
        seen: set[str] = set()
        page_of = PAGE | ({"labelSelector": self.kind.selector} if self.kind.selector else {})
        query = page_of
        while True:
            reply = await self._client.request("GET", self._served.path, query=query)
            if not reply.ok:
                raise StreamRefused(reply)
            self._serves()
            page = _page.decode(reply.body)
            if page.metadata.continue_:
                # The server is at the next page while we are at this one.
                query = {**page_of, "continue": page.metadata.continue_}
                self._client.ahead(self._served.path, query)
            for raw in page.items or ():
                seen.add(self._feed.put(self.kind, raw, listed=True, api_version=self._served.api_version))
            if not page.metadata.continue_:
                break
            # Decoding a page is a millisecond or more of work: let decisions and binds run in between.
            await asyncio.sleep(0)
        self._feed.replaced(self.kind, seen)
        self._version = page.metadata.resourceVersion
        self._standing.good(self._name)
        self._wake()

    async def _watch(self) -> None:
        assert self._version is not None
        query = {
            "watch": "1", "allowWatchBookmarks": "true", "resourceVersion": self._version,
            "timeoutSeconds": str(random.randint(300, 600)),  # noqa: S311
            **({"labelSelector": self.kind.selector} if self.kind.selector else {}),
        }  # fmt: skip
        rest = b""
        async for chunk in self._client.stream(self._served.path, query, STALL, self._answered):
            rest += chunk
            *lines, rest = rest.split(b"\n")
            for line in _whole(lines):
                self._take(line)
            if lines:
                self._failures = 0
                self._feed.heard(self.kind)
                self._wake()

    def _answered(self) -> None:
        """The watch was taken; the next word may be a bookmark in a minute."""
        self._standing.good(self._name)
        self._feed.heard(self.kind)

    def _take(self, line: bytes) -> None:
        """Take one event of the stream."""
        event = _line.decode(line)
        match event.type:
            case "ADDED" | "MODIFIED":
                self._feed.put(self.kind, event.object, api_version=self._served.api_version)
            case "DELETED":
                self._feed.gone(self.kind, event.object)
            case "ERROR":
                status = _status.decode(event.object)
                if status.code == 410:
                    raise Expired
                raise Unanswered(f"watch of {self.kind.kind}: {status.code} {status.message}")
        self._version = _bookmark.decode(event.object).metadata.resourceVersion or self._version


def _versions(kind: Kind) -> list[Kind]:
    """Return a kind in every version, newest first."""
    return [kind, *(_versions(kind.older) if kind.older else ())]


def _whole(lines: list[bytes]) -> Iterator[bytes]:
    return (line for line in lines if line.strip())
