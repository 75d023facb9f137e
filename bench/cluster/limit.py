"""The limit: Phalanx and the null binder in turns on one control plane, and the processor time that each takes there.

A third one is the null binder with a watch of pods whose lines it drops: no scheduler can do without hearing of them.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.cluster.backlog import STUCK, backlog, fill
from bench.cluster.contenders import NULL, NULL_WATCHING, PHALANX, Contender
from bench.cluster.kernel import cpu_seconds
from bench.cluster.running import running
from bench.cluster.settings import Size
from bench.cluster.watching import BoundPods
from phalanx.kube.local import ControlPlane
from phalanx.testing.objects import create_all, delete_all

CONTENDERS = (NULL, NULL_WATCHING, PHALANX)
#: What was deleted and created takes the server a moment longer than its answers.
REST = 1.0


@dataclass(frozen=True, slots=True)
class Turn:
    """One contender, once. Seconds are from the start of its process; processor time is until the last bind."""

    name: str
    pods: int
    first: float
    last: float
    #: Of the contender until the first bind was seen, of it afterwards, and of API server and etcd.
    started: float
    binding: float
    server: float

    @property
    def from_start(self) -> float:
        """Pods per second from the start of the process."""
        return self.pods / self.last

    @property
    def once_binding(self) -> float:
        """Pods per second from the first bind to the last."""
        return (self.pods - 1) / (self.last - self.first)


def measure_limit(size: Size, rounds: int) -> list[dict[str, Turn]]:
    """Let them take turns, each time before the same backlog; the order turns round with each round."""
    objects = backlog(PHALANX, size)
    with ControlPlane(controller_manager=False) as plane, TemporaryDirectory() as name:
        fill(plane, size.nodes, [], f"limit, {size}: creating")
        found = []
        for number in range(rounds):
            turns = {}
            for contender in CONTENDERS[:: 1 if number % 2 == 0 else -1]:
                create_all(plane.kubeconfig, objects)
                time.sleep(REST)
                turns[contender.name] = _once(contender, plane, Path(name), size.pods)
                delete_all(plane.kubeconfig, objects)
            found.append(turns)
    return found


def _once(contender: Contender, plane: ControlPlane, folder: Path, pods: int) -> Turn:
    with BoundPods(plane.kubeconfig) as seen:
        before = _cpu(plane.pids.values())
        begun = time.monotonic()
        with running(contender.commands(plane, folder)) as processes:
            turn = Turn(contender.name, 0, 0.0, 0.0, 0.0, 0.0, 0.0)
            while len(seen.at) < pods and time.monotonic() - begun < STUCK:
                time.sleep(0.005)
                processes.check()
                if seen.at and not turn.started:
                    turn = replace(turn, started=_cpu(processes.pids.values()))
            binding = _cpu(processes.pids.values()) - turn.started
        server = _cpu(plane.pids.values()) - before
    times = sorted(at - begun for at in seen.at.values())
    return replace(turn, pods=len(times), first=times[0], last=times[-1], binding=binding, server=server)


def _cpu(pids: Iterable[int]) -> float:
    return sum(map(cpu_seconds, pids))
