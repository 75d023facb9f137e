"""Of the versions of a kind the newest that the server has is watched, and another one when that goes."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, cast

import pytest

from phalanx.kube.client import Client, Reply, StreamRefused
from phalanx.kube.feed import Feed
from phalanx.kube.kinds import watched_kind
from phalanx.kube.log import Log
from phalanx.kube.reflector import Reflector
from phalanx.model.reference import Reference
from phalanx.world.world import World

GROUP = "scheduling.k8s.io"
POD_GROUPS = watched_kind(GROUP, "PodGroup")
TRAIN = Reference("PodGroup", "ml/train")
OBJECT: dict[str, Any] = {
    "metadata": {"name": "train", "namespace": "ml", "uid": "g-1", "resourceVersion": "5"},
    "spec": {"schedulingPolicy": {"gang": {"minCount": 4}}},
}


@dataclass
class Server:
    """Serves one PodGroup in some versions; every watch ends when the versions change."""

    versions: set[str]
    asked: list[str] = field(default_factory=list[str])
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    #: Something was taken in.
    read: asyncio.Event = field(default_factory=asyncio.Event)

    def _version(self, path: str) -> str:
        version = path.split("/")[3]
        assert path == f"/apis/{GROUP}/{version}/podgroups"
        self.asked.append(version)
        return version

    async def request(self, _method: str, path: str, **_more: object) -> Reply:
        if self._version(path) not in self.versions:
            return Reply(404, b"{}", {})
        return Reply(200, json.dumps({"metadata": {"resourceVersion": "9"}, "items": [OBJECT]}).encode(), {})

    async def stream(self, path: str, *_more: object) -> AsyncIterator[bytes]:
        if self._version(path) not in self.versions:
            raise StreamRefused(Reply(404, b"{}", {}))
        await self.changed.wait()
        self.changed.clear()
        yield b""

    def upgrade(self, *versions: str) -> None:
        self.versions = set(versions)
        self.changed.set()


def reflector(server: Server) -> tuple[World, Feed, Reflector]:
    world = World()
    feed = Feed(world, ["phalanx"], (POD_GROUPS,))
    log = Log("text", StringIO())
    return world, feed, Reflector(cast("Client", server), POD_GROUPS, feed, log, server.read.set)


@pytest.mark.parametrize(
    ("served", "asked", "found"),
    [
        ({"v1beta1", "v1alpha3", "v1alpha2"}, ["v1beta1"], "v1beta1"),
        ({"v1alpha3"}, ["v1beta1", "v1alpha3"], "v1alpha3"),
        ({"v1alpha2"}, ["v1beta1", "v1alpha3", "v1alpha2"], "v1alpha2"),
        (set(), ["v1beta1", "v1alpha3", "v1alpha2"], None),
    ],
)
def test_the_newest_version_that_is_served_is_read(served: set[str], asked: list[str], found: str | None) -> None:
    server = Server(served)
    world, feed, reader = reflector(server)
    asyncio.run(reader.fetch())
    assert server.asked == asked
    assert feed.ready
    assert {seen.api_version for seen in world.groups.values()} == ({f"{GROUP}/{found}"} if found else set())


async def _until(version: str, world: World, server: Server) -> None:
    async with asyncio.timeout(10):
        while TRAIN not in world.groups or world.groups[TRAIN].api_version != f"{GROUP}/{version}":
            await server.read.wait()
            server.read.clear()


def test_when_a_version_goes_the_next_one_is_watched_and_nothing_is_taken_for_deleted() -> None:
    async def story() -> None:
        server = Server({"v1alpha2"})
        world, feed, reader = reflector(server)
        task = asyncio.create_task(reader.run())
        await _until("v1alpha2", world, server)
        server.upgrade("v1beta1", "v1alpha3")
        await _until("v1beta1", world, server)
        assert feed.missed == 0
        server.upgrade("v1alpha3")
        await _until("v1alpha3", world, server)
        assert feed.missed == 0
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(story())
