"""What was decided and is not on the server yet: late echoes do not undo it, refusals do."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from phalanx.loop import Loop
from phalanx.model.events import NodeSeen, QueueSeen, TaskGone, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.node import Node
from phalanx.model.outcome import Bound, Evicted, Result
from phalanx.model.plan import Evict
from phalanx.model.queue import Queue, Terms
from phalanx.model.task import Shape, State, Task
from phalanx.policy.load import load_policy
from phalanx.world.world import World
from tests.oracles.room import ROOM

GPU = (("nvidia.com/gpu", 1000), ("pods", 1))


def low(number: int, **more: object) -> Task:
    task = Task(f"low-{number}", "default", f"low-{number}", Shape(GPU), State.RUNNING, "n1", created=1.0, started=2.0)
    return replace(task, **more)  # type: ignore[arg-type]


def high(number: int, size: int = 2, **more: object) -> Task:
    shape = Shape(GPU, priority=9)
    task = Task(f"high-{number}", "default", f"high-{number}", shape, membership=Membership("default/high", size))
    return replace(task, created=5.0, **more)  # type: ignore[arg-type]


def full(running: int = 2, *more: Task) -> World:
    """A node full of unimportant tasks, and an important gang of two."""
    world = World()
    world.apply(NodeSeen(Node("n1", allocatable={"nvidia.com/gpu": running * 1000, "pods": 20})))
    for task in (*map(low, range(running)), *more):
        world.apply(TaskSeen(task))
    return world


def steps(world: World, now: float = 10.0) -> list[str]:
    return [step.text().partition(":")[0] for step in Loop(world, ROOM).cycle(now).plan.steps]


KEPT = ["nominate default/high-0 n1", "nominate default/high-1 n1"]
PLAN = ["evict default/low-1 n1 for default/high", "evict default/low-0 n1 for default/high", *KEPT]


def test_who_waits_for_a_place_that_is_being_left_has_nobody_else_evicted() -> None:
    world = full(4, high(0), high(1))
    first = steps(world)
    assert sorted(line.split()[0] for line in first) == ["evict", "evict", "nominate", "nominate"]
    for now in range(11, 31):
        assert steps(world, float(now)) == KEPT
    leaving = [task.uid for task in world.tasks.values() if task.state is State.RELEASING]
    world.apply(TaskGone(leaving[0]))
    assert steps(world, 40.0) == KEPT
    world.apply(TaskGone(leaving[1]))
    assert steps(world, 41.0) == ["bind default/high-0 n1", "bind default/high-1 n1"]


def test_who_fits_into_what_others_leave_anyway_waits_for_that() -> None:
    world = full(2, high(0, 1))
    world.apply(TaskSeen(low(1, state=State.RELEASING, gone_at=40.0)))
    assert steps(world) == ["nominate default/high-0 n1"]


def test_an_echo_from_before_the_eviction_does_not_undo_it_and_a_refusal_does() -> None:
    world = full(2, high(0), high(1))
    assert steps(world) == PLAN
    world.apply(TaskSeen(low(0, labels={"late": "echo"})))
    assert (world.tasks["low-0"].state, world.tasks["low-0"].gone_at) == (State.RELEASING, 40.0)
    world.confirm(Evicted("low-0", Result.REFUSED))
    assert world.tasks["low-0"] == low(0, labels={"late": "echo"})
    world.confirm(Evicted("low-1", Result.OK))
    assert world.tasks["low-1"].state is State.RELEASING
    world.apply(TaskSeen(low(1, state=State.RELEASING, gone_at=33.0)))
    world.confirm(Evicted("low-1", Result.REFUSED))
    assert world.tasks["low-1"] == low(1, state=State.RELEASING, gone_at=33.0)


def test_a_bind_that_is_answered_after_its_task_was_asked_to_leave_changes_nothing_but_what_it_returns_to() -> None:
    world = full(2, high(0), high(1))
    world.apply(TaskGone("low-0"))
    world.apply(TaskSeen(low(2, state=State.PENDING, node=None, started=None)))
    assert "bind default/low-2 n1" in [
        step.text() for step in Loop(world, load_policy("default")).cycle(9.0).plan.steps
    ]
    steps(world)
    assert world.tasks["low-2"].state is State.RELEASING
    world.confirm(Bound("low-2", "n1", Result.OK, 11.0))
    assert world.tasks["low-2"].state is State.RELEASING
    world.confirm(Evicted("low-2", Result.REFUSED))
    assert (world.tasks["low-2"].state, world.tasks["low-2"].started) == (State.RUNNING, 11.0)


def test_an_echo_from_before_the_nomination_does_not_undo_it_and_the_servers_word_counts_after_its_own_echo() -> None:
    world = full(2, high(0), high(1))
    steps(world)
    world.apply(TaskSeen(high(0, labels={"a": "condition"})))
    assert world.tasks["high-0"].nominated == "n1"
    world.apply(TaskSeen(high(0, nominated="n1")))
    world.apply(TaskSeen(high(0, nominated="n2")))
    assert world.tasks["high-0"].nominated == "n2"
    world.nominate("high-0", None)
    world.apply(TaskSeen(high(0, nominated="n2")))
    assert world.tasks["high-0"].nominated is None


def test_a_bind_that_is_refused_keeps_the_place_for_its_gang() -> None:
    world = full(2, high(0, 1, nominated="n1"))
    world.apply(TaskGone("low-0"))
    assert steps(world) == ["bind default/high-0 n1"]
    world.apply(TaskSeen(low(2, state=State.PENDING, node=None, started=None)))
    world.confirm(Bound("high-0", "n1", Result.REFUSED, 11.0))
    world.rest("gang/default/high", 60.0, "its bind was refused")
    assert [line.split()[0] for line in steps(world, 12.0)] == ["wait", "wait"]
    assert steps(world, 61.0) == ["bind default/high-0 n1", "wait default/low-2 1 full"]


def test_a_place_is_given_back_when_there_is_no_room_any_more() -> None:
    world = full(2, high(0, 1))
    steps(world)
    assert world.nominated == {"n1": {"high-0": None}}
    leaving = next(task.uid for task in world.tasks.values() if task.state is State.RELEASING)
    world.apply(TaskSeen(replace(world.tasks[leaving], ours=False)))
    (stays,) = (task for task in world.tasks.values() if task.state is State.RUNNING)
    world.apply(TaskSeen(replace(stays, preemptible=False)))
    assert [line.split()[0] for line in steps(world, 700.0)] == ["release", "wait"]
    assert world.nominated == {}


def test_a_place_that_the_limit_of_its_queue_forbids_is_given_back_and_it_is_told_why() -> None:
    world = World()
    world.apply(NodeSeen(Node("n1", allocatable={"nvidia.com/gpu": 2000, "pods": 20})))
    for name, limit in (("a", 1000), ("b", 9000)):
        world.apply(QueueSeen(Queue(name, terms={"nvidia.com/gpu": Terms(quota=1000, limit=limit)})))
    for number in range(2):
        world.apply(TaskSeen(high(number, nominated="n1", queue="a")))
        world.apply(TaskSeen(replace(low(number), state=State.PENDING, node=None, started=None, queue="b")))
    assert sorted(steps(world)) == [
        "bind default/low-0 n1", "bind default/low-1 n1", "release default/high-0 n1", "release default/high-1 n1",
        "wait default/high 2 held",
    ]  # fmt: skip
    assert world.nominated == {}


class Story:
    """A cluster of which anything may be heard in between, and who was asked to leave and not refused."""

    def __init__(self) -> None:
        self.world = full(3, high(0), high(1))
        self.loop = Loop(self.world, ROOM)
        self.asked: dict[str, None] = {}
        self.now = 10.0

    def happens(self, what: str) -> None:
        self.now += 1.0
        first = next((uid for uid in self.asked if uid in self.world.tasks), None)
        if what == "cycle":
            self.cycle()
        elif what == "condition" and self.world.tasks["high-0"].state is State.PENDING:
            self.world.apply(TaskSeen(high(0)))
        elif first is not None:
            self.hear(what, first)

    def cycle(self) -> None:
        for step in self.loop.cycle(self.now).plan.steps:
            if isinstance(step, Evict):
                assert step.uid not in self.asked
                self.asked[step.uid] = None
        assert len(self.asked) <= 2

    def hear(self, what: str, first: str) -> None:
        number = int(first[-1])
        if what == "echo" and self.world.tasks[first].gone_at != 0.0:
            self.world.apply(TaskSeen(low(number)))
        elif what == "seen":
            self.world.apply(TaskSeen(low(number, state=State.RELEASING, gone_at=0.0)))
        elif what == "go":
            self.world.apply(TaskGone(first))
        elif what == "refuse":
            self.world.confirm(Evicted(first, Result.REFUSED))
            if self.world.tasks[first].state is State.RUNNING:
                del self.asked[first]


@given(st.lists(st.sampled_from(["echo", "condition", "cycle", "refuse", "go", "seen"]), max_size=12))
def test_nobody_is_asked_to_leave_twice(happenings: list[str]) -> None:
    """Whatever is heard in between, only who was refused is asked again, and no more leave than room is needed for."""
    story = Story()
    for what in ["cycle", *happenings, "cycle"]:
        story.happens(what)
