"""Make, read and remove many objects of a real API server quickly: tests and benchmarks start from full clusters."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from phalanx.kube.client import Client, Reply
from phalanx.kube.credentials import load_access
from phalanx.model.keys import GANG, MINIMUM

Manifest = dict[str, Any]

#: More than this in flight makes a small server slower, not faster.
IN_FLIGHT = 32
_TRIES = 10


def pod_manifest(
    name: str,
    *,
    namespace: str = "default",
    requests: dict[str, str] | None = None,
    scheduler: str = "phalanx",
    gang: str | None = None,
    minimum: int = 1,
    node: str | None = None,
    **spec: Any,
) -> Manifest:
    """Return a pod of one container, one GPU unless told otherwise, that is gone as soon as it is deleted."""
    asked = requests or {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}
    # Kubernetes takes a limit for the request as well, and wants both alike for what is not cpu or memory.
    container = {"name": "main", "image": "train", "resources": {"limits": asked}}
    annotations = {GANG: gang, MINIMUM: str(minimum)} if gang is not None else {}
    place = {"nodeName": node} if node is not None else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
        "spec": {
            "schedulerName": scheduler,
            "terminationGracePeriodSeconds": 0,
            "containers": [container],
            **place,
            **spec,
        },
    }


def gang_manifests(name: str, size: int, **options: Any) -> list[Manifest]:
    """Return the pods of a native gang that starts whole."""
    return [pod_manifest(f"{name}-{number}", gang=name, minimum=size, **options) for number in range(size)]


def create_all(
    kubeconfig: Path, objects: Iterable[Manifest], done: Callable[[int], None] | None = None, in_flight: int = IN_FLIGHT
) -> None:
    """Create the objects, about in this order; `done` hears of the progress."""
    with_client(kubeconfig, lambda client: create(client, list(objects), done, in_flight))


def delete_all(kubeconfig: Path, objects: Iterable[Manifest]) -> None:
    """Delete objects now, whatever grace they would like; one that is gone already is fine."""
    bodies = [(f"{path_of(item)}/{item['metadata']['name']}", b'{"gracePeriodSeconds":0}') for item in objects]
    with_client(kubeconfig, lambda client: _all(client, "DELETE", bodies, None, IN_FLIGHT))


def list_all(kubeconfig: Path, path: str) -> list[Manifest]:
    """Return all objects under a path such as /api/v1/pods, as the server has them now."""
    found: list[Manifest] = []

    async def read(client: Client) -> None:
        query = {"limit": "2000"}
        while True:
            page = _checked(await client.request("GET", path, query=query, timeout=60.0)).json()
            # The items of a list do not say what they are; the list does.
            head = {"apiVersion": page["apiVersion"], "kind": page["kind"].removesuffix("List")}
            found.extend(head | item for item in page["items"])
            following = page["metadata"].get("continue")
            if not following:
                return
            query = {"limit": "2000", "continue": following}

    with_client(kubeconfig, read)
    return found


async def create(
    client: Client, objects: Sequence[Manifest], done: Callable[[int], None] | None = None, in_flight: int = IN_FLIGHT
) -> None:
    """Create the objects with many requests in flight."""
    await _all(client, "POST", [(path_of(item), msgspec.json.encode(item)) for item in objects], done, in_flight)


def path_of(item: Manifest) -> str:
    """Return where objects of this kind are created."""
    version = item["apiVersion"]
    root = f"/api/{version}" if "/" not in version else f"/apis/{version}"
    namespace = item["metadata"].get("namespace")
    kind = item["kind"].lower()
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else kind + ("es" if kind.endswith("s") else "s")
    return f"{root}/namespaces/{namespace}/{plural}" if namespace else f"{root}/{plural}"


@asynccontextmanager
async def client_of(kubeconfig: Path) -> AsyncIterator[Client]:
    """Yield a client with the user of a kubeconfig."""
    async with Client(load_access(str(kubeconfig), None)) as client:
        yield client


def with_client(kubeconfig: Path, work: Callable[[Client], Awaitable[None]]) -> None:
    """Do some work with a client of its own."""

    async def run() -> None:
        async with client_of(kubeconfig) as client:
            await work(client)

    asyncio.run(run())


async def _all(
    client: Client,
    method: str,
    requests: Sequence[tuple[str, bytes]],
    done: Callable[[int], None] | None,
    in_flight: int,
) -> None:
    waiting = iter(requests)

    async def work() -> None:
        for path, body in waiting:
            await _once(client, method, path, body)
            if done is not None:
                done(1)

    async with asyncio.TaskGroup() as group:
        for _ in range(in_flight):
            group.create_task(work())


async def _once(client: Client, method: str, path: str, body: bytes) -> None:
    """Ask until the server has time for us. What is there already, or gone already, is as wanted."""
    fine = {"POST": 409, "DELETE": 404}[method]
    for _ in range(_TRIES):
        reply = await client.request(method, path, body=body, timeout=60.0)
        if reply.status != 429:
            break
        await asyncio.sleep(reply.retry_after)
    if reply.status != fine:
        _checked(reply)


def _checked(reply: Reply) -> Reply:
    if not reply.ok:
        raise RuntimeError(f"the API server refused: {reply.message}")
    return reply
