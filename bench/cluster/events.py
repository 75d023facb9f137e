"""Events: thousands of pods wait and are told why while others are bound: how soon, and what it costs.

The others wait in waves, each for one node that takes all of them. The nodes come while events are being written: every
wave meets a backlog of events, and then nothing but the API server holds it up.
"""

import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.cluster.backlog import AFTER, STUCK, fill
from bench.cluster.contenders import GANG, python
from bench.cluster.kernel import cpu_seconds, peak_memory
from bench.cluster.running import running
from bench.cluster.settings import Size
from bench.cluster.watching import BoundPods, WrittenEvents
from phalanx.kube.local import ControlPlane, node_manifest
from phalanx.kube.local.processes import Processes
from phalanx.testing.objects import Manifest, create_all, gang_manifests

#: Events per second: as the product has it, and none.
EVENTS = (100.0, 0.0)
#: By then every condition is written, and events are not.
NODES_AFTER = 20.0
WAVES = 4
#: Between waves, so that events have their time.
REST = 3.0
#: What no node has.
HOPELESS = {"example.com/dongle": "1"}


@dataclass(frozen=True, slots=True)
class Told:
    """What one round did."""

    rate: float
    bound: int
    #: Binds per second of each wave, from its first to its last.
    waves: tuple[float, ...]
    #: Events that were written meanwhile.
    meanwhile: int
    #: Waiting pods with an event, and when the last one had it, in seconds from the start of the process.
    told: int
    told_after: float
    #: Events of all pods, and the most in any one second.
    events: int
    most: int
    cpu: float
    peak: int


def measure_events(size: Size, rate: float) -> Told:
    """Measure one round on a control plane of its own."""
    others = size.nodes * GANG // WAVES
    with ControlPlane(controller_manager=False) as plane:
        waiting = _gangs("wait", size.pods, requests=HOPELESS)
        going = [pod for wave in range(WAVES) for pod in _gangs(f"go{wave}", others, nodeSelector={"wave": f"{wave}"})]
        fill(plane, 1, [*gang_manifests("first", GANG), *waiting, *going], f"{rate:g} events/s, {size}: creating")
        words = ("-m", "phalanx", "run", "--kubeconfig", str(plane.kubeconfig), "--no-leader-election", "--port", "0")
        command: dict[str, Sequence[str]] = {"phalanx": python(*words, "--event-rate", f"{rate:g}")}
        with BoundPods(plane.kubeconfig) as bound, WrittenEvents(plane.kubeconfig) as events:
            started = time.monotonic()
            with running(command) as processes:
                time.sleep(NODES_AFTER)
                for wave in range(WAVES):
                    node = node_manifest(f"late-{wave}", gpus=others, pods=2 * others, cpu="9000", memory="9000Gi")
                    node["metadata"]["labels"]["wave"] = f"{wave}"
                    create_all(plane.kubeconfig, [node])
                    _until(bound, others, f"go{wave}-", processes)
                    time.sleep(REST)
                if rate:
                    _until(events, len(waiting), "wait-", processes)
                time.sleep(AFTER)
                pids = list(processes.pids.values())
                cpu, peak = sum(map(cpu_seconds, pids)), sum(map(peak_memory, pids))
        told = sorted(_first_of_each(events, "wait-").values())
        times, waves = sorted(events.times), []
        meanwhile = 0
        for wave in range(WAVES):
            went = sorted(at for name, at in bound.at.items() if name.startswith(f"go{wave}-"))
            waves.append((len(went) - 1) / (went[-1] - went[0]))
            meanwhile += bisect_left(times, went[-1]) - bisect_left(times, went[0])
    return Told(
        rate, len(bound.at), tuple(waves), meanwhile, len(told), told[-1] - started if told else 0.0,
        len(times), _most(times), cpu, peak,
    )  # fmt: skip


def _gangs(name: str, pods: int, **options: Any) -> list[Manifest]:
    return [pod for number in range(pods // GANG) for pod in gang_manifests(f"{name}-{number:05}", GANG, **options)]


def _until(seen: BoundPods | WrittenEvents, count: int, prefix: str, processes: Processes) -> None:
    """Wait until so many are there, or none comes any more."""
    known, moved = 0, time.monotonic()
    while known < count and time.monotonic() - moved < STUCK:
        time.sleep(0.1)
        processes.check()
        now = len(_first_of_each(seen, prefix))
        if now != known:
            known, moved = now, time.monotonic()


def _first_of_each(seen: BoundPods | WrittenEvents, prefix: str) -> dict[str, float]:
    """Return when each pod was seen first. Of events several may be about one pod, each with a suffix of its own."""
    found: dict[str, float] = {}
    # A copy in one go: another thread writes to it meanwhile.
    for name, at in seen.at.copy().items():
        if name.startswith(prefix):
            found.setdefault(name.partition(".")[0], at)
    return found


def _most(times: list[float]) -> int:
    """Return the most in any one second."""
    return max((number + 1 - bisect_left(times, at - 1.0) for number, at in enumerate(times)), default=0)
