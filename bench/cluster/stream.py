"""A stream: gangs arrive at a steady rate, and each pod's time from being created to being bound is taken."""

import asyncio
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.cluster.backlog import STUCK, fill
from bench.cluster.contenders import GANG, Contender
from bench.cluster.kernel import cpu_seconds
from bench.cluster.running import running
from bench.cluster.watching import BoundPods
from phalanx.kube.client import Client
from phalanx.kube.local import ControlPlane
from phalanx.kube.local.progress import Progress
from phalanx.testing.objects import client_of, create


@dataclass(frozen=True, slots=True)
class Latency:
    """What one contender did with a stream."""

    name: str
    pods: int
    #: Pods that really arrived per second: the server has to keep up with creating them, too.
    rate: float
    #: Seconds from sending the creation to seeing the pod bound, sorted.
    seconds: tuple[float, ...]
    cpu: float

    def percentile(self, share: float) -> float:
        """Return the time within which this share of the bound pods was bound."""
        return self.seconds[min(int(len(self.seconds) * share), len(self.seconds) - 1)] if self.seconds else 0.0


def measure_stream(contender: Contender, nodes: int, rate: int, seconds: int) -> Latency:
    """Measure one contender on a control plane of its own."""
    what = f"{contender.name}, {rate} pods/s"
    with ControlPlane(controller_manager=False) as plane, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        contender.prepare(plane, folder)
        fill(plane, nodes, contender.style("warm", GANG), f"{what}: creating")
        with BoundPods(plane.kubeconfig) as seen, running(contender.commands(plane, folder)) as processes:
            _until(seen, GANG)
            before = sum(map(cpu_seconds, processes.pids.values()))
            with Progress(what, "pods") as progress:
                sent, rate_reached = asyncio.run(_send(plane.kubeconfig, contender, rate, seconds, progress))
                _until(seen, GANG + len(sent))
            processes.check()
            cpu = sum(map(cpu_seconds, processes.pids.values())) - before
    times = sorted(seen.at[pod] - at for pod, at in sent.items() if pod in seen.at)
    return Latency(contender.name, len(sent), rate_reached, tuple(times), cpu)


async def _send(
    kubeconfig: Path, contender: Contender, rate: int, seconds: int, progress: Progress
) -> tuple[dict[str, float], float]:
    """Create gangs by the clock, whether or not the ones before were created already; return when each pod was sent."""
    sent: dict[str, float] = {}
    async with client_of(kubeconfig) as client:
        start = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for number in range(rate * seconds // GANG):
                await asyncio.sleep(max(0.0, start + number * GANG / rate - time.monotonic()))
                group.create_task(_one(client, contender, f"stream-{number:05}", sent, progress))
        return sent, len(sent) / (time.monotonic() - start)


async def _one(client: Client, contender: Contender, name: str, sent: dict[str, float], progress: Progress) -> None:
    objects = contender.style(name, GANG)
    pods = [item for item in objects if item["kind"] == "Pod"]
    await create(client, [item for item in objects if item["kind"] != "Pod"])
    now = time.monotonic()
    sent.update({pod["metadata"]["name"]: now for pod in pods})
    await create(client, pods, in_flight=GANG)
    progress.done += len(pods)


def _until(seen: BoundPods, count: int) -> None:
    known, moved = 0, time.monotonic()
    while len(seen.at) < count and time.monotonic() - moved < STUCK:
        time.sleep(0.05)
        if len(seen.at) != known:
            known, moved = len(seen.at), time.monotonic()
