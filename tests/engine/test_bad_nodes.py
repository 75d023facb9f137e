"""Stories of gangs whose members failed on a node, or were lost with it: for a while they are not put back there."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.engine.plugins.bad_nodes import BadNodes
from phalanx.model.duration import Seconds
from phalanx.model.events import NodeGone, NodeSeen, TaskGone, TaskSeen
from phalanx.model.plan import Bind
from phalanx.model.task import State
from phalanx.policy.load import load_policy
from phalanx.sim.scenario import read_scenario
from phalanx.sim.simulator import Simulator
from phalanx.sim.timeline import timeline
from phalanx.testing.policies import policy_with
from phalanx.testing.stage import Stage

#: Of five nodes one may be kept from a gang.
FIVE = """
    node n1..n5 gpu=8
    gang g members=4 gpu=8
"""


def started(given: str = FIVE, policy: object = "default") -> Stage:
    stage = Stage(given, policy)  # type: ignore[arg-type]
    stage.check("0s", "bind g-0 n1\nbind g-1 n2\nbind g-2 n3\nbind g-3 n4")
    return stage


def again(stage: Stage, name: str, now: float) -> None:
    """Let the controller make a pod again that is gone."""
    old = stage.pod(name)
    stage.world.apply(TaskGone(old.uid))
    fresh = replace(
        old, uid=f"{name} at {now}", state=State.PENDING, node=None, started=None, finished=None, created=now
    )
    stage.world.apply(TaskSeen(fresh))


def fail(stage: Stage, name: str, now: float) -> None:
    """Let a pod fail, and be made again."""
    stage.change(name, state=State.FAILED, finished=now)
    again(stage, name, now)


def down(stage: Stage, node: str, now: float, *names: str) -> None:
    """Let a node fail, with its pods."""
    ready = stage.world.nodes[node]
    stage.world.apply(NodeSeen(replace(ready, ready=False)))
    for name in names:
        again(stage, name, now)
    stage.world.apply(NodeSeen(ready))


def test_who_was_lost_with_its_node_is_not_put_back_there_for_an_hour() -> None:
    """The node came back; n5 is the other one."""
    stage = started()
    down(stage, "n2", 60.0, "g-1")
    stage.check("1m", "bind g-1 n5")


def test_one_failure_is_not_enough_and_two_on_one_node_are() -> None:
    stage = started()
    fail(stage, "g-1", 60.0)
    stage.check("1m", "bind g-1 n2")
    fail(stage, "g-1", 120.0)
    stage.check("2m", "bind g-1 n5")


def test_two_failures_on_two_nodes_are_no_ones_fault() -> None:
    stage = started()
    fail(stage, "g-1", 60.0)
    fail(stage, "g-2", 60.0)
    stage.check("1m", "bind g-1 n2\nbind g-2 n3")


def test_the_reason_names_the_nodes_and_when_the_hour_is_over_they_serve_again() -> None:
    stage = started(FIVE + "pod other gpu=8 on=n5 priority=9")
    down(stage, "n2", 60.0, "g-1")
    said = "4 short of nvidia.com/gpu (most free on one node: 0 of 8)"
    stage.check("1m", f"wait g 1 full: 0/5 nodes: 1 where its members failed lately: n2, {said}")
    assert stage.world.next_due <= 3660.0
    assert stage.loop.due(3660.0) == "a time came"
    stage.check("61m", "bind g-1 n2")


def test_a_gang_of_which_too_little_was_up_elsewhere_may_go_back() -> None:
    """All of it was there: nobody knows whose fault it is."""
    stage = Stage("node n1..n9 gpu=8\n gang g members=4 gpu=2")
    stage.check("0s", "bind g-0 n1\nbind g-1 n1\nbind g-2 n1\nbind g-3 n1")
    down(stage, "n1", 60.0, "g-0", "g-1", "g-2", "g-3")
    stage.check("1m", "bind g-0 n1\nbind g-1 n1\nbind g-2 n1\nbind g-3 n1")


def test_of_several_bad_nodes_only_the_last_ones_up_to_the_share_are_kept_from_it() -> None:
    """Of five nodes one: n3 failed after n2."""
    stage = started()
    down(stage, "n2", 60.0, "g-1")
    stage.check("1m", "bind g-1 n5")
    down(stage, "n3", 120.0, "g-2")
    stage.check("2m", "bind g-2 n2")


def test_other_gangs_may_go_there() -> None:
    stage = started(FIVE + "pod late gpu=8 created=1m")
    down(stage, "n2", 60.0, "g-1")
    stage.check("1m", "bind g-1 n5\nbind late n2")


def test_a_node_that_is_gone_and_comes_back_under_its_name_is_remembered() -> None:
    stage = started()
    node = stage.world.nodes["n2"]
    stage.world.apply(NodeGone("n2"))
    again(stage, "g-1", 60.0)
    stage.world.apply(NodeSeen(node))
    stage.check("1m", "bind g-1 n5")


def test_who_is_evicted_by_the_plan_has_not_failed() -> None:
    stage = Stage("""
        node n1..n5 gpu=8
        gang g members=4 gpu=8
        gang h members=2 gpu=8 priority=9 created=1m
    """)
    stage.cycle("0s")
    stage.cycle("1m")
    assert stage.cycle("2m").snapshot.failures == {}


def test_without_the_plugin_nothing_is_remembered() -> None:
    stage = started(policy=policy_with("node_ready", "resource_fit", "gang"))
    down(stage, "n2", 60.0, "g-1")
    stage.check("1m", "bind g-1 n2")
    assert stage.cycle("2m").snapshot.failures == {}


def test_the_simulator_remembers_too() -> None:
    """Both nodes are back after a minute, and by name n1 would be the first: only the plugin keeps the gang off."""
    scenario = """
        node n01..n10 gpu=8
        gang g members=4 gpu=8 runtime=2h
        fail n01 at=10m for=1m
        fail n05 at=20m for=1m
    """
    found = []
    for policy in (load_policy("default"), policy_with("node_ready", "resource_fit", "gang")):
        played = Simulator(timeline(read_scenario(scenario), schedulers=policy.scheduler_names), policy).run()
        binds = [step for moment in played if moment.plan is not None for step in moment.plan.binds]
        found.append([step.node for step in binds if step.task == "default/g-0"])
    assert found == [["n01", "n05", "n06"], ["n01", "n05", "n01"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"failures": 0}, "failures: found 0, allowed is at least 1"),
        ({"share": 1.5}, "share: found 1.5, allowed is 0 to 1"),
    ],
)
def test_arguments_are_checked(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BadNodes(**arguments)  # type: ignore[arg-type]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=8), st.sampled_from([0.0, 0.2, 0.5, 1.0]))
def test_no_member_is_put_on_a_node_that_was_bad_lately_and_never_more_than_the_share_is_closed(
    blows: list[tuple[int, bool]], share: float
) -> None:
    """Counted afresh from what happened, in the order in which it did."""
    policy = policy_with("node_ready", BadNodes(Seconds(1000.0), 2, share), "resource_fit", "gang")
    stage = Stage("node n1..n5 gpu=8\n gang g members=4 gpu=8", policy)
    stage.cycle("0s")
    happened: list[tuple[float, str, bool]] = []
    for step, (member, lost) in enumerate(blows, 1):
        name, now = f"g-{member}", 100.0 * step
        task = stage.pod(name)
        up = [one for one in stage.world.tasks.values() if one.node is not None and one.name != name]
        if task.node is not None:
            if len(up) >= 2:
                happened.append((now, task.node, lost))
            (down(stage, task.node, now, name) if lost else fail(stage, name, now))
        plan = stage.cycle(f"{int(now)}s").plan
        lately = [(at, node, gone) for at, node, gone in happened if now < at + 1000.0]
        bad = {node: at for at, node, gone in lately
               if gone or sum(other == node for _, other, _ in lately) >= 2}  # fmt: skip
        closed = sorted(bad, key=lambda node: (-bad[node], node))[: int(share * 5)]
        assert not {step.node for step in plan.steps if isinstance(step, Bind)} & set(closed)
        free = 5 - len(up)
        if len(closed) == 0 and free:
            assert len(plan.binds) == 4 - len(up)
