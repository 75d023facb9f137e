"""What a queue has reserved nobody else may use, queues that need no object, and queues that take no new work."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phalanx.model.events import NodeSeen, QueueSeen, Refused, TaskSeen
from phalanx.model.node import Node
from phalanx.model.queue import UNLIMITED, Queue, Terms
from phalanx.model.task import Shape, State, Task
from phalanx.world.world import World

CPU = "cpu"


def world(*queues: Queue, cpu: int = 10_000) -> World:
    found = World()
    found.apply(NodeSeen(Node("n1", allocatable={CPU: cpu, "pods": 110_000})))
    for queue in queues:
        found.apply(QueueSeen(queue))
    return found


def limits(found: World) -> dict[str, int]:
    table = found.compile(0.0).queues
    return {queue.name: int(table.limit[row, 0]) for row, queue in enumerate(table.queues)}


def test_what_a_queue_has_reserved_is_out_of_reach_of_its_siblings_even_while_it_is_idle() -> None:
    """Volcano: the least of its bound and what is left of the cluster without the others' guarantees."""
    found = world(
        Queue("a", terms={CPU: Terms(quota=2000, reserved=2000)}),
        Queue("b", terms={CPU: Terms(quota=3000, reserved=3000, limit=6000)}),
        Queue("c", terms={CPU: Terms()}),
        Queue("d", terms={CPU: Terms(limit=1000)}),
    )
    assert limits(found) == {"a": 7000, "b": 6000, "c": 5000, "d": 1000}


def test_below_a_parent_it_is_what_the_parent_may_have_that_is_divided() -> None:
    found = world(
        Queue("lab", terms={CPU: Terms(limit=6000)}),
        Queue("a", parent="lab", terms={CPU: Terms(quota=2000, reserved=2000)}),
        Queue("b", parent="lab", terms={CPU: Terms()}),
        Queue("other", terms={CPU: Terms(quota=5000, reserved=5000)}),
    )
    assert limits(found) == {"lab": 5000, "a": UNLIMITED, "b": 3000, "other": UNLIMITED}


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=6), st.integers(0, 20_000))
def test_nobody_can_fill_what_others_have_reserved(reserved: list[int], cpu: int) -> None:
    queues = [Queue(f"q{n}", terms={CPU: Terms(quota=one, reserved=one)}) for n, one in enumerate(reserved)]
    table = world(*queues, cpu=cpu).compile(0.0).queues
    for row in range(len(table)):
        others = sum(reserved) - reserved[row]
        assert table.limit[row, 0] == (max(cpu - others, 0) if others else UNLIMITED)


def test_queues_that_need_no_object_are_there_beside_those_of_their_system() -> None:
    root, default = Queue("root"), Queue("default", "root")
    found = world(Queue("a", "root", terms={CPU: Terms()}, companions=(root, default)))
    found.compile(0.0)
    assert found.queues.tree.row.keys() == {"root", "a", "default"}
    assert [one.object.full_name for one in found.queues.report()] == ["a", "default", "root"]
    found.apply(QueueSeen(Queue("default", "a", terms={CPU: Terms(limit=1)})))
    found.compile(0.0)
    assert found.queues.tree.queues[found.queues.tree.row["default"]].parent == "a"


def test_one_of_these_that_cannot_be_read_takes_no_pods_but_is_still_above_the_others() -> None:
    root, default = Queue("root"), Queue("default", "root")
    found = world(Queue("a", "root", companions=(root, default)))
    for name in ("root", "default"):
        found.apply(Refused("Queue", name, "spec.weight", "found 0", queue=True))
    found.compile(0.0)
    assert found.queues.tree.row.keys() == {"root", "a"}


def task(uid: str, queue: str, state: State = State.PENDING) -> Task:
    node = "n1" if state is State.RUNNING else None
    return Task(uid, "ml", uid, Shape(((CPU, 1000), ("pods", 1))), queue=queue, state=state, node=node)


def test_a_queue_that_takes_no_new_work_holds_what_waits_and_keeps_what_runs_in_its_books() -> None:
    found = world(Queue("shut", hold="status.state: Closed"), Queue("below", "shut", terms={CPU: Terms()}))
    found.apply(TaskSeen(task("old", "below", State.RUNNING)))
    found.apply(TaskSeen(task("new", "below")))
    snapshot = found.compile(0.0)
    assert [gang.hold for gang in snapshot.gangs.gangs] == [
        "Queue below: Queue shut above it: status.state: Closed"
    ]  # fmt: skip
    assert snapshot.queues.allocated[snapshot.queues.row["below"], 0] == 1000
    found.apply(QueueSeen(Queue("shut")))
    reopened = found.compile(1.0)
    assert [gang.hold for gang in reopened.gangs.gangs] == [None]
    assert np.array_equal(reopened.queues.requested[reopened.queues.row["below"]], [2000])
