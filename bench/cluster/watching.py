"""See pods get their node, as anybody could: one watch of what is bound, names only, the same for every contender."""

import asyncio
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import aiohttp
import msgspec

from phalanx.kube.credentials import load_access
from tests.faults.background import beside

_BOUND = {"fieldSelector": "spec.nodeName!="}
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


class BoundPods:
    """When each pod was seen bound, for as long as a `with` block lasts."""

    def __init__(self, kubeconfig: Path) -> None:
        self._access = load_access(str(kubeconfig), None)
        self._undo = ExitStack()
        #: Monotonic seconds by pod name.
        self.at: dict[str, float] = {}

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
            url = f"{self._access.server}/api/v1/pods"
            async with session.get(url, params=_BOUND | {"limit": "1"}) as answer:
                answer.raise_for_status()
                version = _list.decode(await answer.read()).metadata.resourceVersion
            while True:
                query = _BOUND | {"watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true"}
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
                if event.type == "ADDED" and not event.object.metadata.name.startswith(PLACEHOLDER):
                    self.at.setdefault(event.object.metadata.name, now)
        return version
