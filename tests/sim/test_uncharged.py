"""A loop whose plans nobody carries out: each cycle decides from what the world shows, as if it were the first."""

import gc
from dataclasses import replace

from phalanx.loop import Loop
from phalanx.model.events import TaskGone, TaskSeen
from phalanx.model.task import State
from phalanx.policy.load import load_policy
from phalanx.testing.stage import Stage


def uncharged(given: str) -> Stage:
    stage = Stage(given)
    stage.loop = Loop(stage.world, load_policy("default"), charged=False)
    return stage


GIVEN = """
    node n1..n4  gpu=8
    gang train   members=8 gpu=1
    gang big     members=40 gpu=1
"""


def test_the_same_is_decided_again_and_nobody_counts_as_placed() -> None:
    stage = uncharged(GIVEN)
    first, again = stage.loop.cycle(10.0).plan, stage.loop.cycle(20.0).plan
    assert len(first.binds) == 8
    assert first.steps == again.steps
    assert {task.state for task in stage.world.tasks.values()} == {State.PENDING}


def test_what_the_cluster_shows_counts_at_once_whatever_was_planned() -> None:
    """Another scheduler put a pod on the node that the plan had in mind."""
    stage = uncharged("node n1  gpu=1\npod mine gpu=1")
    assert [bind.node for bind in stage.loop.cycle(10.0).plan.binds] == ["n1"]
    other = replace(stage.pod("mine"), uid="other", name="other", ours=False, state=State.RUNNING, node="n1")
    stage.world.apply(TaskSeen(other))
    plan = stage.loop.cycle(20.0).plan
    assert (plan.binds, len(plan.waits)) == ((), 1)
    stage.lose("other")
    assert len(stage.loop.cycle(30.0).plan.binds) == 1


def test_who_is_to_be_evicted_stays_and_is_planned_again() -> None:
    stage = uncharged("node n1  gpu=1\npod low  gpu=1 on=n1 priority=1\npod high gpu=1 priority=9")
    plans = [stage.loop.cycle(now).plan.text() for now in (1000.0, 1100.0)]
    assert plans[0] == plans[1]
    assert plans[0].startswith("evict default/low n1 for default/high: ")


def test_a_quiet_cluster_is_decided_once() -> None:
    stage = uncharged(GIVEN)
    stage.loop.cycle(10.0)
    assert stage.loop.due(11.0) is None


def test_what_is_kept_does_not_grow_with_the_cycles() -> None:
    stage, kept = uncharged(GIVEN), []
    pods = [task for task in stage.world.tasks.values() if task.name.startswith("train")]
    for cycle in range(120):
        for pod in pods:
            stage.world.apply(TaskGone(pod.uid))
        pods = [replace(pod, uid=f"{cycle}-{index}") for index, pod in enumerate(pods)]
        for pod in pods:
            stage.world.apply(TaskSeen(pod))
        stage.loop.cycle(10.0 + cycle)
        if cycle in {59, 119}:
            gc.collect()
            kept.append(len(gc.get_objects()))
    assert kept[1] <= kept[0] + 50
