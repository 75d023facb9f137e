"""How much deciding by count saves: whole decisions against an honest loop over tasks on the same arrays.

The loop asks the same filters and scores of the same policy for every task anew and charges for each, as a
pod-by-pod scheduler does; it is vectorised over nodes, so the ratio is what placement by count adds to that.
Times are the best of a few runs on this machine now: compare the ratios, not the times.
"""

import gc
import sys
import time
from collections.abc import Callable

import numpy as np

from phalanx.engine.decide import decide
from phalanx.engine.opening import open_session
from phalanx.engine.policy import Policy
from phalanx.model.events import NodeSeen, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.node import Node
from phalanx.model.sharing import Part
from phalanx.model.snapshot import Snapshot
from phalanx.model.task import Shape, Task
from phalanx.policy.load import load_policy
from phalanx.world.world import World
from tests.oracles.greedy import one_at_a_time

POLICY = load_policy("default")
GIB = 2**30


def cluster(nodes: int) -> World:
    """Return nodes of 8 GPUs in 16 racks."""
    world = World()
    amounts = {"cpu": 96_000, "memory": 1024 * GIB, "pods": 110, "ephemeral-storage": 2**40, "nvidia.com/gpu": 8_000}
    for number in range(nodes):
        world.apply(NodeSeen(Node(f"node-{number:05}", allocatable=amounts, labels={"rack": f"r{number % 16}"})))
    return world


def shape(cpu: int = 8_000) -> Shape:
    """Return a task of one GPU."""
    return Shape((("cpu", cpu), ("memory", 32 * GIB), ("nvidia.com/gpu", 1_000), ("pods", 1)), scored=(cpu, 32 * GIB))


def one_gang(nodes: int, size: int) -> Snapshot:
    """Return an empty cluster with one waiting gang."""
    world = cluster(nodes)
    for number in range(size):
        said = Membership("default/gang", size)
        world.apply(TaskSeen(Task(f"m{number:05}", "default", f"m{number:05}", shape(), membership=said)))
    return world.compile(0.0)


def halves(nodes: int, size: int) -> Snapshot:
    """Return an empty cluster with one waiting gang of which each task asks for half a GPU."""
    world = cluster(nodes)
    world.sharings.set(POLICY.sharing)
    asked = Shape((("cpu", 4_000), ("memory", 16 * GIB), ("pods", 1)), scored=(4_000, 16 * GIB))
    for number in range(size):
        said, name = Membership("default/gang", size), f"m{number:05}"
        world.apply(TaskSeen(Task(name, "default", name, asked, membership=said, part=Part(milli=500))))
    return world.compile(0.0)


def plain_pods(nodes: int, pods: int, *, different: bool) -> Snapshot:
    """Return an empty cluster with plain pods in no gang, all equal or all different."""
    world = cluster(nodes)
    for number in range(pods):
        asked = shape(1_000 + number % 10_000 if different else 1_000)
        world.apply(TaskSeen(Task(f"p{number:05}", "default", f"p{number:05}", asked, created=float(number))))
    return world.compile(0.0)


def loop(snapshot: Snapshot, policy: Policy) -> int:
    """Place every waiting task by itself."""
    session = open_session(snapshot, policy)
    return sum(len(one_at_a_time(session, policy, kind, 1)) for kind in snapshot.tasks.shape.tolist())


def best(work: Callable[[], object], runs: int) -> float:
    """Return the seconds of the fastest run."""
    times = []
    for _ in range(runs):
        gc.collect()
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def compare(name: str, snapshot: Snapshot, runs: int = 5) -> None:
    """Print one line: the decision, the loop, the ratio."""
    if sys.stderr.isatty():
        print(f"\r{name} …", end="", file=sys.stderr, flush=True)
    placed = len(decide(snapshot, POLICY).binds)
    by_count = best(lambda: decide(snapshot, POLICY), runs)
    start = time.perf_counter()
    looped = loop(snapshot, POLICY)
    by_loop = time.perf_counter() - start
    assert placed == looped == len(snapshot.tasks), (placed, looped)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    print(f"{name:<46} {by_count * 1e3:>10.1f} ms {by_loop * 1e3:>12.0f} ms {by_loop / by_count:>9.0f}×", flush=True)


def main() -> None:
    """Print the table."""
    print(f"numpy {np.__version__}, policy default; times of this run, compare the ratios")
    print(f"{'':<46} {'decide':>13} {'loop over tasks':>15} {'ratio':>10}")
    for nodes in (1_000, 10_000, 50_000):
        for size in (8, 256, 4_096):
            compare(f"a gang of {size:,} on {nodes:,} nodes", one_gang(nodes, size))
    compare("a gang of 4,096 halves of GPUs on 10,000 nodes", halves(10_000, 4_096))
    compare("1,000 different shapes on 10,000 nodes", plain_pods(10_000, 1_000, different=True), runs=1)
    compare("10,000 equal pods in no gang, 5,000 nodes", plain_pods(5_000, 10_000, different=False), runs=3)
    compare("10,000 different pods in no gang, 5,000 nodes", plain_pods(5_000, 10_000, different=True), runs=1)


if __name__ == "__main__":
    main()
