"""Events: thousands of pods wait and are told why while others are bound: how soon, and what it costs.

The others wait for their nodes, which come while events are being written: every bind meets a backlog of events.
"""

import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from bench.cluster.backlog import AFTER, STUCK, fill
from bench.cluster.contenders import GANG, python
from bench.cluster.kernel import cpu_seconds, peak_memory
from bench.cluster.running import running
from bench.cluster.settings import Size
from bench.cluster.watching import BoundPods, WrittenEvents
from phalanx.kube.local import ControlPlane, node_manifest
from phalanx.testing.objects import create_all, gang_manifests

#: Events per second: as the product has it, and none.
EVENTS = (100.0, 0.0)
#: By then every condition is written, and events are not.
NODES_AFTER = 20.0
#: What no node has.
HOPELESS = {"example.com/dongle": "1"}


@dataclass(frozen=True, slots=True)
class Told:
    """What one round did."""

    rate: float
    bound: int
    #: Seconds between the first bind and the last.
    binding: float
    #: Waiting pods with an event, and when the last one had it, in seconds from the start of the process.
    told: int
    told_after: float
    #: Events of all pods, and the most in any one second.
    events: int
    most: int
    cpu: float
    peak: int

    @property
    def per_second(self) -> float:
        """Binds per second from the first to the last."""
        return (self.bound - 1) / self.binding if self.binding else 0.0


def measure_events(size: Size, rate: float) -> Told:
    """Measure one round on a control plane of its own."""
    others = size.nodes * GANG
    with ControlPlane(controller_manager=False) as plane:
        waiting = [
            pod for n in range(size.pods // GANG) for pod in gang_manifests(f"wait-{n:05}", GANG, requests=HOPELESS)
        ]
        going = [pod for n in range(others // GANG) for pod in gang_manifests(f"go-{n:05}", GANG)]
        fill(plane, 1, [*gang_manifests("first", GANG), *waiting, *going], f"{rate:g} events/s, {size}: creating")
        words = ("-m", "phalanx", "run", "--kubeconfig", str(plane.kubeconfig), "--no-leader-election", "--port", "0")
        command: dict[str, Sequence[str]] = {"phalanx": python(*words, "--event-rate", f"{rate:g}")}
        with BoundPods(plane.kubeconfig) as bound, WrittenEvents(plane.kubeconfig) as events:
            started = time.monotonic()
            with running(command) as processes:
                time.sleep(NODES_AFTER)
                create_all(plane.kubeconfig, [node_manifest(f"late-{n:05}") for n in range(size.nodes)])
                _until(bound, others + GANG, "")
                if rate:
                    _until(events, len(waiting), "wait-")
                time.sleep(AFTER)
                processes.check()
                pids = list(processes.pids.values())
                cpu, peak = sum(map(cpu_seconds, pids)), sum(map(peak_memory, pids))
        went = sorted(at for name, at in bound.at.items() if name.startswith("go-"))
        told = sorted(at for name, at in events.at.items() if name.startswith("wait-"))
    return Told(
        rate, len(went), went[-1] - went[0] if went else 0.0, len(told), told[-1] - started if told else 0.0,
        len(events.times), _most(sorted(events.times)), cpu, peak,
    )  # fmt: skip


def _until(seen: BoundPods | WrittenEvents, count: int, prefix: str) -> None:
    """Wait until so many are there, or none comes any more."""
    known, moved = 0, time.monotonic()
    while known < count and time.monotonic() - moved < STUCK:
        time.sleep(0.1)
        now = sum(name.startswith(prefix) for name in list(seen.at))
        if now != known:
            known, moved = now, time.monotonic()


def _most(times: list[float]) -> int:
    """Return the most in any one second."""
    return max((number + 1 - bisect_left(times, at - 1.0) for number, at in enumerate(times)), default=0)
