"""A promise: the tables do not depend on what happened before, only on what is there."""

import dataclasses
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.model.events import (
    Event,
    NamespaceGone,
    NamespaceSeen,
    NodeGone,
    NodeSeen,
    QueueGone,
    QueueSeen,
    Refused,
    TaskGone,
    TaskSeen,
)
from phalanx.model.gang import Membership
from phalanx.model.node import Node
from phalanx.model.queue import UNLIMITED, Queue, Terms
from phalanx.model.snapshot import Snapshot
from phalanx.model.task import Hold, Shape, State, Task
from phalanx.world.world import World

NAMES = ("a", "b", "c", "d", "default")
KINDS = ("Queue", "Queue.scheduling.run.ai")
RESOURCES = ("cpu", "nvidia.com/gpu", "example.com/dongle")
PODS = 10
AMOUNTS = st.sampled_from([0, 1000, 3000, 2**53])

TERMS = st.builds(Terms, st.sampled_from([0, 2000, 2**53, UNLIMITED]), st.sampled_from([1000, UNLIMITED]))
QUEUES = st.builds(
    Queue,
    st.sampled_from(NAMES),
    parent=st.none() | st.sampled_from([None, None, *NAMES, "x"]),
    priority=st.integers(-1, 1),
    terms=st.dictionaries(st.sampled_from(RESOURCES), TERMS, max_size=3),
    borrowing=st.booleans(),
    namespaces=st.sampled_from([None, None, None, frozenset({"n"}), frozenset({"m"}), frozenset[str]()]),
    created=st.integers(0, 2).map(float),
    uid=st.sampled_from("12"),
    kind=st.sampled_from(KINDS),
)
NODES = st.builds(
    Node,
    st.sampled_from(["n1", "n2"]),
    allocatable=st.dictionaries(st.sampled_from(RESOURCES), AMOUNTS, max_size=3),
    ready=st.sampled_from([True, True, False]),
    cordoned=st.booleans(),
)


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    name = draw(st.sampled_from([f"p{number}" for number in range(PODS)]))
    amounts = draw(st.dictionaries(st.sampled_from(RESOURCES), AMOUNTS, max_size=3))
    state = draw(st.sampled_from([State.PENDING, State.PENDING, State.RUNNING, State.RELEASING, State.SUCCEEDED]))
    ours = draw(st.integers(0, 4)) > 0
    return Task(
        name, draw(st.sampled_from(["n", "m"])), name, Shape(tuple(sorted({**amounts, "pods": 1}.items()))),
        state if ours or state is not State.PENDING else State.RUNNING,
        None if state is State.PENDING and ours else draw(st.sampled_from(["n1", "n2", "n3"])),
        ours=ours,
        membership=draw(st.sampled_from([None, None, None, Membership("n/g", 1), Membership("n/h", 2)])),
        hold=Hold("spec.schedulingGates", "gated") if draw(st.integers(0, 7)) == 0 else None,
        nominated=draw(st.none() | st.sampled_from(["n1", "n3"])) if state is State.PENDING and ours else None,
        queue=draw(st.none() | st.sampled_from((*NAMES, "x"))),
        preemptible=draw(st.booleans()),
        patience=draw(st.none() | st.just(7.0)),
    )  # fmt: skip


#: A cluster in which something can change: without it most stories would be told of nobody.
SETTING: tuple[Event, ...] = (
    *(NodeSeen(Node(name, allocatable={"cpu": 9000, "nvidia.com/gpu": 8000})) for name in ("n1", "n2")),
    *(QueueSeen(Queue(name, terms={"cpu": Terms(2000)}, uid="1")) for name in ("a", "b")),
    *(
        TaskSeen(Task(f"p{n}", "n", f"p{n}", Shape((("cpu", 1000 + n), ("pods", 1))), queue="abx"[n % 3]))
        for n in range(PODS // 2)
    ),
    *(
        TaskSeen(
            Task(f"p{n}", "n", f"p{n}", Shape((("cpu", 1000), ("pods", 1))), State.RUNNING, "n1", queue="abx"[n % 3])
        )
        for n in range(PODS // 2, PODS)
    ),
)

EVENTS = st.one_of(
    QUEUES.map(QueueSeen),
    QUEUES.map(QueueSeen),
    QUEUES.map(lambda queue: QueueGone(queue.object, queue.uid)),
    QUEUES.map(lambda queue: Refused(queue.kind, queue.name, "spec", "found x", queue=True)),
    NODES.map(NodeSeen),
    st.sampled_from([NodeGone("n1"), NodeGone("n2")]),
    tasks().map(TaskSeen),
    tasks().map(TaskSeen),
    tasks().map(TaskSeen),
    st.sampled_from([f"p{number}" for number in range(PODS)]).map(TaskGone),
    st.builds(NamespaceSeen, st.sampled_from("nm"), st.sampled_from([{}, {"phalanx.dev/queue": "a"}])),
    st.sampled_from("nm").map(NamespaceGone),
)


def fresh(world: World, chance: Random) -> World:
    """Return a world that was told only what is there now, in any order."""
    events: list[Event] = [
        *map(NodeSeen, world.nodes.values()),
        *map(TaskSeen, world.tasks.values()),
        *(NamespaceSeen(name, labels) for name, labels in world.namespaces.items()),
        *world.queues.seen.values(),
        *world.queues.refused.values(),
    ]
    chance.shuffle(events)
    other = World()
    other.look_for_victims(wanted=True)
    for event in events:
        other.apply(event)
    return other


def plain(thing: object) -> object:
    """Return tables as values that can be compared."""
    if isinstance(thing, np.ndarray):
        return thing.tolist()
    if isinstance(thing, tuple | list):
        return [plain(one) for one in thing]
    if isinstance(thing, dict):
        return {key: plain(value) for key, value in thing.items()}
    if dataclasses.is_dataclass(thing):
        return {field.name: plain(getattr(thing, field.name)) for field in dataclasses.fields(thing) if field.compare}
    return thing


def tables(snapshot: Snapshot) -> object:
    return plain([
        snapshot.queues, snapshot.gangs, snapshot.tasks, snapshot.running, snapshot.shapes, snapshot.requests,
    ])  # fmt: skip


@settings(max_examples=200)
@given(st.lists(st.tuples(EVENTS, st.booleans()), min_size=2, max_size=20), st.randoms())
def test_the_tables_after_any_story_are_those_of_who_has_just_read_what_is_there(
    story: list[tuple[Event, bool]], chance: Random
) -> None:
    world = World()
    world.look_for_victims(wanted=True)
    for event, look in [*((event, False) for event in SETTING), *story]:
        world.apply(event)
        if look:
            world.compile(0.0)
    other = fresh(world, chance)
    assert tables(world.compile(0.0)) == tables(other.compile(0.0))
    assert world.queues.report() == other.queues.report()


@given(st.lists(EVENTS, max_size=20))
def test_what_queues_have_is_what_their_tasks_ask_for(story: list[Event]) -> None:
    """Against a plain sum over every task, queue by queue up to the root."""
    world = World()
    for event in (*SETTING, *story):
        world.apply(event)
    snapshot = world.compile(0.0)
    table = snapshot.queues
    allocated = {queue.name: dict.fromkeys(table.resources, 0) for queue in table.queues}
    outside = dict.fromkeys(table.resources, 0)
    for task in world.tasks.values():
        gang = world.gang_of(task)
        row = table.row.get(gang.queue, -1) if gang is not None else -1
        taken = gang is not None and row >= 0 and table.leaf[row] and _admitted(world, task, gang.queue)
        above = row if taken and task.charged and task.state is not State.RELEASING else -1
        for name, amount in task.shape.requests:
            at = above
            while at >= 0 and name in table.resources:
                allocated[table.queues[at].name][name] += amount
                at = int(table.parent[at])
            on = world.nodes.get(task.node or "")
            if name in table.resources and task.charged and not taken and on is not None and on.ready:
                outside[name] += amount
    there = {name: sum(n.allocatable.get(name, 0) for n in world.nodes.values() if n.ready) for name in outside}
    assert table.total.tolist() == [max(there[name] - outside[name], 0) for name in table.resources]
    assert table.allocated.tolist() == [list(allocated[queue.name].values()) for queue in table.queues]


def _admitted(world: World, task: Task, queue: str) -> bool:
    """Tell whether the queue takes the namespace of the gang's first member, by uid."""
    namespaces = world.queues.tree.queues[world.queues.tree.row[queue]].namespaces
    key = task.membership.gang if task.membership else None
    fellows = [
        one
        for one in world.tasks.values()
        if one.ours and one.state is not State.SUCCEEDED and key and one.membership and one.membership.gang == key
    ]
    first = min([*fellows, task], key=lambda one: one.uid)
    return namespaces is None or first.namespace in namespaces
