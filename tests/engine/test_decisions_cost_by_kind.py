"""What a cycle costs when there is nothing to decide: work per kind of request, never per unit. Counted, not timed."""

from collections import Counter

import numpy as np
import pytest

from phalanx.engine import explain as explaining
from phalanx.engine.placement import copies as counting
from phalanx.engine.session.memory import ALWAYS, Memory
from phalanx.engine.session.units import Units, gang_units
from phalanx.loop import Loop
from phalanx.model.events import NodeSeen, QueueSeen, TaskSeen
from phalanx.model.node import Node
from phalanx.model.queue import Queue, Terms
from phalanx.model.snapshot import Snapshot
from phalanx.model.task import Shape, State, Task
from phalanx.world.world import World
from tests.oracles.room import NOW, ROOM, world_of

GPU = "nvidia.com/gpu"


def full(units: int, shapes: int, queues: int) -> World:
    """Return full nodes whose pods nobody may evict, and so many waiting pods, of these shapes in turn, per queue."""
    events = [QueueSeen(Queue(f"q{number:02}", terms={GPU: Terms(quota=8000)})) for number in range(queues)]
    world = world_of(
        [*events, *(NodeSeen(Node(f"n{n}", allocatable={GPU: 8000, "cpu": 64_000, "pods": 99})) for n in range(8))]
    )
    eight = Shape(((GPU, 8000), ("pods", 1)))
    for number in range(8):
        name = f"full{number}"
        world.apply(
            TaskSeen(
                Task(
                    name, "default", name, eight, State.RUNNING, f"n{number}", started=0.0, queue="q00",
                    preemptible=False,
                )
            )
        )  # fmt: skip
    kinds = [Shape((("cpu", 10 + one), (GPU, 1000), ("pods", 1))) for one in range(shapes)]
    for number in range(units):
        name = f"w{number:05}"
        queue = f"q{number // shapes % queues:02}"
        world.apply(TaskSeen(Task(name, "default", name, kinds[number % shapes], queue=queue, created=1.0)))
    return world


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often a refusal is put into words, and how often all filters are asked."""
    found: Counter[str] = Counter()
    for module, name in ((explaining, "_explain"), (counting, "_copies")):
        real = getattr(module, name)

        def wrapped(*args: object, real: object = real, name: str = name) -> object:
            found[name] += 1
            return real(*args)  # type: ignore[operator]

        monkeypatch.setattr(module, name, wrapped)
    return found


@pytest.mark.parametrize("units", [40, 400, 1600])
def test_a_backlog_in_which_nothing_can_be_decided_costs_by_its_kinds(units: int, counts: Counter[str]) -> None:
    """Twenty shapes in four queues. Nothing changes the books, so whatever was worked out once holds for all."""
    plan = Loop(full(units, 20, 4), ROOM).cycle(NOW).plan
    assert len(plan.waits) == units == len(plan.steps)
    assert counts["_explain"] <= 20
    assert counts["_copies"] <= 3 * 20


def test_a_second_cycle_costs_no_more(counts: Counter[str]) -> None:
    loop = Loop(full(400, 20, 4), ROOM)
    loop.cycle(NOW)
    first = Counter(counts)
    loop.cycle(NOW + 1.0)
    assert counts - first <= first


def test_as_many_shapes_as_there_may_be_are_each_explained_once(counts: Counter[str]) -> None:
    """Three hundred shapes in twenty queues are looked at in turn, queue by queue: no answer is forgotten meanwhile."""
    plan = Loop(full(6000, 300, 20), ROOM).cycle(NOW).plan
    assert len(plan.waits) == 6000
    assert counts["_explain"] <= 300
    assert counts["_copies"] <= 3 * 300


def test_a_session_remembers_more_than_a_few_answers() -> None:
    memory, asked = Memory(), Counter[int]()

    def answer(key: int) -> int:
        asked[key] += 1
        return key

    for _ in range(3):
        for key in range(5000):
            assert memory.once(key, ALWAYS, lambda key=key: answer(key)) == key  # type: ignore[misc]
    assert set(asked.values()) == {1}


def test_a_session_forgets_the_oldest_arrays_when_they_are_large() -> None:
    memory = Memory()
    first = memory.once("first", ALWAYS, lambda: np.zeros(2**20))
    for number in range(100):
        memory.once(number, ALWAYS, lambda: np.zeros(2**20))
    assert memory.once("first", ALWAYS, lambda: np.ones(1)) is not first


def test_the_units_of_a_cycle_are_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found: Counter[str] = Counter()

    def counted(snapshot: Snapshot) -> Units:
        found["gang_units"] += 1
        return gang_units(snapshot)

    monkeypatch.setattr("phalanx.engine.session.session.gang_units", counted)
    Loop(full(40, 20, 4), ROOM).cycle(NOW)
    assert found["gang_units"] == 1
