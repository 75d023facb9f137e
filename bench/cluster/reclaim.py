"""A reclaim: one queue has all GPUs, another one of the same quota waits; time until the second has its half.

Pods are gone as soon as they are deleted, and nobody makes them again: what is measured is who decides and who evicts.
"""

import asyncio
import json
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.cluster.backlog import STUCK, fill
from bench.cluster.contenders import GANG
from bench.cluster.kernel import cpu_seconds, peak_memory
from bench.cluster.reclaimers import Reclaimer
from bench.cluster.running import running
from bench.cluster.watching import BoundPods
from phalanx.kube.client import MERGE_PATCH, Client
from phalanx.kube.local import ControlPlane
from phalanx.kube.local.processes import Processes
from phalanx.testing.objects import IN_FLIGHT, client_of, list_all

_RUNS = json.dumps({"status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}}).encode()


@dataclass(frozen=True, slots=True)
class Reclaimed:
    """What one contender did."""

    name: str
    nodes: int
    #: Pods of the waiting queue that got a node, and pods of the other that are gone.
    bound: int
    evicted: int
    first: float
    last: float
    cpu: float
    peak: int

    @property
    def enough(self) -> bool:
        """Tell whether each queue has its half, and nobody left who need not."""
        return self.bound == self.evicted == self.nodes * GANG // 2


def measure_reclaim(contender: Reclaimer, nodes: int) -> Reclaimed:
    """Measure one contender on a control plane of its own."""
    pods, half = nodes * GANG, nodes * GANG // 2
    with ControlPlane(controller_manager=False) as plane, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        contender.prepare(plane, folder, half)
        there = [contender.job(f"a-{n:05}", "a", f"node-{n // GANG:05}") for n in range(pods)]
        waiting = [contender.job(f"b-{n:05}", "b", None) for n in range(pods)]
        objects = [item for job in (*there, *waiting) for item in job]
        fill(plane, nodes, objects, f"{contender.name}, reclaim on {nodes} nodes: creating")
        _run(plane, [f"a-{n:05}" for n in range(pods)])
        with BoundPods(plane.kubeconfig) as seen:
            started = time.monotonic()
            with running(contender.commands(plane, folder)) as processes:
                last = _wait(seen, processes, half)
                # Whoever takes too much does so now.
                time.sleep(5.0)
                pids = list(processes.pids.values())
                cpu, peak = sum(map(cpu_seconds, pids)), sum(map(peak_memory, pids))
        times = [at for pod, at in seen.at.items() if pod.startswith("b-")]
        left = [pod["metadata"]["name"] for pod in list_all(plane.kubeconfig, "/api/v1/namespaces/default/pods")]
        evicted = pods - sum(pod.startswith("a-") for pod in left)
    first = min(times) - started if times else 0.0
    return Reclaimed(contender.name, nodes, len(times), evicted, first, last - started, cpu, peak)


def _wait(seen: BoundPods, processes: Processes, half: int) -> float:
    """Return when the waiting queue had its half, or the last pod that it ever gets."""
    moved, count = time.monotonic(), 0
    while count < half and time.monotonic() - moved < STUCK:
        time.sleep(0.02)
        processes.check()
        now = sum(pod.startswith("b-") for pod in list(seen.at))
        if now != count:
            count, moved = now, time.monotonic()
    return max((at for pod, at in seen.at.items() if pod.startswith("b-")), default=moved)


def _run(plane: ControlPlane, names: Iterable[str]) -> None:
    """Say of pods that they run: some schedulers evict nobody else."""

    async def work(client: Client, left: "Iterable[str]") -> None:
        for name in left:
            path = f"/api/v1/namespaces/default/pods/{name}/status"
            reply = await client.request("PATCH", path, body=_RUNS, content_type=MERGE_PATCH, timeout=60.0)
            assert reply.ok, reply.message

    async def every() -> None:
        left = iter(list(names))
        async with client_of(plane.kubeconfig) as client, asyncio.TaskGroup() as group:
            for _ in range(IN_FLIGHT):
                group.create_task(work(client, left))

    asyncio.run(every())
