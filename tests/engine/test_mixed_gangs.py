"""Gangs of several shapes: what was packed for them is what they get, and nobody leaves who is of no use."""

import pytest

from phalanx.testing import check
from phalanx.testing.scenario import plan
from tests.oracles.room import CONSOLIDATE, PREEMPT, ROOM, making_room, policy_of

ROOM_OF_FEW_STEPS = making_room(steps=300)

#: Placing the hardest first puts the two of four on n1, or fails where it takes n1 first for the one of six.
GANG = """
    gang big members=1 minimum=3 cpu=6 {more}
    gang big members=2 cpu=4 select:zone=a {more}
"""


def test_a_gang_lands_where_it_was_packed_and_its_victim_left_for_something() -> None:
    check(
        """
        node n1 cpu=8 label:zone=a
        node n2 cpu=8
        pod  low cpu=8 on=n2 controlled
        """
        + GANG.format(more="priority=5"),
        """
        evict low n2 for big: …
        nominate big-0 n2
        nominate big-1 n1
        nominate big-2 n1
        cycle 2
        bind big-0 n2
        bind big-1 n1
        bind big-2 n1
        wait low 1 full: …
        """,
        policy_of(PREEMPT),
        cycles=2,
    )


def test_a_gang_that_is_moved_runs_again_where_it_was_packed() -> None:
    check(
        """
        node n1 cpu=8 label:zone=a
        node n2 cpu=8
        node n3 cpu=14 label:zone=a
        gang r members=1 minimum=3 cpu=6 on=n3
        gang r members=2 cpu=4 select:zone=a on=n3
        pod  p cpu=14 created=5s
        """,
        """
        evict r-0 n3 for p: …
        evict r-1 n3 for p: …
        evict r-2 n3 for p: …
        nominate p n3
        nominate r-0 n2
        nominate r-1 n1
        nominate r-2 n1
        cycle 2
        bind r-0 n2
        bind r-1 n1
        bind r-2 n1
        bind p n3
        """,
        policy_of(CONSOLIDATE),
        cycles=2,
    )


@pytest.mark.parametrize("action", [PREEMPT, CONSOLIDATE], ids=["preempt", "consolidate"])
def test_nobody_leaves_for_a_gang_that_only_had_to_be_packed(action: str) -> None:
    more, rest = ("priority=5", "") if action == PREEMPT else ("", "controlled")
    check(
        f"""
        node n1 cpu=8 label:zone=a
        node n2 cpu=8
        node v1 cpu=1
        node v2 cpu=1
        pod  low cpu=1 on=v1 {rest}
        """
        + GANG.format(more=more),
        """
        nominate big-0 n2
        nominate big-1 n1
        nominate big-2 n1
        cycle 2
        bind big-0 n2
        bind big-1 n1
        bind big-2 n1
        """,
        policy_of(action),
        cycles=2,
    )


def test_nobody_is_moved_for_growth_that_fits_beside_him() -> None:
    """The gang gets its minimum by moving a; its second task then fits on n3, which was empty all the time."""
    check(
        """
        node n1 gpu=4
        node n2 gpu=4
        node n3 gpu=1
        node n4 gpu=2
        pod  a gpu=2 on=n1 controlled
        pod  b gpu=2 on=n2 controlled
        pod  c gpu=1 on=n4 controlled
        gang e members=1 minimum=1 gpu=4 created=5s
        gang e members=1 gpu=1 created=5s
        """,
        """
        evict a n1 for e: …
        nominate e-0 n1
        nominate a n2
        nominate e-1 n3
        """,
        policy_of(CONSOLIDATE),
    )


@pytest.mark.parametrize("minimum", [2, 3], ids=["growth", "repair"])
def test_nobody_is_moved_for_his_own_gang(minimum: int) -> None:
    check(
        f"""
        node n0 gpu=3
        node n1 gpu=3
        node n2 gpu=4
        pod  a  gpu=3 on=n2 controlled
        gang e members=1 minimum={minimum} gpu=2 on=n0
        gang e members=1 gpu=2 on=n1
        gang e members=1 gpu=2
        """,
        "wait e 1 full: …",
        policy_of(CONSOLIDATE),
    )


def test_a_claim_takes_nobody_who_only_goes_back_to_where_he_was() -> None:
    check(
        """
        node n0 gpu=1
        node n1 gpu=1
        node n2 gpu=2
        queue q0 quota:gpu=3 weight:gpu=1
        queue q1 quota:gpu=2 weight:gpu=2
        queue q2 parent=q0 quota:gpu=1
        pod g0 gpu=1 on=n2 queue=q1 controlled
        pod g1 gpu=1 on=n0 queue=q1 controlled
        pod g2 gpu=1 on=n2 queue=q1 controlled
        pod g3 gpu=1 on=n1 queue=q1 controlled
        pod late gpu=2 queue=q2 priority=1 created=5s
        """,
        """
        evict g2 n2 for late: …
        evict g0 n2 for late: …
        nominate late n2
        """,
        ROOM,
    )


def test_a_packing_that_takes_long_is_cut_short_and_the_gang_says_so() -> None:
    """The last task fits nowhere beside the others, in any way: that is not looked for in all ways."""
    nodes = "".join(f"node n{number} cpu=10 memory={100 + number}Gi\n" for number in range(30))
    low = "".join(f"node v{number} cpu=1 memory=1Gi\npod low{number} cpu=1 on=v{number}\n" for number in range(12))
    gang = "gang big members=60 minimum=62 cpu=4 memory=2Gi priority=5\ngang big members=2 cpu=6 memory=1Gi priority=5"
    found = plan(nodes + low + gang, ROOM_OF_FEW_STEPS)
    assert [step.text().partition(":")[0] for step in found.steps] == ["wait default/big 62 full"]
    assert "the search for victims (preempt) stopped after 300 steps" in str(found.waits[0].reason)
