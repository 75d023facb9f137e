"""Promises about pods that look at each other, counted afresh from the objects, for any cluster."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.engine.opening import open_session
from phalanx.engine.placement.find import find
from phalanx.engine.policy import Policy
from phalanx.engine.session.request import Request
from phalanx.loop import Loop
from phalanx.model.encoding import encoded
from phalanx.model.events import Event, TaskGone, TaskSeen
from phalanx.model.plan import Bind
from phalanx.model.task import State
from phalanx.policy.load import load_policy
from phalanx.world.world import World
from tests.oracles.greedy import one_at_a_time
from tests.oracles.neighbours import Cluster, neighbourly
from tests.oracles.room import ROOM

POD_BY_POD = load_policy("pod-by-pod")
POLICIES = pytest.mark.parametrize("policy", [ROOM, POD_BY_POD], ids=["default", "pod-by-pod"])


def world_of(events: list[Event]) -> World:
    world = World()
    for event in events:
        world.apply(event)
    return world


@POLICIES
@given(neighbourly())
def test_every_bind_keeps_the_rules_of_all_pods_that_are_there_when_its_turn_comes(
    policy: Policy, events: list[Event]
) -> None:
    """Over some cycles, in which those who were asked to leave are gone."""
    world = world_of(events)
    loop = Loop(world, policy)
    for now in (10.0, 20.0, 30.0):
        there = Cluster.of(world)
        cycle = loop.cycle(now)
        assert not cycle.broken
        for step in cycle.plan.acts:
            if isinstance(step, Bind):
                task = replace(world.tasks[step.uid], state=State.RUNNING)
                assert there.allows(task, step.node), (task.full_name, step.node)
                there.pods[step.uid] = task, step.node
        for task in list(world.tasks.values()):
            if task.state is State.RELEASING and now > 10.0:
                world.apply(TaskGone(task.uid))


@POLICIES
@given(neighbourly(), st.integers(1, 6))
def test_copies_that_count_for_each_other_go_where_one_at_a_time_would_put_them(
    policy: Policy, events: list[Event], count: int
) -> None:
    """But for those that must all be in one domain: the first that holds them all is found, not the best for one."""
    snapshot = world_of(events).compile(10.0)
    for shape in range(len(snapshot.shapes)):
        session = open_session(snapshot, policy)
        request = Request(shape, count)
        if any(caps.together for plugin in policy.reaching for caps in plugin.caps(session, request)):
            continue
        counted = find(session, policy, request)
        looped = one_at_a_time(open_session(snapshot, policy), policy, shape, count)
        np.testing.assert_array_equal(counted, looped)


@given(neighbourly(), st.randoms(use_true_random=False))
def test_a_world_that_saw_pods_come_and_go_shows_what_a_fresh_one_shows(events: list[Event], chance: Random) -> None:
    world = world_of(events)
    world.compile(5.0)
    tasks = [event.task for event in events if isinstance(event, TaskSeen)]
    gone = {task.uid for task in tasks if chance.random() < 0.4}
    for uid in sorted(gone):
        world.apply(TaskGone(uid))
    world.compile(6.0)
    back = [task for task in tasks if task.uid in gone and chance.random() < 0.5]
    for task in back:
        world.apply(TaskSeen(task))
    stay = [event for event in events if not isinstance(event, TaskSeen) or event.task.uid not in gone]
    fresh = world_of([*stay, *(TaskSeen(task) for task in back)])
    assert encoded(world.compile(10.0)) == encoded(fresh.compile(10.0))
