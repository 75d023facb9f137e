"""Clusters with queues that hypothesis can think of: few GPUs, many teams that want them."""

from dataclasses import replace

from hypothesis import strategies as st

from phalanx.model.events import Event, NodeSeen, QueueSeen, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.node import Node
from phalanx.model.queue import UNLIMITED, Queue, Terms
from phalanx.model.task import Shape, State, Task

GPU = "nvidia.com/gpu"
_AMOUNTS = st.sampled_from([0, 0, 1000, 2000, 3000])


@st.composite
def tenants(draw: st.DrawFn) -> list[Event]:
    """Draw nodes, a tree of queues, and gangs that wait or run in its leaves."""
    names = [f"n{number}" for number in range(draw(st.integers(1, 3)))]
    found: list[Event] = [
        NodeSeen(Node(name, allocatable={GPU: 1000 * draw(st.integers(1, 4)), "cpu": 4000, "pods": 20}))
        for name in names
    ]
    queues = draw(_queues())
    found += [QueueSeen(queue) for queue in queues]
    leaves = [queue.name for queue in queues if all(other.parent != queue.name for other in queues)]
    for number in range(draw(st.integers(0, 9))):
        found += [TaskSeen(task) for task in draw(_gang(f"g{number}", draw(st.sampled_from(leaves)), names))]
    return found


@st.composite
def _queues(draw: st.DrawFn) -> list[Queue]:
    queues: list[Queue] = []
    for number in range(draw(st.integers(1, 6))):
        above = draw(st.sampled_from([None, *(queue.name for queue in queues)]))
        terms = {
            name: Terms(draw(_AMOUNTS), draw(_AMOUNTS | st.just(UNLIMITED)), draw(st.sampled_from([0, 1000, 2000])))
            for name in (GPU, "cpu")
            if draw(st.integers(0, 3))
        }
        queues.append(
            Queue(f"q{number}", above, draw(st.integers(0, 1)), terms, created=float(draw(st.integers(0, 2))))
        )
    return queues


@st.composite
def _gang(draw: st.DrawFn, name: str, queue: str, nodes: list[str]) -> list[Task]:
    size, gpus = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    alone = size == 1 and draw(st.booleans())
    preemptible = draw(st.booleans())
    said = Membership(f"default/{name}", draw(st.integers(1, size)), preemptible=preemptible)
    amounts = {GPU: 1000 * gpus, "cpu": draw(st.sampled_from([0, 1000])), "pods": 1}
    shape = Shape(
        tuple(sorted((key, amount) for key, amount in amounts.items() if amount)), priority=draw(st.integers(0, 1))
    )
    running = draw(st.integers(0, 4)) == 0
    created = float(draw(st.integers(0, 3)))
    return [
        Task(
            f"{name}-{number}", "default", f"{name}-{number}", shape, created=created, queue=queue,
            membership=None if alone else said, preemptible=preemptible,
            state=State.RUNNING if running else State.PENDING, node=nodes[0] if running else None,
            started=created if running else None,
        )
        for number in range(size)
    ]  # fmt: skip


@st.composite
def crowded(draw: st.DrawFn, *, limits: bool = True, elastic: bool = True, queues: int = 4) -> list[Event]:
    """Draw a cluster that is about full: gangs that run wherever they fit, and gangs that want their places.

    Every queue lists the same resources, so that rules between queues can be worked out by hand.
    """
    sizes = [GPU, "cpu"] if draw(st.integers(0, 3)) == 0 else [GPU]
    left = {f"n{number}": {GPU: draw(st.integers(1, 4)), "cpu": 8} for number in range(draw(st.integers(1, 4)))}
    found: list[Event] = [
        NodeSeen(Node(name, allocatable={**{key: 1000 * amount for key, amount in has.items()}, "pods": 50}))
        for name, has in left.items()
    ]
    tree = draw(_teams(sizes, queues, limits=limits))
    found += [QueueSeen(queue) for queue in tree]
    leaves = [queue.name for queue in tree if all(other.parent != queue.name for other in tree)]
    running, waiting = draw(st.integers(2, 9)), draw(st.integers(1, 4))
    for number in range(running + waiting):
        tasks = draw(_wishing(f"g{number}", draw(st.sampled_from(leaves)), sizes, elastic=elastic))
        if number < running:
            tasks = draw(_settled(tasks, left))
        found += [TaskSeen(task) for task in tasks]
    return found


@st.composite
def _teams(draw: st.DrawFn, resources: list[str], most: int, *, limits: bool) -> list[Queue]:
    queues: list[Queue] = []
    runtimes = st.sampled_from([None, None, None, 120.0])
    for number in range(draw(st.integers(1, most))):
        terms = {
            name: Terms(
                1000 * draw(st.integers(0, 4)),
                draw(st.sampled_from([UNLIMITED] * 5 + [2000, 4000])) if limits else UNLIMITED,
                draw(st.sampled_from([1000, 1000, 2000, 0])),
            )
            for name in resources
        }
        above = draw(st.sampled_from([None, None, *(queue.name for queue in queues)]))
        queues.append(
            Queue(
                f"q{number}", above, draw(st.sampled_from([0, 0, 0, 1])), terms,
                preempt_min_runtime=draw(runtimes), reclaim_min_runtime=draw(runtimes),
            )
        )  # fmt: skip
    return queues


@st.composite
def _wishing(draw: st.DrawFn, name: str, queue: str, resources: list[str], *, elastic: bool) -> list[Task]:
    """Draw a gang of equal tasks, or a pod alone, that waits."""
    size = draw(st.sampled_from([1, 1, 1, 2, 3, 4]))
    alone = size == 1 and draw(st.booleans())
    preemptible, controlled = draw(st.integers(0, 9)) > 0, draw(st.integers(0, 5)) > 0
    minimum = draw(st.integers(1, size)) if elastic and draw(st.booleans()) else size
    said = Membership(f"default/{name}", minimum, preemptible=preemptible)
    amounts = {GPU: 1000 * draw(st.integers(1, 3)), "pods": 1}
    if "cpu" in resources:
        amounts["cpu"] = 1000 * draw(st.integers(0, 3))
    requests = tuple(sorted((key, amount) for key, amount in amounts.items() if amount))
    shape = Shape(requests, priority=draw(st.integers(0, 2)))
    created = float(draw(st.integers(0, 3)))
    return [
        Task(
            f"{name}-{number}", "default", f"{name}-{number}", shape, created=created, queue=queue,
            membership=None if alone else said, preemptible=preemptible, controlled=controlled,
        )
        for number in range(size)
    ]  # fmt: skip


@st.composite
def _settled(draw: st.DrawFn, tasks: list[Task], left: dict[str, dict[str, int]]) -> list[Task]:
    """Let a gang run where there is room for at least its minimum, and charge for it."""
    after = {name: dict(has) for name, has in left.items()}
    ask = {key: amount // 1000 for key, amount in tasks[0].shape.requests if key != "pods"}
    there: list[Task] = []
    for task in tasks:
        fits = [name for name, has in after.items() if all(has[key] >= amount for key, amount in ask.items())]
        if not fits:
            break
        node = draw(st.sampled_from(fits))
        for key, amount in ask.items():
            after[node][key] -= amount
        there.append(replace(task, state=State.RUNNING, node=node, started=task.created))
    said = tasks[0].membership
    if len(there) < ((said.minimum or 1) if said else 1):
        return tasks
    left.update(after)
    return there + tasks[len(there) :]
