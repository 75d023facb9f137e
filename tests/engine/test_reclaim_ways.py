"""Ways to make room that the fair order of victims does not show: whole plans."""

from phalanx.policy.load import parse_policy
from phalanx.testing.scenario import check
from tests.oracles.room import ROOM

TAKING = parse_policy(
    "{extends: default, actions: [{name: allocate}, {name: reclaim, arguments: {moving: false}}]}", "taking"
)


def test_what_may_be_taken_is_not_judged_by_the_order_in_which_it_is_found() -> None:
    """Queue q2 has 6 of its 4. Small ones first, both g1 and g2 may go; the large one first, only one more."""
    check(
        """
        node  n0  gpu=2
        node  n1  gpu=4
        queue q1  quota:gpu=3
        queue q2  quota:gpu=4
        pod   g0  gpu=2 queue=q2 on=n0
        pod   g1  gpu=2 queue=q2 on=n1
        pod   g2  gpu=1 queue=q2 on=n1
        pod   g7  gpu=1 queue=q2 on=n1
        pod   g9  gpu=3 queue=q1 created=1m
        """,
        """
        evict g7 n1 for g9: queue q1 reclaims its share
        evict g1 n1 for g9: queue q1 reclaims its share
        nominate g9 n1
        """,
        TAKING,
    )


def test_a_gang_over_several_nodes_helps_on_each_of_them() -> None:
    check(
        """
        node  n2  gpu=2
        node  n3  gpu=1
        node  n4  gpu=4
        node  n5  gpu=3
        queue q0  quota:gpu=0
        queue q2  quota:gpu=0
        gang  g2  members=1 minimum=2 gpu=2 queue=q0 on=n5
        gang  g2  members=1 gpu=2 queue=q0 on=n4
        pod   g3  gpu=1 queue=q0 on=n3
        gang  g5  members=1 minimum=2 gpu=1 queue=q0 on=n2 preemptible=false
        gang  g5  members=1 gpu=1 queue=q0 on=n5 preemptible=false
        pod   g6  gpu=4 queue=q2 created=1m
        """,
        """
        evict g2-0 n5 for g6: queue q2 reclaims its share
        evict g2-1 n4 for g6: queue q2 reclaims its share
        nominate g6 n4
        """,
        TAKING,
    )


def test_whoever_is_in_the_way_of_the_moved_leaves_too() -> None:
    """Gang r1 may only be moved, and its place is where r0 is, from whom we may take."""
    check(
        """
        node  n0  gpu=2
        node  n1  gpu=2
        queue q0  quota:gpu=0 weight:gpu=0
        queue q1  quota:gpu=3 weight:gpu=3
        queue q2  quota:gpu=4
        pod   r0  gpu=1 queue=q0 on=n0 priority=75 controlled
        gang  r1  members=1 minimum=2 gpu=1 queue=q2 on=n0
        gang  r1  members=1 gpu=1 queue=q2 on=n1
        pod   p   gpu=2 queue=q1 created=1m controlled
        """,
        """
        evict r1-0 n0 for p: queue q1 reclaims its share
        evict r1-1 n1 for p: queue q1 reclaims its share
        evict r0 n0 for p: queue q1 reclaims its share
        nominate p n1
        nominate r1-0 n0
        nominate r1-1 n0
        """,
        ROOM,
    )


def test_nobody_is_taken_who_would_go_before_the_claimant_again() -> None:
    """Queue q1 is more important than q0: what is taken from it would be the first to start again."""
    check(
        """
        node  n0  gpu=8
        node  n1  gpu=1
        queue q0  quota:gpu=1 weight:gpu=1 priority=99
        queue q1  quota:gpu=1 weight:gpu=0 priority=101
        queue q2  quota:gpu=3 weight:gpu=2 priority=100
        pod   a5  gpu=2 queue=q1 priority=75 on=n0 controlled
        pod   r0  gpu=3 queue=q2 on=n0 controlled
        pod   r1  gpu=1 queue=q0 on=n0 controlled
        pod   r2  gpu=1 queue=q0 on=n0 controlled
        pod   r4  gpu=1 queue=q2 on=n0 controlled
        gang  p6  members=2 gpu=1 queue=q0
        """,
        """
        wait p6 2 full: …
        """,
        ROOM,
    )


def test_nobody_is_kept_back_whose_room_the_claim_needs() -> None:
    """In one cycle the claim evicts enough for its place, and starts there in the next."""
    check(
        """
        node  n0  gpu=3 cpu=8
        node  n1  gpu=2 cpu=8
        queue q0  quota:gpu=0 quota:cpu=0
        queue q1  priority=1 quota:gpu=0
        pod   g0  gpu=1 queue=q0 on=n1
        pod   g1  gpu=2 cpu=1 priority=2 queue=q0 on=n0 controlled
        gang  g3  members=1 cpu=1 queue=q1 on=n0
        gang  g4  members=2 cpu=1 queue=q0 on=n0
        gang  g7  members=1 gpu=3 cpu=2 queue=q1
        gang  g11 members=2 cpu=2 queue=q1
        """,
        """
        bind g11-0 n0
        bind g11-1 n0
        evict g4-0 n0 for g7: …
        evict g4-1 n0 for g7: …
        evict g1 n0 for g7: …
        nominate g7-0 n0
        cycle 2
        bind g7-0 n0
        bind g4-0 n0
        bind g4-1 n1
        evict g0 n1 for g1: of higher priority in its queue (2)
        nominate g1 n1
        """,
        ROOM,
        cycles=2,
    )


def test_whoever_runs_in_a_queue_that_does_not_exist_is_left_alone() -> None:
    """Between him and the claimant nothing is divided."""
    check(
        """
        node  n0  gpu=2
        queue q1  quota:gpu=2
        pod   r   gpu=2 queue=gone on=n0 controlled
        pod   p   gpu=2 queue=q1
        """,
        """
        wait p 1 full: …
        """,
        ROOM,
    )
