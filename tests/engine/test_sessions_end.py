"""A cycle leaves nothing behind: its arrays are megabytes, and Python looks for circles of references seldom."""

import gc

import pytest

from phalanx.engine.session.session import Session
from phalanx.testing.stage import Stage

STORIES = {
    "nobody waits": "node n1 gpu=8",
    "a gang is placed": """
        node n1..n2 gpu=8
        gang a members=4 gpu=4
    """,
    "gangs wait, for the same and for others": """
        node n1..n2 gpu=8
        gang a1 members=3 gpu=8
        gang a2 members=3 gpu=8
        gang b members=2 gpu=16
        gang c members=30 gpu=1 minimum=2
    """,
    "room is made": """
        node n1..n2 gpu=8
        gang low members=4 gpu=4
        gang high members=2 gpu=8 priority=9 created=10s
    """,
}


@pytest.mark.parametrize("given", STORIES.values(), ids=STORIES.keys())
def test_a_session_is_gone_when_its_cycle_is_over(given: str) -> None:
    stage = Stage(given)
    gc.collect()
    gc.disable()
    try:
        for second in (0, 20, 40):
            stage.cycle(f"{second}s")
            assert [one for one in gc.get_objects() if isinstance(one, Session)] == []
    finally:
        gc.enable()
