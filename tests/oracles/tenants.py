"""Clusters with queues that hypothesis can think of: few GPUs, many teams that want them."""

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
