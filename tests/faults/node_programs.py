"""Programs on nodes that give out parts of GPUs, as strict as HAMi's, Volcano's and Koordinator's, and no more helpful.

HAMi's device plugin serves the pod that the lock of the node names; Volcano's the one pod there that is `allocating`;
Koordinator's agent reads its annotation when containers start. What they were told is written down.
"""

import asyncio
import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from phalanx.kube.client import MERGE_PATCH, Client, Unanswered
from phalanx.testing.objects import Manifest, client_of
from tests.faults.background import beside

LOCK = "hami.io/mutex.lock"
#: By annotation of the phase: what is to be given, and for which node.
_PLUGINS = {
    "hami.io/bind-phase": ("hami.io/vgpu-devices-to-allocate", "hami.io/vgpu-node"),
    "volcano.sh/bind-phase": ("volcano.sh/devices-to-allocate", "volcano.sh/vgpu-node"),
}
_KOORDINATOR = "scheduling.koordinator.sh/device-allocated"


@dataclass(slots=True)
class NodePrograms:
    """Serves all nodes for as long as a `with` block lasts."""

    kubeconfig: Path
    #: By pod: its GPUs, as id or number, MiB and percent of cores.
    given: dict[str, list[tuple[str, int, int]]] = field(default_factory=dict[str, list[tuple[str, int, int]]])
    #: What no real program would have forgiven.
    complaints: list[str] = field(default_factory=list[str])
    #: They do nothing while this is set.
    asleep: bool = False
    _undo: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        self._undo.enter_context(beside(self._run))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    async def _run(self, ready: Callable[[], None]) -> None:
        async with client_of(self.kubeconfig) as client:
            ready()
            while True:
                try:
                    if not self.asleep:
                        await self._look(client)
                except Unanswered:
                    pass
                await asyncio.sleep(0.05)

    async def _look(self, client: Client) -> None:
        pods = (await client.request("GET", "/api/v1/pods", query={"fieldSelector": "spec.nodeName!="})).json()["items"]
        # After the pods: the lock was there before the bind.
        nodes = (await client.request("GET", "/api/v1/nodes")).json()["items"]
        for node in nodes:
            name, said = node["metadata"]["name"], node["metadata"].get("annotations") or {}
            mine = [pod for pod in pods if pod["spec"]["nodeName"] == name]
            for phase, (todo, where) in _PLUGINS.items():
                waiting = [pod for pod in mine if _said(pod).get(phase) == "allocating"]
                if len(waiting) > 1:
                    self.complaints.append(f"{[pod['metadata']['name'] for pod in waiting]} wait at once on {name}")
                for pod in waiting[:1]:
                    await self._give(client, pod, phase, todo, where, said)
            for pod in mine:
                text = _said(pod).get(_KOORDINATOR)
                if text and pod["status"].get("phase") == "Pending":
                    self._agent(pod["metadata"]["name"], text)
                    await self._runs(client, pod, {})

    async def _give(
        self, client: Client, pod: Manifest, phase: str, todo: str, where: str, node: dict[str, str]
    ) -> None:
        meta, said = pod["metadata"], _said(pod)
        owner = f"{meta['namespace']},{meta['name']}"
        if phase.startswith("hami") and node.get(LOCK, "").partition(",")[2] != owner:
            self.complaints.append(f"{meta['name']} is allocating and the lock says {node.get(LOCK)}")
            return
        if said[where] != pod["spec"]["nodeName"]:
            self.complaints.append(f"{meta['name']} was told {said[where]}")
        containers = [one for one in said[todo].split(";") if one]
        self.given[meta["name"]] = [
            (id_, int(memory), int(cores))
            for one in containers
            for id_, vendor, memory, cores in (entry.split(",") for entry in one.split(":") if entry)
            if vendor == "NVIDIA"
        ]
        await self._runs(client, pod, {phase: "success", todo: ";" * len(containers)})
        if LOCK in node:
            await self._patch(client, f"/api/v1/nodes/{pod['spec']['nodeName']}", {LOCK: None})

    def _agent(self, name: str, text: str) -> None:
        self.given[name] = [
            (
                str(one["minor"]),
                int(one["resources"]["koordinator.sh/gpu-memory"].removesuffix("Mi")),
                int(one["resources"].get("koordinator.sh/gpu-core", 0)),
            )
            for one in json.loads(text)["gpu"]
        ]

    async def _runs(self, client: Client, pod: Manifest, annotations: dict[str, Any]) -> None:
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
        await self._patch(client, path, annotations)
        body = msgspec.json.encode({"status": {"phase": "Running"}})
        await client.request("PATCH", f"{path}/status", body=body, content_type=MERGE_PATCH)

    async def _patch(self, client: Client, path: str, annotations: dict[str, Any]) -> None:
        body = msgspec.json.encode({"metadata": {"annotations": annotations}})
        await client.request("PATCH", path, body=body, content_type=MERGE_PATCH)

    def sums(self) -> dict[str, tuple[int, int]]:
        """Return MiB and percent that were given of each GPU."""
        found: dict[str, tuple[int, int]] = {}
        for parts in self.given.values():
            for id_, memory, cores in parts:
                before = found.get(id_, (0, 0))
                found[id_] = (before[0] + memory, before[1] + cores)
        return found


def _said(pod: Manifest) -> dict[str, str]:
    return pod["metadata"].get("annotations") or {}
