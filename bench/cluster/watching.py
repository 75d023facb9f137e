"""See pods get their node, or be told why not, as anybody could: one watch, names only, for all contenders alike."""

import asyncio
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

import aiohttp
import msgspec

from phalanx.kube.credentials import load_access
from tests.faults.background import beside

#: The server sends names alone: the watch must not cost what it measures.
_NAMES = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}


#: YuniKorn keeps places with pods of its own, which nobody waits for.
PLACEHOLDER = "tg-"


class _Meta(msgspec.Struct):
    name: str = ""
    resourceVersion: str = ""  # noqa: N815 (the wire's name)


class _Object(msgspec.Struct):
    metadata: _Meta


class _Line(msgspec.Struct):
    type: str
    object: _Object


_line = msgspec.json.Decoder(_Line)
_list = msgspec.json.Decoder(_Object)


class _Watched:
    """One watch, for as long as a `with` block lasts."""

    path = ""
    query: ClassVar[dict[str, str]] = {}

    def __init__(self, kubeconfig: Path) -> None:
        self._access = load_access(str(kubeconfig), None)
        self._undo = ExitStack()
        #: When each was first seen: monotonic seconds by name.
        self.at: dict[str, float] = {}
        #: Of every line of the watch.
        self.times: list[float] = []

    def __enter__(self) -> Self:
        self._undo.enter_context(beside(self._run))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    async def _run(self, ready: Callable[[], None]) -> None:
        connector = aiohttp.TCPConnector(ssl=self._access.ssl())
        patience = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(connector=connector, timeout=patience) as session:
            url = f"{self._access.server}{self.path}"
            async with session.get(url, params=self.query | {"limit": "1"}) as answer:
                answer.raise_for_status()
                version = _list.decode(await answer.read()).metadata.resourceVersion
            while True:
                query = self.query | {"watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true"}
                async with session.get(url, params=query, headers=_NAMES) as answer:
                    answer.raise_for_status()
                    ready()
                    version = await self._hear(answer, version)
                await asyncio.sleep(0.05)

    async def _hear(self, answer: aiohttp.ClientResponse, version: str) -> str:
        rest = b""
        async for chunk in answer.content.iter_any():
            now = time.monotonic()
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                event = _line.decode(line)
                version = event.object.metadata.resourceVersion or version
                if event.type != "BOOKMARK":
                    self.times.append(now)
                if event.type == "ADDED" and not event.object.metadata.name.startswith(PLACEHOLDER):
                    self.at.setdefault(event.object.metadata.name, now)
        return version


class BoundPods(_Watched):
    """When each pod was seen bound."""

    path = "/api/v1/pods"
    query: ClassVar = {"fieldSelector": "spec.nodeName!="}


class WrittenEvents(_Watched):
    """When each event was seen, and when any was written."""

    path = "/apis/events.k8s.io/v1/events"
