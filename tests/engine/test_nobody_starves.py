"""Nobody starves behind the hopeless: a search that finds nothing leaves enough for those behind it."""

import math
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from phalanx.loop import Loop
from phalanx.model.events import Event, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.plan import Plan
from phalanx.model.task import Shape, State, Task
from phalanx.sim.cycles import play
from phalanx.testing import plan
from phalanx.testing.stage import Stage
from tests.oracles import exhaustive
from tests.oracles.crowds import GPU, contested
from tests.oracles.exhaustive import gang_name, requests
from tests.oracles.room import NOW, PREEMPT, making_room, policy_of, world_of

#: These clusters are costly to draw, and many of them ask no question.
FEW = settings(max_examples=40, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


def nodes(count: int, pods: str) -> str:
    """Return so many nodes with eight pods each; {} is the node's number."""
    return "\n".join(f"node n{number:02} gpu=8 cpu=64\n{pods.format(number)}" for number in range(count))


def served(one: Plan, gang: str) -> bool:
    """Tell whether a gang waits no longer: it has places, now or later."""
    return f"default/{gang}" not in {wait.gang for wait in one.waits}


@pytest.mark.parametrize(("theirs", "quota"), [("a", 0), ("b", 400)], ids=["reclaim", "preempt"])
def test_candidates_are_looked_for_on_nodes_that_the_unit_may_use(theirs: str, quota: int) -> None:
    """Pod pinned may use one node alone, where nobody can leave: it looks at nobody else, and easy has its turn."""
    given = f"""
queue  a      quota:gpu={quota}
queue  b      quota:gpu=400
node   stuck  gpu=8 label:disk=ssd
pod    fixed  gpu=8 queue={theirs} on=stuck preemptible=false
{nodes(40, f"pod a{{0:02}}-1..a{{0:02}}-8 gpu=1 queue={theirs} on=n{{0:02}}")}
pod    pinned gpu=8 queue=b priority=9 select:disk=ssd created=1m
pod    easy   gpu=1 queue=b priority=5 created=2m
"""
    one = plan(given, making_room(steps=100))
    (stuck,) = one.waits
    assert stuck.reason.text == (
        "0/41 nodes: 40 without label disk=ssd, 1 short of nvidia.com/gpu (most free on one node: 0 of 8)"
    )
    assert served(one, "easy")
    assert served(plan(given, making_room(steps=100), cycles=2), "easy")


def behind(hopeless: int, others: str) -> str:
    """Return a cluster in which nobody can have a whole node, and so many pods that want one, of as many kinds."""
    mixed = "pod x{0:02} gpu=1 on=n{0:02} preemptible=false\npod a{0:02}-1..a{0:02}-7 gpu=1 on=n{0:02}"
    hard = [f"pod hard{number:02} gpu=8 cpu={number + 1} priority=9 created=1m" for number in range(hopeless)]
    return "\n".join([nodes(40, mixed), *hard, others])


@pytest.mark.parametrize("hopeless", [1, 7, 30])
def test_what_is_easy_to_find_is_found_behind_any_number_of_hopeless_searches(hopeless: int) -> None:
    one = plan(behind(hopeless, "pod easy gpu=1 priority=5 created=2m"), making_room(steps=100))
    assert served(one, "easy")
    assert len(one.waits) == hopeless


def test_who_needs_a_long_search_has_one_in_its_turn_however_many_hopeless_stand_before_it() -> None:
    """Alone it finds its thirty victims within its budget; behind thirty who never find any it waits its turn."""
    fair, policy = "gang fair members=30 gpu=1 priority=5 created=2m", making_room(steps=200)
    assert served(plan(behind(0, fair), policy), "fair")
    stage = Stage(behind(30, fair), policy)
    assert any(served(stage.cycle(f"{minute}m").plan, "fair") for minute in range(2, 22))


def test_its_turn_comes_though_nothing_happens_in_the_cluster_and_the_looking_ends() -> None:
    """A cycle is due a minute after a search that stopped early; when all had their turn, no more."""
    fair, policy = "gang fair members=30 gpu=1 priority=5 created=2m", making_room(steps=200)
    stage = Stage(behind(30, fair), policy)
    stage.cycle("2m")
    causes: list[str | None] = []
    while (at := stage.loop.next_due) < math.inf and len(causes) < 100:
        assert stage.loop.due(at - 1) is None
        causes.append(stage.loop.due(at))
        if served(stage.cycle(f"{at:g}s").plan, "fair"):
            break
    assert served(stage.loop.last.plan if stage.loop.last else plan(""), "fair")
    assert set(causes) == {"a search stopped early"}
    alone = Stage(behind(30, ""), policy)
    alone.cycle("2m")
    seen = 0
    while (at := alone.loop.next_due) < math.inf:
        alone.cycle(f"{at:g}s")
        seen += 1
        assert seen <= 60


def test_a_search_that_stopped_early_says_so_and_after_how_many_steps() -> None:
    one = plan(behind(1, ""), making_room(steps=100))
    (said,) = [str(wait.reason) for wait in one.waits]
    assert "the search for victims (preempt) stopped after 100 steps" in said


def test_a_search_that_looked_at_everything_says_nothing() -> None:
    one = plan(behind(1, ""), making_room(steps=20_000))
    (said,) = [str(wait.reason) for wait in one.waits]
    assert "stopped" not in said


SMALL = replace(policy_of(PREEMPT), search_steps=300)


@FEW
@given(contested(teams=1), st.lists(st.tuples(st.integers(1, 3), st.integers(1, 6)), min_size=1, max_size=12))
def test_no_gang_that_the_search_over_all_could_serve_starves_behind_those_that_it_could_not(
    events: list[Event], asks: list[tuple[int, int]]
) -> None:
    mine, others = one_claimant(events)
    world = world_of([*others, *map(TaskSeen, mine)])
    able, left = exhaustive.units(world), exhaustive.space(world)
    assume(sum(len(unit.tasks) for unit in able) <= 12)

    def way(gang: list[Task]) -> int | None:
        return exhaustive.fewest(left, requests(gang[0]), len(gang), able, lambda _: True)

    assume(way(mine))
    hopeless = [gang for number, ask in enumerate(asks) if way(gang := in_front(mine[0], number, *ask)) is None]
    event(f"{len(hopeless)} hopeless")
    for task in (task for gang in hopeless for task in gang):
        world.apply(TaskSeen(task))
    told = [one.text() for one in play(Loop(world, SMALL), NOW + 1000.0, 8)]
    assert all(world.tasks[task.uid].state is State.RUNNING for task in mine), "\n\n".join(told)


def one_claimant(events: list[Event]) -> tuple[list[Task], list[Event]]:
    """Return the gang that came last and waits, decided as one unit, and everything but who waits."""
    tasks = [one.task for one in events if isinstance(one, TaskSeen)]
    running = {gang_name(task) for task in tasks if task.node}
    waiting = [task for task in tasks if gang_name(task) not in running]
    assume(waiting)
    mine = [task for task in waiting if gang_name(task) == gang_name(waiting[-1])]
    said = mine[0].membership and replace(mine[0].membership, minimum=len(mine), preemptible=True)
    others = [one for one in events if not isinstance(one, TaskSeen) or one.task.node]
    return [replace(task, membership=said, preemptible=True) for task in mine], others


def in_front(like: Task, number: int, size: int, gpus: int) -> list[Task]:
    """Return a gang of the same queue and of higher priority; no two of them are of one kind."""
    shape, said = (
        Shape(((GPU, 1000 * gpus), ("pods", 1)), priority=3 + number),
        Membership(f"default/hard{number}", size),
    )
    names = [f"hard{number}-{one}" for one in range(size)]
    return [Task(name, "default", name, shape, created=9.0, queue=like.queue, membership=said) for name in names]
