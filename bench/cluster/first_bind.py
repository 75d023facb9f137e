"""The first bind: where the time goes between the start of the process and the first pod that is seen bound."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.cluster.backlog import STUCK, backlog, fill
from bench.cluster.contenders import PHALANX, python
from bench.cluster.running import running
from bench.cluster.settings import Size
from bench.cluster.stopwatch import PHASES
from bench.cluster.watching import BoundPods
from phalanx.kube.local import ControlPlane
from phalanx.testing.objects import create_all, delete_all

SEEN = "seen bound"


@dataclass(frozen=True, slots=True)
class Phase:
    """When a phase was over, in seconds from the start of the process, and the processor time until then: medians."""

    name: str
    at: float
    cpu: float | None


def measure_first_bind(size: Size, rounds: int) -> list[Phase]:
    """Start again and again on one control plane, each time before the same backlog."""
    objects = backlog(PHALANX, size)
    with ControlPlane(controller_manager=False) as plane, TemporaryDirectory() as name:
        fill(plane, size.nodes, [], f"first bind, {size}: creating")
        found = []
        for number in range(rounds):
            create_all(plane.kubeconfig, objects)
            found.append(_once(plane, Path(name) / f"{number}"))
            delete_all(plane.kubeconfig, objects)
    phases = [_middle(phase, [one[phase] for one in found]) for phase in (*PHASES, SEEN)]
    return sorted(phases, key=lambda phase: phase.at)


def _once(plane: ControlPlane, file: Path) -> dict[str, tuple[float, float | None]]:
    file.touch()
    words = ("run", "--kubeconfig", str(plane.kubeconfig), "--no-leader-election", "--port", "0")
    script = str(Path(__file__).with_name("stopwatch.py"))
    with BoundPods(plane.kubeconfig) as seen:
        started = time.monotonic()
        with running({"phalanx": python(script, str(file), *words)}) as processes:
            # The pod may be seen before the answer is read.
            while not (seen.at and PHASES[-1] in file.read_text()) and time.monotonic() - started < STUCK:
                time.sleep(0.01)
                processes.check()
    over: dict[str, tuple[float, float | None]] = {}
    for line in file.read_text().splitlines():
        phase, at, cpu = line.split("\t")
        over[phase] = float(at) - started, float(cpu)
    return over | {SEEN: (min(seen.at.values()) - started, None)}


def _middle(phase: str, found: Sequence[tuple[float, float | None]]) -> Phase:
    cpu = [used for _, used in found if used is not None]
    return Phase(phase, median(at for at, _ in found), median(cpu) if cpu else None)
