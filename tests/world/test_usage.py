"""What queues used in the past: remembered over a window, fading, and across a restart."""

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.model.duration import Seconds
from phalanx.model.events import Event, NodeSeen, QueueGone, QueueSeen, TaskGone, TaskSeen
from phalanx.model.node import Node
from phalanx.model.outcome import Bound, Result
from phalanx.model.plan import Bind, Plan
from phalanx.model.queue import Queue, Terms
from phalanx.model.reference import Reference
from phalanx.model.task import Shape, State, Task
from phalanx.model.usage import Memory
from phalanx.world.world import World


def memory(window: float, half_life: float | None = None) -> Memory:
    return Memory(Seconds(window), None if half_life is None else Seconds(half_life))


DAY = memory(86_400.0)
FADING = memory(86_400.0, 3600.0)


def queue(name: str, uid: str = "1") -> QueueSeen:
    return QueueSeen(Queue(name, terms={"cpu": Terms()}, uid=uid))


def pod(name: str, queue: str, cores: int, *, runs: bool = True) -> Task:
    shape = Shape((("cpu", cores * 1000), ("pods", 1)))
    state, node = (State.RUNNING, "n1") if runs else (State.PENDING, None)
    return Task(name, "default", name, shape, state, node, queue=queue)


def world_of(memory: Memory | None, *events: Event | Task) -> World:
    world = World()
    world.remember(memory)
    world.apply(NodeSeen(Node("n1", allocatable={"cpu": 10_000, "pods": 99})))
    for event in events:
        world.apply(TaskSeen(event) if isinstance(event, Task) else event)
    return world


def used(world: World, now: float) -> dict[str, float]:
    table = world.compile(now).queues
    return {one.name: round(row[0], 6) for one, row in zip(table.queues, table.usage.tolist(), strict=True)}


def test_nothing_is_remembered_unless_asked_for() -> None:
    world = world_of(None, queue("a"), pod("p", "a", 5))
    assert [used(world, now) for now in (0.0, 1000.0)] == [{"a": 0.0}, {"a": 0.0}]
    assert world.queues.usage is None


def test_use_is_the_part_of_what_there_was_while_it_was_there() -> None:
    world = world_of(DAY, queue("a"), queue("b"), pod("p", "a", 5))
    assert used(world, 1000.0) == {"a": 0.0, "b": 0.0}
    assert used(world, 2000.0) == {"a": 0.5, "b": 0.0}
    world.apply(TaskGone("p"))
    world.apply(TaskSeen(pod("q", "b", 10)))
    assert used(world, 2000.0) == {"a": 0.5, "b": 0.0}
    assert used(world, 3000.0) == {"a": 0.25, "b": 0.5}


def test_what_a_cycle_decides_counts_from_then_on() -> None:
    world = world_of(DAY, queue("a"), pod("p", "a", 5, runs=False))
    used(world, 0.0)
    world.assume(Plan(0.0, (Bind("default/p", "p", "n1", "default/p", "Pod/p"),)))
    world.confirm(Bound("p", "n1", Result.OK, 0.0))
    assert used(world, 100.0) == {"a": 0.5}


def test_what_is_older_than_the_window_drops_out_steadily() -> None:
    world = world_of(DAY, queue("a"), pod("p", "a", 5))
    used(world, 0.0)
    used(world, 43_200.0)
    world.apply(TaskGone("p"))
    found = [used(world, 43_200.0 * step)["a"] for step in (1, 1.5, 2, 2.5, 2.75, 3, 4)]
    assert found == [0.5, 0.333333, 0.25, 0.125, 0.0625, 0.0, 0.0]


def test_with_a_half_life_what_is_older_counts_less() -> None:
    world = world_of(FADING, queue("a"), pod("p", "a", 10))
    used(world, 0.0)
    world.compile(3600.0)
    world.apply(TaskGone("p"))
    # One hour of use that ended an hour ago, against two hours of capacity.
    world.compile(3600.0)
    assert used(world, 7200.0)["a"] == pytest.approx(0.25 / 0.75 * 1.0, abs=1e-6)


def test_a_clock_that_goes_back_or_leaps_breaks_nothing() -> None:
    world = world_of(DAY, queue("a"), pod("p", "a", 5))
    for now in (5000.0, 6000.0, 4000.0, 5000.0, 1e9, 0.0, 1e9, -1e9):
        found = used(world, now)
    assert found == {"a": 0.5}


def test_a_queue_that_is_made_again_starts_anew_and_one_that_is_set_aside_goes_on() -> None:
    world = world_of(DAY, queue("a"), pod("p", "a", 5))
    used(world, 0.0)
    assert used(world, 100.0) == {"a": 0.5}
    world.apply(QueueSeen(replace(queue("a").queue, parent="x")))
    world.apply(queue("b"))
    assert used(world, 100.0) == {"b": 0.0}
    world.apply(queue("a"))
    # Meanwhile its pod ran outside every queue, and there was less to divide.
    assert used(world, 200.0) == {"a": 0.333333, "b": 0.0}
    world.apply(queue("a", uid="2"))
    assert used(world, 200.0) == {"a": 0.0, "b": 0.0}
    world.apply(QueueGone(Reference("Queue", "b")))
    assert used(world, 300.0) == {"a": 0.2}


@pytest.mark.parametrize("kept", [DAY, FADING, memory(60.0, 60.0)])
def test_a_restart_forgets_nothing_whether_from_a_file_or_from_each_queue(kept: Memory) -> None:
    world = world_of(kept, queue("a"), queue("b"), pod("p", "a", 5), pod("q", "b", 2))
    for now in (0.0, 4000.0, 50_000.0):
        world.compile(now)
    before = used(world, 50_010.0)
    usage = world.queues.usage
    assert usage is not None
    whole = json.loads(json.dumps(usage.export()))
    statuses = {name: json.loads(json.dumps(usage.export(name))) for name in "ab"}

    from_file = world_of(kept, queue("a"), queue("b"))
    assert from_file.queues.usage is not None
    assert from_file.queues.usage.load(whole) is None
    assert used(from_file, 50_010.0) == before

    seen = [replace(queue(name), status={"usage": statuses[name]}) for name in "ab"]
    assert used(world_of(kept, *seen), 50_010.0) == before
    late = world_of(None, *seen)
    late.remember(kept)
    assert used(late, 50_010.0) == before
    # The status that we write ourselves comes back as an event, and is not read again.
    late.apply(replace(seen[0], status={"usage": statuses["b"]}))
    assert used(late, 50_010.0) == before
    # Of the time in which nobody looked nothing is known, so it counts for nobody.
    assert used(world_of(kept, *seen), 50_015.0)["a"] == pytest.approx(before["a"], abs=1e-6)


def test_statuses_that_were_written_at_different_times_are_laid_side_by_side() -> None:
    world = world_of(FADING, queue("a"), queue("b"), pod("p", "a", 5), pod("q", "b", 2))
    usage = world.queues.usage
    assert usage is not None
    world.compile(0.0)
    world.compile(9000.0)
    older = usage.export("b")
    world.apply(TaskGone("q"))
    world.compile(9000.0)
    before = used(world, 13_000.0)
    seen = [replace(queue("a"), status={"usage": usage.export("a")}), replace(queue("b"), status={"usage": older})]
    assert used(world_of(FADING, *seen), 13_000.0) == before


@pytest.mark.parametrize(
    "text",
    [
        None,
        7,
        "x",
        [],
        {},
        {"at": "now"},
        {"at": math.nan},
        {"at": 10**400},
        {"at": 1.0, "window": 60.0, "halfLife": None},
        {"at": 1.0, "window": 86_400.0, "halfLife": None, "total": []},
        {"at": 1.0, "window": 86_400.0, "halfLife": None, "total": {"cpu": [1] * 99}, "queues": {}},
        {"at": 1.0, "window": 86_400.0, "halfLife": None, "total": {"cpu": [-1]}, "queues": {}},
        {"at": 1.0, "window": 86_400.0, "halfLife": None, "total": {"cpu": [1]}, "queues": {"a": 7}},
        {"at": 1.0, "window": 86_400.0, "halfLife": None, "total": {"cpu": [1]}},
    ],
)
def test_what_is_no_memory_is_left_out_with_a_sentence(text: object) -> None:
    world = world_of(DAY, queue("a"), pod("p", "a", 5))
    assert world.queues.usage is not None
    said = world.queues.usage.load(text)
    assert said is not None
    assert said.startswith("usage")
    used(world, 0.0)
    assert used(world, 10.0) == {"a": 0.5}


def test_a_memory_from_the_far_future_is_no_memory() -> None:
    text = {"at": 1e10, "window": 86_400.0, "halfLife": None, "total": {"cpu": [9.0]}, "used": {"cpu": [9.0]}}
    assert used(world_of(DAY, replace(queue("a"), status={"usage": text})), 0.0) == {"a": 0.0}


#: In whole milliseconds: of shorter spans the plain sum is zero, as floats have it.
STEPS = st.lists(
    st.tuples(st.integers(0, 20_000_000).map(lambda span: span / 1000), st.integers(0, 10)), min_size=1, max_size=12
)


@given(STEPS, st.sampled_from([DAY, FADING, memory(20_000.0), memory(7000.0, 100.0)]))
def test_use_is_the_faded_integral_of_what_was_allocated(steps: list[tuple[float, int]], kept: Memory) -> None:
    """Against a plain sum over the pieces, each integrated exactly; the oldest slot makes the only difference."""
    world = world_of(kept, queue("a"))
    now = 0.0
    pieces = []
    world.compile(now)
    for span, cores in steps:
        world.apply(TaskSeen(pod("p", "a", cores)))
        world.compile(now)
        pieces.append((now, now + span, cores / 10))
        now += span
        found = used(world, now)["a"]

    def integral(begin: float, end: float) -> float:
        begin = max(begin, now - kept.window)
        if end <= begin:
            return 0.0
        if kept.half_life is None:
            return end - begin
        scale = kept.half_life / math.log(2)
        return scale * (math.exp(-(now - end) / scale) - math.exp(-(now - begin) / scale))

    whole = sum(integral(begin, end) for begin, end, _ in pieces)
    part = sum(integral(begin, end) * share for begin, end, share in pieces)
    slot = kept.window / 32 / max(min(now, kept.window), 1e-9) if now > kept.window else 0.0
    assert found == pytest.approx(part / whole if whole else 0.0, abs=1e-5 + slot)
