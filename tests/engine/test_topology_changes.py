"""Topology that changes, and plans that would split a gang."""

from dataclasses import replace

import pytest

from phalanx.engine import invariants
from phalanx.engine.invariants import Violation
from phalanx.model.events import NodeSeen
from phalanx.model.plan import Bind, Nominate, Plan
from phalanx.testing.stage import Stage
from phalanx.world.gangs import gang_key
from tests.oracles.room import ROOM

KEY = "topology.kubernetes.io/rack"

TWO_RACKS = f"""
    node  a1..a2  gpu=8 label:{KEY}=a
    node  b1..b2  gpu=8 label:{KEY}=b
    pod   low     gpu=8 on=a1
    pod   high    gpu=1 on=b1 priority=9
    pod   other   gpu=1 on=b2 priority=9
    gang  g       members=2 gpu=8 priority=5 created=1m topology-required=rack
"""


def relabel(stage: Stage, node: str, rack: str) -> None:
    old = stage.world.nodes[node]
    stage.world.apply(NodeSeen(replace(old, labels={**old.labels, KEY: rack})))


def test_places_that_are_nominated_are_given_up_when_their_nodes_are_relabelled() -> None:
    """What ran is untouched; the next plan uses the new tree."""
    stage = Stage(TWO_RACKS, ROOM)
    stage.check("1m", "evict low a1 for g: …\nnominate g-0 a1\nnominate g-1 a2")
    relabel(stage, "a2", "c")
    released = "its places are not in one rack"
    waits = "wait g 2 full: 2 needed in one rack: rack c has room for 1 of 2…"
    stage.check("70s", f"release g-0 a1: {released}\nrelease g-1 a2: {released}\n{waits}")
    relabel(stage, "a2", "a")
    stage.check("2m", "bind g-0 a1\nbind g-1 a2")


@pytest.mark.parametrize(("first", "second", "fine"), [("a1", "a2", True), ("a1", "b1", False), ("b1", "b2", True)])
@pytest.mark.parametrize("now", [True, False])
def test_a_plan_that_splits_a_gang_is_not_carried_out(first: str, second: str, fine: bool, now: bool) -> None:
    stage = Stage(
        f"""
        node  a1..a2  gpu=8 label:{KEY}=a
        node  b1..b2  gpu=8 label:{KEY}=b
        gang  g       members=2 gpu=8 topology-required=rack
        """,
        ROOM,
    )
    steps = []
    for name, node in (("g-0", first), ("g-1", second)):
        task = stage.pod(name)
        said = (task.full_name, task.uid, node, "default/g", gang_key(task))
        steps.append(Bind(*said) if now else Nominate(*said))
    snapshot = stage.world.compile(0.0)
    if fine:
        invariants.check(snapshot, ROOM, Plan(0.0, tuple(steps)))
        return
    with pytest.raises(Violation, match="no gang that must be in one domain is split") as raised:
        invariants.check(snapshot, ROOM, Plan(0.0, tuple(steps)))
    assert raised.value.gangs == ("gang/default/g",)
