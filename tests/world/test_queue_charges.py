"""Slices in the books of queues: after any story they are a plain sum over what is there, by the table now in force."""

from fractions import Fraction
from math import floor

from hypothesis import given
from hypothesis import strategies as st

from phalanx.model.axis import GPU
from phalanx.model.charges import Charge, Charges
from phalanx.model.events import Event, NodeGone, NodeSeen, QueueSeen, TaskGone, TaskSeen
from phalanx.model.node import Node
from phalanx.model.queue import Queue, Terms
from phalanx.model.task import CHARGED, Shape, State, Task
from phalanx.world.world import World

SMALL, LARGE = "nvidia.com/mig-1g.10gb", "nvidia.com/mig-3g.40gb"
#: What one counts as, by table.
TABLES = {
    Charges(): {SMALL: Fraction(1000, 7), LARGE: Fraction(3000, 7)},
    Charges((Charge("nvidia.com/mig-<n>g.*", GPU, "<n>"),)): {SMALL: Fraction(1000), LARGE: Fraction(3000)},
    Charges(()): {},
}
AMOUNTS = st.fixed_dictionaries({}, optional={GPU: st.integers(0, 4000), SMALL: st.integers(0, 7), LARGE: st.just(2)})


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    name, amounts = f"p{draw(st.integers(0, 5))}", draw(AMOUNTS)
    state, node = draw(st.sampled_from([(State.PENDING, None), (State.RUNNING, "n1"), (State.RELEASING, "n2")]))
    shape = Shape(tuple(sorted({**amounts, "pods": 1}.items())))
    return Task(name, "n", name, shape, state, node, queue=draw(st.sampled_from(["a", "b", "nobody's"])))


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    amounts = {**draw(AMOUNTS), "pods": 10}
    return Node(draw(st.sampled_from(["n1", "n2"])), allocatable=amounts, ready=draw(st.booleans()))


EVENTS = st.one_of(
    tasks().map(TaskSeen),
    tasks().map(TaskSeen),
    nodes().map(NodeSeen),
    st.sampled_from([NodeGone("n1"), TaskGone("p1"), QueueSeen(Queue("c", terms={SMALL: Terms(1)}))]),
    st.sampled_from([*TABLES]),
)
SETTING: tuple[Event, ...] = (
    QueueSeen(Queue("a", terms={GPU: Terms(1000)})),
    QueueSeen(Queue("b", terms={GPU: Terms(1000), SMALL: Terms(3)})),
)


@given(st.lists(st.tuples(EVENTS, st.booleans()), max_size=20))
def test_the_books_are_a_plain_sum_by_the_table_now_in_force(story: list[tuple[Event | Charges, bool]]) -> None:
    world = World()
    for event, look in [*((event, False) for event in SETTING), *story]:
        if isinstance(event, Charges):
            world.queues.read_charges(event)
        else:
            world.apply(event)
        if look:
            world.compile(0.0)
    snapshot = world.compile(0.0)
    table, worth = snapshot.queues, TABLES[world.queues.charges]

    def counted(amounts: dict[str, int]) -> list[int]:
        gpus = amounts.get(GPU, 0) + sum(floor(amounts.get(name, 0) * part) for name, part in worth.items())
        return [{**amounts, GPU: gpus}.get(name, 0) for name in table.resources]

    allocated = {queue.name: [0] * len(table.resources) for queue in table.queues}
    total = [0] * len(table.resources)
    for node in world.nodes.values():
        total = [a + node.ready * b for a, b in zip(total, counted(dict(node.allocatable)), strict=True)]
    for task in world.tasks.values():
        asked = counted(dict(task.shape.requests))
        if task.queue in allocated and task.state is State.RUNNING:
            allocated[task.queue] = [a + b for a, b in zip(allocated[task.queue], asked, strict=True)]
        there = world.nodes.get(task.node or "")
        if task.queue not in allocated and task.state in CHARGED and there is not None and there.ready:
            total = [a - b for a, b in zip(total, asked, strict=True)]
    assert dict(zip(allocated, table.allocated.tolist(), strict=True)) == allocated
    assert table.total.tolist() == [max(amount, 0) for amount in total]
    for shape, charge in zip(snapshot.shapes, snapshot.charges[:, table.columns].tolist(), strict=True):
        assert charge == counted(dict(shape.requests))
