"""A start in a full cluster: how long until the first right decision, and how much memory it takes to know all that.

Every GPU is taken but eight on one node, and a gang of eight waits: only one decision is right, and only whoever has
read everything can take it.
"""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.cluster.backlog import AFTER, STUCK, fill
from bench.cluster.contenders import GANG, Contender
from bench.cluster.kernel import cpu_seconds, memory, peak_memory
from bench.cluster.running import running
from bench.cluster.settings import Size
from bench.cluster.watching import BoundPods
from phalanx.kube.local import ControlPlane
from phalanx.testing.objects import Manifest, list_all, pod_manifest


@dataclass(frozen=True, slots=True)
class Start:
    """What one contender needs to start."""

    name: str
    first: float | None
    right: bool
    settled: int
    peak: int
    cpu: float


def measure_start(contender: Contender, size: Size) -> Start:
    """Measure one contender on a control plane of its own."""
    with ControlPlane(controller_manager=False) as plane, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        contender.prepare(plane, folder)
        objects = [*_running(size), *contender.style("waiting", GANG)]
        fill(plane, size.nodes, objects, f"{contender.name}: start with {size}: creating")
        with BoundPods(plane.kubeconfig) as seen:
            started = time.monotonic()
            with running(contender.commands(plane, folder)) as processes:
                while len(seen.at) < GANG and time.monotonic() - started < STUCK:
                    time.sleep(0.01)
                    processes.check()
                time.sleep(AFTER)
                pids = list(processes.pids.values())
                settled, peak = sum(map(memory, pids)), sum(map(peak_memory, pids))
                cpu = sum(map(cpu_seconds, pids))
        first = min(seen.at.values(), default=None)
        return Start(contender.name, first - started if first else None, _right(plane, size), settled, peak, cpu)


def _running(size: Size) -> list[Manifest]:
    """Return pods on nodes: all GPUs but those of the last node, and small ones everywhere for the rest."""
    full = min((size.nodes - 1) * GANG, size.pods - GANG)
    taken = [
        pod_manifest(f"running-{number:05}", scheduler="someone", node=f"node-{number // GANG:05}")
        for number in range(full)
    ]
    small = {"cpu": "100m", "memory": "64Mi"}
    rest = range(size.pods - GANG - full)
    return taken + [
        pod_manifest(f"small-{number:05}", scheduler="someone", node=f"node-{number % size.nodes:05}", requests=small)
        for number in rest
    ]


def _right(plane: ControlPlane, size: Size) -> bool:
    last = f"node-{size.nodes - 1:05}"
    pods = list_all(plane.kubeconfig, "/api/v1/pods")
    places = [pod["spec"].get("nodeName") for pod in pods if pod["metadata"]["name"].startswith("waiting")]
    return places == [last] * GANG
