"""A snapshot has one encoding: its content, whatever way it came to be."""

import os
import subprocess
import sys
from dataclasses import replace

from hypothesis import given

from phalanx.engine.decide import decide
from phalanx.model.encoding import encoded
from phalanx.model.events import Event
from phalanx.policy.load import load_policy
from phalanx.testing.strategies import clusters
from phalanx.world.world import World

DEFAULT = load_policy("default")

PRINTED = """
from phalanx.model.encoding import encoded
from phalanx.policy.load import load_policy
from phalanx.sim.scenario import read_scenario
from phalanx.sim.simulator import Simulator
from phalanx.sim.timeline import timeline
text = "node n1..n2 gpu=8 label:zone=a label:rack=b\\ngang g members=2 gpu=4 select:zone=a\\ngang h members=9 gpu=8"
simulator = Simulator(timeline(read_scenario(text)), load_policy("default"))
list(simulator.run(10.0))
print(encoded(simulator.world.compile(20.0)).decode())
"""


def world_of(events: list[Event]) -> World:
    world = World()
    for event in events:
        world.apply(event)
    return world


@given(clusters())
def test_equal_snapshots_have_equal_bytes_and_a_decision_leaves_no_trace_in_them(events: list[Event]) -> None:
    snapshot = world_of(events).compile(10.0)
    before = encoded(snapshot)
    decide(snapshot, DEFAULT)
    assert encoded(snapshot) == before
    assert encoded(world_of(events[::-1]).compile(10.0)) == before


@given(clusters())
def test_another_snapshot_has_other_bytes(events: list[Event]) -> None:
    snapshot = world_of(events).compile(10.0)
    nodes = snapshot.nodes
    assert encoded(replace(snapshot, now=11.0)) != encoded(snapshot)
    assert encoded(replace(snapshot, nodes=replace(nodes, free=nodes.free - 1))) != encoded(snapshot)


def test_the_bytes_are_the_same_in_every_process() -> None:
    found = {
        subprocess.run(
            [sys.executable, "-c", PRINTED], env=os.environ | {"PYTHONHASHSEED": seed}, check=True, capture_output=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
    assert b'"zone"' in found.pop()
