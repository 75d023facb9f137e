"""The queue table: what each queue owns, what runs and waits in it, and what there is to divide."""

from collections.abc import Mapping
from dataclasses import replace

from phalanx.model.axis import AMOUNT_MAX, SUM_MAX, Bool, Int
from phalanx.model.events import Event, NodeGone, NodeSeen, QueueGone, QueueSeen, Refused, TaskGone, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.node import Node
from phalanx.model.queue import UNLIMITED, WEIGHT_ONE, Queue, Terms
from phalanx.model.queue_table import QueueTable
from phalanx.model.reference import Reference
from phalanx.model.task import Hold, Shape, State, Task
from phalanx.world.queues import QueueReport
from phalanx.world.world import World

CPU = {"cpu": Terms(4000)}


def queue(name: str, parent: str | None = None, terms: Mapping[str, Terms] | None = None) -> QueueSeen:
    return QueueSeen(Queue(name, parent=parent, terms=CPU if terms is None else terms))


def node(name: str, cpu: int = 8000, *, ready: bool = True, cordoned: bool = False) -> NodeSeen:
    return NodeSeen(Node(name, allocatable={"cpu": cpu, "pods": 10}, ready=ready, cordoned=cordoned))


def pod(name: str, queue: str | None, cpu: int = 1000, on: str | None = None) -> Task:
    state = State.PENDING if on is None else State.RUNNING
    return Task(name, "default", name, Shape((("cpu", cpu), ("pods", 1))), state, on, queue=queue)


def world_of(*events: Event | Task) -> World:
    world = World()
    for event in events:
        world.apply(TaskSeen(event) if isinstance(event, Task) else event)
    return world


def table_of(*events: Event | Task) -> QueueTable:
    return world_of(*events).compile(0.0).queues


def by_name(table: QueueTable, values: Int | Bool) -> dict[str, list[int]]:
    return {one.name: row for one, row in zip(table.queues, values.tolist(), strict=True)}


def test_without_any_queue_the_default_is_not_governed() -> None:
    table = table_of(node("n1"), pod("p", None))
    assert ([one.name for one in table.queues], table.resources, table.paths[0].tolist()) == (["default"], (), [0])
    assert (len(table), table.levels, table.quota.shape) == (1, 1, (1, 0))


def test_what_a_queue_does_not_list_and_what_its_parent_then_has() -> None:
    gpus = {"nvidia.com/gpu": Terms(2000, 5000, 3 * WEIGHT_ONE)}
    table = table_of(
        queue("top", terms={}), queue("a", "top", gpus), queue("b", "top", {"nvidia.com/gpu": Terms(1000)}),
        queue("c", terms={"cpu": Terms(UNLIMITED)}), queue("d", terms={}),
    )  # fmt: skip
    assert (table.resources, table.grain.tolist()) == (("cpu", "nvidia.com/gpu"), [1, 1000])
    assert by_name(table, table.quota) == {
        "c": [UNLIMITED, 0], "d": [0, 0], "top": [0, 3000], "a": [0, 2000], "b": [0, 1000],
    }  # fmt: skip
    assert by_name(table, table.limit)["a"] == [UNLIMITED, 5000]
    assert by_name(table, table.weight)["a"] == [WEIGHT_ONE, 3 * WEIGHT_ONE]
    assert by_name(table, table.listed)["a"] == [False, True]
    assert table.paths[3].tolist() == [3, 2]


def test_who_must_not_borrow_has_the_quota_as_limit() -> None:
    strict = Queue("a", terms={"cpu": Terms(4000, 9000), "memory": Terms(5, 3)}, borrowing=False)
    table = table_of(QueueSeen(strict))
    assert by_name(table, table.limit) == {"a": [4000, 3]}


def test_what_runs_and_what_waits_is_counted_up_to_the_root() -> None:
    fixed = replace(pod("r2", "b", 2000, "n1"), preemptible=False)
    table = table_of(
        node("n1"), queue("top"), queue("a", "top"), queue("b", "top"), pod("r1", "a", 1000, "n1"), fixed,
        pod("w1", "a", 500), pod("w2", "b", 700),
    )  # fmt: skip
    assert by_name(table, table.allocated) == {"top": [3000], "a": [1000], "b": [2000]}
    assert by_name(table, table.fixed) == {"top": [2000], "a": [0], "b": [2000]}
    assert by_name(table, table.requested) == {"top": [4200], "a": [1500], "b": [2700]}


def test_terminating_finished_and_held_tasks_do_not_count() -> None:
    gone = [replace(pod(f"{state}", "a", 1000, "n1"), state=state) for state in (State.RELEASING, State.SUCCEEDED)]
    gated = replace(pod("gated", "a"), hold=Hold("spec.schedulingGates", "gated"))
    unclear = replace(pod("unclear", "a"), membership=Membership("default/g", None))
    table = table_of(node("n1"), queue("a"), *gone, gated, unclear, pod("w", "a", 300))
    assert (table.allocated.tolist(), table.requested.tolist()) == ([[0]], [[300]])


def test_what_runs_outside_every_queue_is_not_there_to_divide() -> None:
    stranger = replace(pod("x", None, 1000, "n1"), ours=False)
    lost = pod("lost", "nowhere", 2000, "n1")
    leaving = replace(pod("leaving", "a", 500, "n1"), state=State.RELEASING)
    nodes = [node("n1"), node("n2", cordoned=True), node("n3", ready=False)]
    mine = [pod("r", "a", 3000, "n1"), pod("far", "a", 100, "n3"), pod("ghost", "a", 10, "n9")]
    table = table_of(*nodes, queue("a"), stranger, lost, leaving, *mine)
    assert table.total.tolist() == [16000 - 1000 - 2000]
    assert table.allocated.tolist() == [[3110]]


def test_what_there_is_to_divide_follows_nodes_and_queues() -> None:
    world = world_of(node("n1"), node("n2"), queue("a"), pod("lost", "b", 1000, "n2"))
    assert world.compile(0.0).queues.total.tolist() == [15000]
    world.apply(node("n2", ready=False))
    assert world.compile(0.0).queues.total.tolist() == [8000]
    world.apply(node("n2"))
    world.apply(queue("b"))
    assert world.compile(0.0).queues.total.tolist() == [16000]
    world.apply(NodeGone("n1"))
    assert world.compile(0.0).queues.total.tolist() == [8000]
    world.apply(QueueGone(Reference("Queue", "b")))
    world.apply(node("n2", 500))
    assert world.compile(0.0).queues.total.tolist() == [0]


def test_sums_stop_instead_of_wrapping() -> None:
    huge = {"memory": Terms(UNLIMITED)}
    shape = Shape((("memory", AMOUNT_MAX), ("pods", 1)))
    tasks = [replace(pod(f"p{n}", "ab"[n % 2]), shape=shape) for n in range(600)]
    table = table_of(queue("top", terms={}), queue("a", "top", huge), queue("b", "top", huge), *tasks)
    assert by_name(table, table.quota) == {"top": [SUM_MAX], "a": [SUM_MAX], "b": [SUM_MAX]}
    assert by_name(table, table.requested) == {"top": [SUM_MAX], "a": [300 * AMOUNT_MAX], "b": [300 * AMOUNT_MAX]}


def test_ages_are_ranked_by_creation_then_uid() -> None:
    made = [("a", 3.0, "1"), ("b", 1.0, "9"), ("c", 1.0, "2")]
    table = table_of(*(QueueSeen(Queue(name, created=created, uid=uid)) for name, created, uid in made))
    assert dict(zip("abc", table.age.tolist(), strict=True)) == {"a": 2, "b": 1, "c": 0}


def test_gangs_know_their_row_or_have_none() -> None:
    snapshot = world_of(
        queue("a"),
        queue("b"),
        pod("p1", "b"),
        pod("p2", "nowhere"),
        replace(pod("p3", "a"), preemptible=False, patience=5.0),
    ).compile(0.0)
    gangs = snapshot.gangs
    assert gangs.queue.tolist() == [1, -1, 0]
    assert gangs.preemptible.tolist() == [True, True, False]
    assert gangs.patience.tolist() == [0.0, 0.0, 5.0]


def test_a_queue_change_or_a_patience_that_runs_out_makes_a_decision_due() -> None:
    world = world_of(node("n1"), queue("a"), replace(pod("p", "a"), created=10.0, patience=30.0))
    world.compile(20.0)
    assert [world.due(now) is not None for now in (20.0, 39.0, 40.0)] == [False, False, True]
    world.compile(40.0)
    assert not world.due(1e9)
    world.apply(QueueSeen(Queue("a", terms=CPU), status={"allocated": {}}))
    assert not world.due(41.0)
    world.apply(queue("b"))
    assert world.due(41.0)


def test_a_cycle_is_due_for_queues_that_have_less_though_nobody_waits() -> None:
    world = world_of(node("n1"), queue("a"), pod("r", "a", 1000, "n1"))
    world.compile(0.0)
    assert not world.due(0.0)
    world.apply(TaskGone("r"))
    assert world.due(0.0)


def test_a_report_names_every_object_and_what_is_wrong_with_it() -> None:
    top, a, lost = Queue("top", terms=CPU), Queue("a", parent="top", terms=CPU), Queue("lost", parent="x", terms=CPU)
    world = world_of(
        node("n1"), *map(QueueSeen, (top, a, lost)), Refused("Queue", "bad", "spec.priority", "found x", queue=True),
        pod("r", "a", 1000, "n1"), pod("w", "a", 500), pod("v", "lost"),
    )  # fmt: skip
    world.compile(0.0)
    have = ({"cpu": 1000}, {"cpu": 1500}, 1)
    assert world.queues.report() == [
        QueueReport(Reference("Queue", "a"), a, *have, None),
        QueueReport(Reference("Queue", "bad"), None, {}, {}, 0, "spec.priority: found x"),
        QueueReport(Reference("Queue", "lost"), lost, {}, {}, 1, "spec.parent: there is no Queue x"),
        QueueReport(Reference("Queue", "top"), top, *have, None),
    ]
