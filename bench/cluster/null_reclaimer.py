"""The limit of a reclaim: evict half of those who run, bind as many of those who wait, and decide nothing.

With `--places` each place is first written on the pod that will take it, as whoever must survive his own death does.
"""

import asyncio
import sys

import msgspec
import uvloop

from phalanx.kube.client import MERGE_PATCH, Client
from phalanx.kube.credentials import load_access

IN_FLIGHT = 48


async def main(kubeconfig: str, *, places: bool) -> None:
    """Evict and bind one after the other, many at a time, then wait to be ended."""
    async with Client(load_access(kubeconfig, None)) as client:
        items = (await client.request("GET", "/api/v1/namespaces/default/pods", timeout=60.0)).json()["items"]
        there = [pod for pod in items if "nodeName" in pod["spec"]]
        waiting = [pod for pod in items if "nodeName" not in pod["spec"]]
        pairs = zip(there[: len(there) // 2], waiting, strict=False)

        async def post(pod: dict[str, dict[str, str]], what: str, body: dict[str, object]) -> None:
            meta = pod["metadata"]
            path = f"/api/v1/namespaces/default/pods/{meta['name']}/{what}"
            named = body | {"metadata": {"name": meta["name"], "namespace": "default"}}
            reply = await client.request("POST", path, body=msgspec.json.encode(named), timeout=60.0)
            assert reply.ok, reply.message

        async def announce(pod: dict[str, dict[str, str]], node: str) -> None:
            path = f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}/status"
            body = msgspec.json.encode({"status": {"nominatedNodeName": node}})
            reply = await client.request("PATCH", path, body=body, content_type=MERGE_PATCH, timeout=60.0)
            assert reply.ok, reply.message

        async def work() -> None:
            for victim, pod in pairs:
                if places:
                    await announce(pod, victim["spec"]["nodeName"])
                uid = {"preconditions": {"uid": victim["metadata"]["uid"]}}
                await post(victim, "eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "deleteOptions": uid})
                target = {"apiVersion": "v1", "kind": "Node", "name": victim["spec"]["nodeName"]}
                await post(pod, "binding", {"apiVersion": "v1", "kind": "Binding", "target": target})

        async with asyncio.TaskGroup() as group:
            for _ in range(IN_FLIGHT):
                group.create_task(work())
        await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], places="--places" in sys.argv[2:]))
