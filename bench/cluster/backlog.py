"""A backlog: everything waits, the scheduler starts, and time runs until the last pod has its node."""

import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.cluster.contenders import GANG, Contender
from bench.cluster.kernel import cpu_seconds, peak_memory
from bench.cluster.running import running
from bench.cluster.settings import Size
from bench.cluster.watching import PLACEHOLDER, BoundPods
from phalanx.kube.local import ControlPlane, node_manifest
from phalanx.kube.local.processes import Processes
from phalanx.kube.local.progress import Progress
from phalanx.testing.objects import Manifest, create_all, list_all

#: A scheduler that binds nothing for so long has ended what it can do.
STUCK = 120.0
#: Time after the last bind for what was put off: events and conditions cost work too.
AFTER = 3.0


@dataclass(frozen=True, slots=True)
class Row:
    """What one contender did with one backlog."""

    name: str
    size: Size
    bound: int
    #: Seconds from the start of the process.
    first: float
    last: float
    nodes: int
    #: Gangs that have some of their pods on nodes, and not all.
    split: int
    cpu: float
    peak: int

    @property
    def per_second(self) -> float:
        """Pods per second from the start of the process to the last bind."""
        return self.bound / self.last if self.last else 0.0

    @property
    def once_started(self) -> float:
        """Pods per second from the first bind to the last."""
        return (self.bound - 1) / (self.last - self.first) if self.last > self.first else 0.0


def measure(contender: Contender, size: Size) -> Row:
    """Measure one contender on a control plane of its own."""
    what = f"{contender.name}, {size}: creating"
    return race(contender, size, lambda plane: fill(plane, size.nodes, backlog(contender, size), what))


def race(contender: Contender, size: Size, laid_out: Callable[[ControlPlane], None]) -> Row:
    """Measure how long a contender takes for `size.pods` pods, on a control plane with what was laid out."""
    with ControlPlane(controller_manager=False) as plane, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        contender.prepare(plane, folder)
        commands = contender.commands(plane, folder)
        laid_out(plane)
        with BoundPods(plane.kubeconfig) as seen:
            started = time.monotonic()
            with running(commands) as processes:
                with Progress(f"{contender.name}, {size}: binding", "pods") as progress:
                    last = _wait(seen, processes, size.pods, progress)
                time.sleep(AFTER)
                pids = list(processes.pids.values())
                cpu, peak = sum(map(cpu_seconds, pids)), sum(map(peak_memory, pids))
        times = sorted(seen.at.values())
        nodes, split = _places(plane)
    first = times[0] - started if times else 0.0
    return Row(contender.name, size, len(times), first, last - started if times else 0.0, nodes, split, cpu, peak)


def backlog(contender: Contender, size: Size) -> list[Manifest]:
    """Return gangs of eight with so many pods in all."""
    return [item for number in range(size.pods // GANG) for item in contender.style(f"gang-{number:05}", GANG)]


def fill(plane: ControlPlane, nodes: int, objects: list[Manifest], what: str) -> None:
    """Create nodes of eight GPUs, then the objects."""
    machines = [node_manifest(f"node-{number:05}", rack=f"rack-{number // 16:04}") for number in range(nodes)]
    with Progress(what, "objects") as progress:

        def done(count: int) -> None:
            progress.done += count

        create_all(plane.kubeconfig, machines, done)
        create_all(plane.kubeconfig, objects, done)


def _wait(seen: BoundPods, processes: Processes, pods: int, progress: Progress) -> float:
    """Return when the last pod was bound, or the last one that ever will be."""
    moved = time.monotonic()
    while len(seen.at) < pods and time.monotonic() - moved < STUCK:
        time.sleep(0.05)
        processes.check()
        if len(seen.at) != progress.done:
            progress.done, moved = len(seen.at), time.monotonic()
    return max(seen.at.values(), default=moved)


def _places(plane: ControlPlane) -> tuple[int, int]:
    """Return how many nodes are used, and how many gangs are split, as the server has it."""
    nodes: set[str] = set()
    bound: Counter[str] = Counter()
    for pod in list_all(plane.kubeconfig, "/api/v1/namespaces/default/pods"):
        gang = pod["metadata"]["name"].rpartition("-")[0]
        if gang.startswith(PLACEHOLDER):
            continue
        bound[gang] += "nodeName" in pod["spec"]
        nodes |= {pod["spec"]["nodeName"]} if "nodeName" in pod["spec"] else set()
    return len(nodes), sum(0 < count < GANG for count in bound.values())
