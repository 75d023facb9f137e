"""What of a gang leaves first, and what never leaves alone: whole plans, cycle by cycle."""

from phalanx.testing.scenario import check, check_run
from tests.oracles.room import ROOM


def test_a_gang_is_moved_whole_or_not_at_all() -> None:
    check(
        """
        node n0 gpu=3
        node n1 gpu=3
        gang g members=1 minimum=2 gpu=1 on=n0
        gang g members=2 gpu=1 on=n1
        pod  p gpu=3 created=1m
        """,
        """
        evict g-2 n1 for p: moved together with others, so that it fits
        evict g-0 n0 for p: moved together with others, so that it fits
        evict g-1 n1 for p: moved together with others, so that it fits
        nominate p n0
        nominate g-2 n1
        nominate g-0 n1
        nominate g-1 n1
        """,
        ROOM,
    )


def test_a_gang_with_subgroups_shrinks_before_it_is_killed() -> None:
    check(
        """
        node  n0 gpu=4
        queue a quota:gpu=2
        queue b quota:gpu=2
        gang  g members=3 minimum=2 gpu=1 on=n0 subgroup=a subgroup-minimum=1 queue=a
        gang  g members=1 gpu=1 subgroup=b subgroup-minimum=1 on=n0 queue=a
        pod   p gpu=1 queue=b created=1m
        """,
        """
        evict g-a-2 n0 for p: queue b reclaims its share
        nominate p n0
        """,
        ROOM,
    )


def test_the_last_subgroup_shrinks_first() -> None:
    check(
        """
        node n0 gpu=4
        gang g members=2 minimum=2 gpu=1 on=n0 subgroup=a subgroup-minimum=1
        gang g members=2 gpu=1 subgroup=b subgroup-minimum=1 on=n0
        pod  p gpu=1 created=1m priority=1
        pod  q gpu=1 created=2m priority=1
        pod  r gpu=1 created=3m priority=1
        """,
        """
        evict g-b-1 n0 for p: of higher priority in its queue (1)
        nominate p n0
        evict g-a-1 n0 for q: of higher priority in its queue (1)
        nominate q n0
        evict g-a-0 n0 for r: of higher priority in its queue (1)
        evict g-b-0 n0 for r: of higher priority in its queue (1)
        nominate r n0
        """,
        ROOM,
    )


def test_a_gang_of_which_one_subgroup_is_missing_is_broken_however_many_others_there_are() -> None:
    check(
        """
        node n0 gpu=2
        gang g members=2 minimum=2 gpu=1 on=n0 subgroup=a subgroup-minimum=1
        gang g members=1 gpu=4 subgroup=b subgroup-minimum=1
        """,
        """
        wait g 1 never: …
        cycle 2
        wait g 1 never: …
        evict g-a-0 n0: its gang is broken: 2 of the 3 that it needs are there
        evict g-a-1 n0: its gang is broken: 2 of the 3 that it needs are there
        """,
        ROOM,
        cycles=2,
    )


def test_growth_does_not_protect_a_minimum_anew() -> None:
    """Queue q protects a minimum for ten minutes after its start. The second task of g starts five minutes later."""
    check_run(
        """
        node  n0 gpu=2
        queue q quota:gpu=2 preempt-min-runtime=10m
        pod   r gpu=1 queue=q on=n0 runtime=5m
        gang  g members=1 minimum=1 gpu=1 queue=q on=n0
        gang  g members=1 gpu=1 queue=q
        pod   p gpu=2 priority=5 queue=q created=6m
        """,
        """
        at 0s
        wait g 1 full: …
        at 5m
        bind g-1 n0
        at 6m
        wait p 1 full: …
        at 10m
        evict g-1 n0 for p: of higher priority in its queue (5)
        evict g-0 n0 for p: of higher priority in its queue (5)
        nominate p n0
        at 10m1s
        nominate p n0
        at 10m30s
        bind p n0
        wait g 2 full: …
        """,
        ROOM,
        until="12m",
    )
