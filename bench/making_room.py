"""`python -m bench.making_room`: what it costs to make room, each figure of one decision on a world that is compiled.

There is no peer to run beside it here; what others need is in docs/benchmarks.md. The exponent of the second table
says how the cost grows with the cluster: 1 is linear.
"""

import math
import time
from collections.abc import Callable, Iterator

from phalanx.engine.decide import decide
from phalanx.engine.policy import Policy
from phalanx.model.axis import GPU
from phalanx.model.events import Event, NodeSeen, QueueSeen, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.node import Node
from phalanx.model.plan import Evict, Nominate, Plan
from phalanx.model.queue import UNLIMITED, Queue, Terms
from phalanx.model.task import Shape, State, Task
from phalanx.policy.load import parse_policy
from phalanx.world.world import World

GPUS = 8


def policy(*actions: str) -> Policy:
    """Return the default policy with these actions after allocate."""
    listed = "".join(f"\n- {{name: {name}}}" for name in ("allocate", *actions))
    return parse_policy(f"extends: default\nsearch: {{steps: 10000000}}\nactions:{listed}\n", "bench")


def cluster(nodes: int) -> Iterator[Event]:
    """Yield nodes, and two queues that are each entitled to half."""
    for number in range(nodes):
        amounts = {GPU: GPUS * 1000, "cpu": 64_000, "memory": 2**38, "pods": 110}
        yield NodeSeen(Node(f"n{number:05}", allocatable=amounts))
    for name in ("a", "b"):
        yield QueueSeen(Queue(name, terms={GPU: Terms(nodes * GPUS * 1000 // 2, UNLIMITED)}))


def pod(name: str, gpus: int, queue: str, node: int | None = None, gang: Membership | None = None) -> Event:
    """Return one pod, which runs if it has a node."""
    shape = Shape(((GPU, gpus * 1000), ("cpu", 1000), ("pods", 1)), scored=(1000, 0))
    state, on = (State.PENDING, None) if node is None else (State.RUNNING, f"n{node:05}")
    started = None if node is None else 1.0
    return TaskSeen(
        Task(
            name,
            "d",
            name,
            shape,
            state,
            on,
            created=1.0,
            started=started,
            owner=f"job-{name}",
            queue=queue,
            membership=gang,
        )
    )


def full(nodes: int) -> Iterator[Event]:
    """Yield a cluster that one queue's small jobs have filled."""
    yield from cluster(nodes)
    for number in range(nodes * GPUS):
        yield pod(f"r{number:06}", 1, "a", number // GPUS)


def many_small(nodes: int) -> Iterator[Event]:
    """Yield as many small jobs of the other queue as run."""
    yield from full(nodes)
    for number in range(nodes * GPUS):
        yield pod(f"w{number:06}", 1, "b")


def one_gang(nodes: int) -> Iterator[Event]:
    """Yield one gang that wants a tenth of the nodes, each for itself."""
    yield from full(nodes)
    size = max(nodes // 10, 1)
    for number in range(size):
        yield pod(f"g-{number:04}", GPUS, "b", gang=Membership("d/g", size))


def fragmented(nodes: int) -> Iterator[Event]:
    """Yield nodes that are half used by one small job each, and large jobs that want whole nodes."""
    yield from cluster(nodes)
    for number in range(nodes):
        yield pod(f"r{number:06}", 4, "a", number)
    for number in range(nodes // 10):
        yield pod(f"w{number:06}", GPUS, "b")


def timed(make: Callable[[int], Iterator[Event]], nodes: int, by: Policy) -> tuple[float, Plan]:
    """Return how long one decision takes, and the plan."""
    world = World()
    world.look_for_victims(wanted=True)
    for event in make(nodes):
        world.apply(event)
    snapshot = world.compile(10_000.0)
    start = time.perf_counter()
    plan = decide(snapshot, by)
    return time.perf_counter() - start, plan


def told(plan: Plan) -> str:
    """Return what a plan does, in numbers."""
    evicted = sum(isinstance(step, Evict) for step in plan.steps)
    kept = sum(isinstance(step, Nominate) for step in plan.steps)
    return f"{evicted:,} evicted, {kept:,} places kept, {len(plan.waits):,} wait"


def main() -> None:
    """Measure and print."""
    seconds, plan = timed(many_small, 500, policy("reclaim"))
    print(f"reclaim, 500 nodes x 8 GPUs, 4,000 run and 4,000 wait, 1 GPU each: {seconds:.2f} s; {told(plan)}")
    print("\nreclaim by one gang of n/10 8-GPU tasks from n x 8 jobs of 1 GPU:\n\n| n | s | plan |\n|---|---|---|")
    took = []
    for nodes in (10, 30, 100, 300, 1000):
        seconds, plan = timed(one_gang, nodes, policy("reclaim"))
        took.append((nodes, seconds))
        print(f"| {nodes} | {seconds:.3f} | {told(plan)} |")
    (few, quick), (many, slow) = took[1], took[-1]
    print(f"\nexponent from {few} to {many} nodes: {math.log(slow / quick) / math.log(many / few):.2f}")
    seconds, plan = timed(fragmented, 1000, policy("consolidate"))
    print(f"\nconsolidate for 100 jobs of 8 GPUs on 1,000 nodes, each half used: {seconds:.2f} s; {told(plan)}")


if __name__ == "__main__":
    main()
