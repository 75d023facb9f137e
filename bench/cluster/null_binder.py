"""The limit: bind every waiting pod, eight to a node in order, without deciding anything.

Started as a process like any scheduler: what it needs to start, list and send is part of the limit. With `watch` it
hears of every change of a pod too, and drops what it hears.
"""

import asyncio
import sys
from itertools import chain, repeat

import msgspec
import uvloop

from phalanx.kube.client import Client
from phalanx.kube.credentials import load_access

IN_FLIGHT = 48
_PER_NODE = 8


class _Meta(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""  # noqa: N815 (the wire's name)
    continue_: str = msgspec.field(default="", name="continue")


class _Item(msgspec.Struct):
    metadata: _Meta


class _Page(msgspec.Struct):
    metadata: _Meta
    items: list[_Item] = []


_page = msgspec.json.Decoder(_Page)


async def _names(client: Client, path: str) -> list[_Meta]:
    found: list[_Meta] = []
    query = {"limit": "1000"}
    while True:
        page = _page.decode((await client.request("GET", path, query=query)).body)
        found += [item.metadata for item in page.items]
        if not page.metadata.continue_:
            return found
        query["continue"] = page.metadata.continue_


async def _hear(client: Client, version: str) -> None:
    async for _ in client.stream("/api/v1/pods", {"watch": "1", "resourceVersion": version}, stall=130.0):
        pass


async def main(kubeconfig: str, *wishes: str) -> None:
    """Bind all, then wait to be ended."""
    async with Client(load_access(kubeconfig, None)) as client:
        pods, nodes = await asyncio.gather(_names(client, "/api/v1/pods"), _names(client, "/api/v1/nodes"))
        places = chain.from_iterable(repeat(node.name, _PER_NODE) for node in nodes)
        waiting = zip(pods, places, strict=False)

        async def work() -> None:
            for pod, node in waiting:
                body = {
                    "apiVersion": "v1", "kind": "Binding",
                    "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
                    "target": {"apiVersion": "v1", "kind": "Node", "name": node},
                }  # fmt: skip
                path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/binding"
                reply = await client.request("POST", path, body=msgspec.json.encode(body))
                assert reply.ok, reply.message

        async with asyncio.TaskGroup() as group:
            if "watch" in wishes:
                newest = max((pod.resourceVersion for pod in pods), key=int)
                group.create_task(_hear(client, newest))
            for _ in range(IN_FLIGHT):
                group.create_task(work())
        await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
