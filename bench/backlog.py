"""`python -m bench.backlog`: cycles of a full cluster in which (almost) nothing can be decided, and peak memory.

Each row: the world is compiled and decided once, then one pod's event arrives, and the cycle after it is timed:
compile, decide, check, in CPU time: machines are shared. `--before PATH` runs the same rows with the package of
another checkout (its `src` folder), process after process on the same machine, and prints the ratio. `--without` runs
them by a policy without the plugins that look at other pods, domains and volumes, of which no pod here says anything.
"""

import argparse
import gc
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from phalanx.engine.policy import Policy
from phalanx.loop import Loop
from phalanx.model.axis import GPU
from phalanx.model.events import Event, NodeSeen, QueueSeen, TaskGone, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.node import Node
from phalanx.model.queue import UNLIMITED, Queue, Terms
from phalanx.model.task import Shape, State, Task
from phalanx.policy.load import load_policy
from phalanx.world.world import World

GPUS = 8
ROUNDS = 6

#: Name, nodes, queues, waiting gangs, members of each, shapes, priorities, and whether single equal pods wait.
ROWS = {
    "a": ("2,000 full nodes, 10,000 waiting units of 7 shapes", 2_000, 1, 10_000, 1, 7, 1),
    "b": ("4,000 full nodes, 108,000 waiting in gangs of 8, 20 queues", 4_000, 20, 13_500, 8, 1, 1),
    "c": ("the same with 500 shapes and 5 priorities", 4_000, 20, 13_500, 8, 500, 5),
}


#: What no pod of these rows asks for.
UNASKED = {
    "pod_affinity", "pod_anti_affinity", "topology_spread", "declared_features",
    "volume_binding", "volume_conflicts", "volume_limits", "static_volumes",
}  # fmt: skip


def nodes_and_queues(nodes: int, queues: int) -> Iterator[Event]:
    """Yield nodes, and queues with equal quotas that use up the cluster."""
    for number in range(nodes):
        amounts = {GPU: GPUS * 1000, "cpu": 64_000, "memory": 2**38, "pods": 110}
        yield NodeSeen(Node(f"n{number:05}", allocatable=amounts))
    for number in range(queues):
        terms = {GPU: Terms(nodes * GPUS * 1000 // queues, UNLIMITED)}
        yield QueueSeen(Queue("default" if queues == 1 else f"q{number:02}", terms=terms))


def running(nodes: int, queues: int) -> Iterator[Event]:
    """Yield a pod of one GPU for every GPU, of the highest priority, each queue within its quota."""
    shape = Shape(((GPU, 1000), ("cpu", 1000), ("pods", 1)), (1000, 0), 9)
    for number in range(nodes * GPUS):
        name, node = f"r{number:06}", f"n{number // GPUS:05}"
        queue = "default" if queues == 1 else f"q{number % queues:02}"
        yield TaskSeen(Task(name, "d", name, shape, State.RUNNING, node, created=1.0, started=1.0, queue=queue))


def waiting(gangs: int, members: int, queues: int, shapes: int, priorities: int) -> Iterator[Event]:
    """Yield gangs in turn for each queue, shape and priority."""
    for number in range(gangs):
        priority = number % priorities
        kind = number // queues % shapes
        shape = Shape(((GPU, 1000), ("cpu", 1000 + kind), ("pods", 1)), (1000 + kind, 0), priority)
        queue = "default" if queues == 1 else f"q{number % queues:02}"
        said = None if members == 1 else Membership(f"d/g{number:05}", members)
        for member in range(members):
            name = f"w{number:05}-{member}"
            yield TaskSeen(
                Task(name, "d", name, shape, State.PENDING, created=2.0 + number, queue=queue, membership=said)
            )


def cycles(row: str, *, without: bool) -> tuple[float, float]:
    """Return the CPU seconds of the quickest cycle after one pod's event, and the peak memory in MiB."""
    _, nodes, queues, gangs, members, shapes, priorities = ROWS[row]
    policy: Policy = load_policy("default")
    if without:
        assert {one.plugin.name for one in policy.plugins} >= UNASKED, "each of them is in the preset"
        policy = replace(policy, plugins=tuple(one for one in policy.plugins if one.plugin.name not in UNASKED))
    # Another checkout may not have read devices yet.
    world = World(policy.label_keys, *([policy.devices] if hasattr(policy, "devices") else []))
    loop = Loop(world, policy)
    for events in (nodes_and_queues(nodes, queues), running(nodes, queues)):
        for event in events:
            world.apply(event)
    for event in waiting(gangs, members, queues, shapes, priorities):
        world.apply(event)
    loop.cycle(20_000.0)
    # As the scheduler does once it has read the first lists.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    took: list[float] = []
    last = next(waiting(1, 1, 1, 1, 1))
    assert isinstance(last, TaskSeen)
    for number in range(ROUNDS):
        # One waiting pod comes and goes; nothing else changes.
        late = Task("late", "d", "late", last.task.shape, State.PENDING, created=19_999.0, queue=last_queue(queues))
        world.apply(TaskSeen(late) if number % 2 == 0 else TaskGone("late"))
        start = time.process_time()
        found = loop.cycle(20_001.0 + number)
        took.append(time.process_time() - start)
        # Before, a cycle returned the plan alone.
        plan: Any = getattr(found, "plan", found)
        assert not plan.binds, "nothing is free"
    return min(took), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def last_queue(queues: int) -> str:
    """Return a queue that exists."""
    return "default" if queues == 1 else "q00"


def measured(row: str, source: Path | None = None, *more: str) -> tuple[float, float]:
    """Run one row in a process of its own, with the package of this or of another checkout."""
    env = dict(os.environ) if source is None else os.environ | {"PYTHONPATH": str(source)}
    command = [sys.executable, __file__, "--row", row, *more]
    out = subprocess.run(command, env=env, check=True, capture_output=True, text=True)  # noqa: S603
    seconds, peak = out.stdout.split()
    return float(seconds), float(peak)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--row", choices=sorted(ROWS))
    parser.add_argument("--before", type=Path, help="the src folder of another checkout")
    parser.add_argument("--without", action="store_true", help="also by a policy without what no pod here asks for")
    wish = parser.parse_args()
    if wish.row:
        print(*cycles(wish.row, without=wish.without))
        return
    print("\nOne cycle after a single pod's event: compile, decide, check; CPU time. Each row a process of its own")
    for row, (title, *_) in ROWS.items():
        seconds, peak = measured(row)
        line = f"  {title:60}  {seconds * 1000:8.0f} ms  {peak:6.0f} MiB"
        if wish.before:
            before, was = measured(row, wish.before)
            line += f"   before: {before * 1000:8.0f} ms  {was:6.0f} MiB   {before / seconds:6.1f} times as long"
        if wish.without:
            less, was = measured(row, None, "--without")
            line += f"   without: {less * 1000:8.0f} ms  {was:6.0f} MiB   {seconds / less:6.2f} times as long with"
        print(line, flush=True)


if __name__ == "__main__":
    main()
