"""A kubelet for all pretend nodes that is as strict as the real one: what does not fit is turned away.

Pods are looked at in the order in which they arrive on their node. One that fits runs at once; one that does not
fails with OutOfcpu, OutOfnvidia.com/gpu…, as the real kubelet does when two schedulers gave away the same room.
It picks the GPUs of each pod, and lets pods that keep shared GPUs say which one they have, as `phalanx reserve` does.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec

from phalanx.kube.client import MERGE_PATCH, Client, StreamRefused, Unanswered
from phalanx.kube.clock import Clock, stamp
from phalanx.kube.reserving.pods import LABEL
from phalanx.model import quantity
from phalanx.model.axis import GPU
from phalanx.model.sharing import WHOLE
from phalanx.testing.objects import client_of
from tests.faults.background import beside
from tests.faults.verdict import requests

_PATH = "/api/v1/pods"
_BOUND = {"fieldSelector": "spec.nodeName!="}
_WORKERS = 8
_TERMINAL = {"Succeeded", "Failed"}


class TurnedAway(NamedTuple):
    """A pod that found its room taken."""

    pod: str
    scheduler: str
    node: str
    reason: str


@dataclass(slots=True)
class Books:
    """Who was let in on which node, and what that uses."""

    allocatable: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    inside: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict[str, dict[str, dict[str, int]]])
    #: By node and pod: the numbers of the GPUs that it has.
    gpus: dict[str, dict[str, list[int]]] = field(default_factory=dict[str, dict[str, list[int]]])

    def admit(self, node: str, uid: str, requests: Mapping[str, int]) -> str | None:
        """Let a pod in, or return the resource that there is too little of."""
        pods = self.inside.setdefault(node, {})
        for name, amount in requests.items():
            used = sum(pod.get(name, 0) for pod in pods.values())
            if amount and used + amount > self.allocatable.get(node, {}).get(name, 0):
                return name
        pods[uid] = dict(requests)
        given = self.gpus.setdefault(node, {})
        taken = {number for numbers in given.values() for number in numbers}
        free = (number for number in range(1000) if number not in taken)
        given[uid] = list(islice(free, requests.get(GPU, 0) // WHOLE))
        return None

    def leave(self, node: str, uid: str) -> None:
        """A pod has ended or is gone."""
        self.inside.get(node, {}).pop(uid, None)
        self.gpus.get(node, {}).pop(uid, None)

    def ids(self, node: str, uid: str) -> list[str]:
        """Return the ids of the GPUs that a pod has."""
        return [f"GPU-{node}-{number}" for number in self.gpus.get(node, {}).get(uid, ())]


class StrictKubelet:
    """Runs what is bound, for as long as a `with` block lasts."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig
        self._books = Books()
        self._judged: set[str] = set()
        self._writes: deque[tuple[str, str, bytes]] = deque()
        self._there = asyncio.Event()
        self._undo = ExitStack()
        self.turned_away: list[TurnedAway] = []

    def __enter__(self) -> Self:
        self._undo.enter_context(beside(self._run))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    async def _run(self, ready: Callable[[], None]) -> None:
        async with client_of(self._kubeconfig) as client, asyncio.TaskGroup() as group:
            for _ in range(_WORKERS):
                group.create_task(self._write(client))
            await self._read_nodes(client)
            while True:
                try:
                    version = await self._list(client)
                    ready()
                    await self._watch(client, version)
                except (Unanswered, StreamRefused):
                    await asyncio.sleep(0.2)

    async def _read_nodes(self, client: Client) -> None:
        """Nodes are there before their kubelet, and do not change."""
        reply = await client.request("GET", "/api/v1/nodes", timeout=60.0)
        for node in reply.json()["items"]:
            amounts = node["status"]["allocatable"]
            self._books.allocatable[node["metadata"]["name"]] = {
                name: quantity.capacity(amount, name) for name, amount in amounts.items()
            }

    async def _list(self, client: Client) -> str:
        reply = await client.request("GET", _PATH, query=_BOUND, timeout=60.0)
        if not reply.ok:
            raise StreamRefused(reply)
        page = reply.json()
        for pod in sorted(page["items"], key=lambda pod: int(pod["metadata"]["resourceVersion"])):
            self._see(pod)
        return str(page["metadata"]["resourceVersion"])

    async def _watch(self, client: Client, version: str) -> None:
        rest = b""
        query = _BOUND | {"watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true"}
        async for chunk in client.stream(_PATH, query, 120.0):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                event = msgspec.json.decode(line)
                if event["type"] == "ERROR":
                    return
                if event["type"] == "DELETED":
                    pod = event["object"]
                    self._books.leave(pod["spec"]["nodeName"], pod["metadata"]["uid"])
                elif event["type"] != "BOOKMARK":
                    self._see(event["object"])

    def _see(self, pod: dict[str, Any]) -> None:
        meta, node = pod["metadata"], pod["spec"]["nodeName"]
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        if pod["status"].get("phase") in _TERMINAL:
            self._books.leave(node, meta["uid"])
        elif meta["uid"] not in self._judged and "deletionTimestamp" not in meta:
            self._judged.add(meta["uid"])
            self._judge(path, pod, node)
        if "deletionTimestamp" in meta:
            precondition = {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}}
            self._submit("DELETE", path, precondition)

    def _judge(self, path: str, pod: dict[str, Any], node: str) -> None:
        meta = pod["metadata"]
        short = self._books.admit(node, meta["uid"], requests(pod))
        now = stamp(Clock().now())
        if short is None:
            ready = {"type": "Ready", "status": "True", "lastTransitionTime": now}
            status = {"phase": "Running", "startTime": now, "conditions": [ready]}
            if LABEL in (meta.get("labels") or {}):
                said = {"ids": self._books.ids(node, meta["uid"]), "why": "a pretend kubelet"}
                status["initContainerStatuses"] = [_ended(msgspec.json.encode(said).decode(), now)]
        else:
            self.turned_away.append(TurnedAway(meta["name"], pod["spec"]["schedulerName"], node, f"OutOf{short}"))
            status = {
                "phase": "Failed", "reason": f"OutOf{short}", "startTime": now,
                "message": f"Pod was rejected: Node didn't have enough resource: {short}",
            }  # fmt: skip
        self._submit("PATCH", f"{path}/status", {"metadata": {"uid": meta["uid"]}, "status": status})

    def hide(self, node: str, gpus: int) -> None:
        """Let so many GPUs of a node be in use of which the API server does not know; 0: none any more."""
        self._books.leave(node, "hidden")
        assert self._books.admit(node, "hidden", {GPU: gpus * WHOLE}) is None

    def ids(self, pod: dict[str, Any]) -> list[str]:
        """Return the ids of the GPUs that a pod has, as the device plugin would tell its containers."""
        return self._books.ids(pod["spec"]["nodeName"], pod["metadata"]["uid"])

    def _submit(self, method: str, path: str, body: dict[str, Any]) -> None:
        self._writes.append((method, path, msgspec.json.encode(body)))
        self._there.set()

    async def _write(self, client: Client) -> None:
        while True:
            if not self._writes:
                self._there.clear()
                await self._there.wait()
                continue
            method, path, body = self._writes.popleft()
            kind = MERGE_PATCH if method == "PATCH" else "application/json"
            try:
                reply = await client.request(method, path, body=body, content_type=kind)
                late = reply.status == 429 or reply.status >= 500
            except Unanswered:
                late = True
            if late:
                await asyncio.sleep(0.2)
                self._submit(method, path, msgspec.json.decode(body))


def _ended(message: str, now: str) -> dict[str, Any]:
    """Return the status of the first container of a pod that keeps a GPU, with its last words."""
    ended = {"exitCode": 0, "reason": "Completed", "message": message, "startedAt": now, "finishedAt": now}
    named = {"name": "find", "image": "phalanx", "imageID": "phalanx"}
    return named | {"ready": True, "restartCount": 0, "state": {"terminated": ended}}
