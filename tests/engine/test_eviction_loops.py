"""Loops that random clusters once showed, each a few lines long: evictions must end in them (decision 12)."""

import pytest

from phalanx.model.plan import Evict, Nominate
from phalanx.testing.scenario import plan
from tests.oracles.room import ROOM

LOOPS = {
    "a share that takes another queue's quota": """
        node  n1  gpu=4
        node  n2  gpu=1
        node  n3  gpu=1
        queue q0  quota:gpu=0
        queue q1  quota:gpu=2 weight:gpu=0
        pod   g1  gpu=2 queue=q1 on=n1 controlled
        gang  g6  members=1 gpu=3 queue=q0
        gang  g7  members=4 gpu=1 queue=q1
        """,
    "beyond quota in what the claimant does not list": """
        node  n0  gpu=4 cpu=8
        node  n1  gpu=3 cpu=8
        queue q0  quota:gpu=0
        queue q1  parent=q0 quota:gpu=3
        queue q2  parent=q0 quota:gpu=2 quota:cpu=0
        queue q3  quota:gpu=0
        gang  g0  members=2 minimum=1 gpu=1 cpu=1 queue=q1 on=n0
        gang  g1  members=1 gpu=2 cpu=1 priority=2 queue=q1 on=n1
        gang  g2  members=3 gpu=1 cpu=1 queue=q3
        gang  g5  members=1 gpu=1 queue=q1 on=n1
        gang  g7  members=1 gpu=2 cpu=2 queue=q2
        """,
    "beyond quota in what nobody asks for": """
        node  n0  gpu=3 cpu=8
        node  n2  gpu=4 cpu=8
        queue q0  quota:gpu=0 quota:cpu=0
        queue q1  quota:gpu=3 quota:cpu=1
        queue q2  parent=q1 quota:gpu=1
        queue q3  quota:gpu=4 quota:cpu=0
        gang  g0  members=1 gpu=3 cpu=1 priority=2 queue=q2 on=n2
        pod   g3  gpu=1 queue=q0 on=n0 controlled
        gang  g4  members=2 gpu=2 cpu=2 queue=q3
        gang  g8  members=1 gpu=1 cpu=1 queue=q2 preemptible=false
        pod   g12 gpu=2 queue=q2 controlled
        """,
    "moved for one whom the limit never lets start": """
        node  n2  gpu=2
        node  n3  gpu=2
        queue q0  limit:gpu=2
        pod   g3  gpu=1 queue=q0 controlled on=n3
        pod   g5  gpu=2 priority=2 queue=q0 controlled created=1s
        """,
    "a limit that the returning victim uses up": """
        node  n0  gpu=4
        node  n1  gpu=1
        queue q0  limit:gpu=4
        queue q1  parent=q0 quota:gpu=1
        queue q3  parent=q0 quota:gpu=4
        pod   g6  gpu=1 queue=q1 controlled
        pod   g8  gpu=3 queue=q3 controlled
        pod   g12 gpu=1 queue=q3 controlled
        """,
    "a preemption that grows beyond the share": """
        node  n0  gpu=2
        node  n1  gpu=1
        node  n2  gpu=2
        node  n3  gpu=3
        queue q0  quota:gpu=2 weight:gpu=0
        queue q1  quota:gpu=0
        queue q2  quota:gpu=0
        gang  g3  members=1 minimum=2 gpu=2 queue=q2 on=n0 preemptible=false
        gang  g3  members=1 gpu=2 queue=q2 on=n2 preemptible=false
        gang  g6  members=1 minimum=1 gpu=1 queue=q0 on=n1
        gang  g6  members=1 gpu=1 queue=q0
        gang  g8  members=3 gpu=1 queue=q1
        gang  g18 members=1 gpu=3 priority=2 queue=q0
        """,
    "a nomination of a former life": """
        node  n0  gpu=2
        node  n1  gpu=1
        node  n2  gpu=2
        node  n3  gpu=4
        queue q0  quota:gpu=4 weight:gpu=0
        queue q1  quota:gpu=0
        queue q2  quota:gpu=1 weight:gpu=0
        gang  g3  members=1 minimum=2 gpu=2 queue=q2 on=n0 preemptible=false
        gang  g3  members=1 gpu=2 queue=q2 on=n2 preemptible=false
        gang  g6  members=1 minimum=1 gpu=1 queue=q0 on=n1
        gang  g6  members=2 gpu=1 queue=q0
        gang  g7  members=2 gpu=3 queue=q1
        gang  g8  members=3 gpu=1 queue=q1
        gang  g18 members=1 gpu=3 queue=q0
        """,
    "a gang grows while its minimum leaves": """
        node  n0  gpu=2
        node  n1  gpu=2
        node  n2  gpu=2
        node  n3  gpu=4
        queue q0  quota:gpu=4 weight:gpu=0
        queue q1  quota:gpu=0
        queue q2  quota:gpu=1 weight:gpu=0
        gang  g3  members=1 minimum=2 gpu=2 queue=q2 on=n0 preemptible=false
        gang  g3  members=1 gpu=2 queue=q2 on=n2 preemptible=false
        gang  g6  members=1 minimum=1 gpu=1 queue=q0 on=n1
        gang  g6  members=2 gpu=1 queue=q0
        gang  g7  members=2 gpu=3 queue=q1
        gang  g8  members=4 minimum=3 gpu=1 queue=q1
        pod   g16 gpu=1 queue=q0 controlled
        gang  g18 members=1 gpu=3 priority=2 queue=q0
        """,
    "a claim by share takes what comes back by quota": """
        node  n1  gpu=4
        node  n2  gpu=1
        node  n3  gpu=1
        queue q0  quota:gpu=0
        queue q1  quota:gpu=2 weight:gpu=0
        pod   g1  gpu=2 queue=q1 on=n1 controlled
        gang  g6  members=1 gpu=3 queue=q0
        gang  g7  members=4 gpu=1 queue=q1
        """,
}


@pytest.mark.parametrize("given", [pytest.param(given, id=name) for name, given in LOOPS.items()])
def test_evictions_end(given: str) -> None:
    """The longest of these loops came round every six cycles."""
    late = [plan(given, ROOM, cycles=cycles) for cycles in range(15, 22)]
    assert not [step for one in late for step in one.steps if isinstance(step, Evict)]


def test_no_gang_gets_room_to_grow_in_the_plan_that_evicts_its_minimum() -> None:
    """Here it ends after ten cycles; with other ties the same cluster went on for ever."""
    one = plan(LOOPS["a gang grows while its minimum leaves"], ROOM, cycles=4)
    leaving = {step.task.rsplit("-", 1)[0] for step in one.steps if isinstance(step, Evict)}
    assert leaving
    assert not leaving & {step.gang for step in one.steps if isinstance(step, Nominate)}
