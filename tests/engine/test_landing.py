"""Who has a place that is kept for it takes that very place once it is free, whoever else waits."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from phalanx.loop import Loop
from phalanx.model.events import Event, NodeSeen, TaskGone, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.node import Node
from phalanx.model.plan import Release
from phalanx.model.task import Shape, State, Task
from phalanx.world.world import World
from tests.oracles.crowds import Wish, crowded
from tests.oracles.room import CONSOLIDATE, PREEMPT, RECLAIM, policy_of, world_of

GPU = "nvidia.com/gpu"
ALL = policy_of(CONSOLIDATE, RECLAIM, PREEMPT)


def node(name: str, gpus: int = 4, **more: object) -> NodeSeen:
    return NodeSeen(replace(Node(name, allocatable={GPU: gpus * 1000, "pods": 20}), **more))  # type: ignore[arg-type]


def pod(name: str, gpus: int = 1, **more: object) -> TaskSeen:
    task = Task(name, "default", name, Shape(((GPU, gpus * 1000), ("pods", 1))))
    return TaskSeen(replace(task, **more))  # type: ignore[arg-type]


def gang(name: str, size: int, nodes: str) -> list[TaskSeen]:
    """Return a gang whose members have places on these nodes, in turn."""
    said = Membership(f"default/{name}", size)
    return [pod(f"{name}-{n}", membership=said, nominated=f"n{digit}") for n, digit in enumerate(nodes)]


def binds(events: list[Event]) -> dict[str, str]:
    plan = Loop(world_of(events), ALL).cycle(10.0).plan
    return {step.uid: step.node for step in plan.binds}


def test_it_takes_the_place_that_it_was_promised_though_another_would_be_packed_better() -> None:
    busy = pod("busy", 3, state=State.RUNNING, node="n2", ours=False)
    assert binds([node("n1"), node("n2"), busy, pod("p", nominated="n1")]) == {"p": "n1"}
    assert binds([node("n1"), node("n2"), busy, pod("p")]) == {"p": "n2"}


def test_a_gang_lands_whole_or_waits() -> None:
    nodes = [node("n1"), node("n2")]
    assert binds([*nodes, *gang("g", 3, "122")]) == {"g-0": "n1", "g-1": "n2", "g-2": "n2"}
    full = pod("full", 4, state=State.RELEASING, node="n2", ours=False, gone_at=99.0)
    assert binds([*nodes, full, *gang("g", 6, "111122")]) == {}


@pytest.mark.parametrize(
    "other", [node("n1", cordoned=True), node("n1", ready=False), node("n1", gpus=0)], ids=["cordoned", "lost", "less"]
)
def test_who_cannot_have_it_any_more_goes_elsewhere(other: NodeSeen) -> None:
    assert binds([other, node("n2"), *gang("g", 2, "12"), pod("p", nominated="n1")]) == {
        "g-0": "n2", "g-1": "n2", "p": "n2"
    }  # fmt: skip


def test_several_shapes_land_on_one_node() -> None:
    nodes = [node("n0"), node("n1")]
    assert binds([*nodes, pod("a", nominated="n1"), pod("b", 2, nominated="n1")]) == {"a": "n1", "b": "n1"}


def empty(world: World) -> None:
    for task in list(world.tasks.values()):
        if task.state is State.RELEASING:
            world.apply(TaskGone(task.uid))


@settings(max_examples=60, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(crowded(Wish(nominated=False)))
def test_whoever_was_promised_a_place_has_it_once_everybody_is_gone(events: list[Event]) -> None:
    """If nothing else happens: the gangs for which room was made start in the next cycle, on the nodes of the plan.

    Unless a gang that could evict them there takes the place over, which the plan says.
    """
    world = world_of(events)
    loop = Loop(world, ALL)
    loop.cycle(10.0)
    promised = {uid: node for node, uids in world.nominated.items() for uid in uids if world.tasks[uid].ours}
    empty(world)
    following = loop.cycle(11.0).plan
    got = {step.uid: step.node for step in following.binds}
    releases = [step for step in following.steps if isinstance(step, Release)]
    assert all(step.reason.startswith("taken over by ") for step in releases)
    for step in releases:
        del promised[step.uid]
    assert {uid: node for uid, node in got.items() if uid in promised} == promised
