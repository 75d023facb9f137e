"""Nodes with GPUs of several models: whatever is placed there, every pod can have GPUs that serve it, all at once."""

from hypothesis import given
from hypothesis import strategies as st

from phalanx.loop import Loop
from phalanx.model.device import Device, DeviceWish
from phalanx.model.events import NodeSeen, TaskGone, TaskSeen
from phalanx.model.node import Node
from phalanx.model.task import Shape, State, Task
from phalanx.policy.load import load_policy
from phalanx.world.views import tasks_on
from phalanx.world.world import World

GPU = "nvidia.com/gpu"
DEFAULT = load_policy("default")
MODELS = ["A1", "B2", "C3"]

wishes = st.sampled_from([DeviceWish((("A1", 1.0),)), None]) | st.builds(
    lambda models, memory: DeviceWish(tuple((model, 1.0) for model in models), memory),
    st.lists(st.sampled_from(MODELS), min_size=1, max_size=2, unique=True),
    st.sampled_from([0, 0, 0, 40]),
)
nodes = st.lists(st.tuples(st.sampled_from(MODELS), st.sampled_from([16, 80]), st.booleans()), min_size=2, max_size=6)
arrivals = st.lists(
    st.tuples(wishes, st.sampled_from([1, 1, 1, 2]), st.sampled_from([0, 0, 0, 1]), st.integers(0, 5).map(bool)),
    min_size=6, max_size=10,
)  # fmt: skip


def made(name: str, devices: list[tuple[str, int, bool]]) -> Node:
    rows = tuple(
        Device(GPU, index, model=model, memory=memory, cordoned=cordoned and index % 3 == 0)
        for index, (model, memory, cordoned) in enumerate(devices)
    )
    return Node(name, allocatable={GPU: 1000 * sum(row.usable for row in rows), "pods": 20}, devices=rows)


def can_all_have_theirs(node: Node, tasks: list[Task]) -> bool:
    """Give out devices one by one, and take them back where somebody else could have another one."""
    asks = [task for task in tasks for _ in range(dict(task.shape.requests)[GPU] // 1000)]
    owner: dict[int, int] = {}

    def serve(ask: int, seen: set[int]) -> bool:
        wish = asks[ask].shape.devices
        for at, device in enumerate(node.devices):
            serves = wish is None or (wish.worth(device.model) is not None and device.memory >= wish.memory)
            if device.usable and serves and at not in seen:
                seen.add(at)
                if at not in owner or serve(owner[at], seen):
                    owner[at] = ask
                    return True
        return False

    return all(serve(ask, set()) for ask in range(len(asks)))


@given(st.lists(nodes, min_size=1, max_size=2), arrivals)
def test_every_pod_that_is_placed_can_have_gpus_that_serve_it_beside_all_others(
    drawn: list[list[tuple[str, int, bool]]], coming: list[tuple[DeviceWish | None, int, int, bool]]
) -> None:
    world = World()
    for number, devices in enumerate(drawn):
        world.apply(NodeSeen(made(f"n{number}", devices)))
    loop = Loop(world, DEFAULT)
    for number, (wish, gpus, priority, all_stay) in enumerate(coming):
        shape = Shape(((GPU, gpus * 1000), ("pods", 1)), priority=priority, devices=wish)
        world.apply(TaskSeen(Task(f"t{number}", "default", f"t{number}", shape, created=float(number))))
        loop.cycle(float(number))
        there = [task for node in world.nodes for task in tasks_on(world, node) if task.state is State.RELEASING]
        # Who was asked to leave has left; and sometimes somebody ends by himself.
        for task in there or ([world.tasks["t0"]] if not all_stay and "t0" in world.tasks else []):
            world.apply(TaskGone(task.uid))
        for name, node in world.nodes.items():
            assert can_all_have_theirs(node, tasks_on(world, name)), number
