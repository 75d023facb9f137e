"""Who is moved, who is repaired, and that nobody leaves in vain: whole plans, cycle by cycle."""

from phalanx.testing.scenario import check
from tests.oracles.room import ROOM, making_room

FRAGMENTED = """
    node  n1..n2  gpu=2
    queue a       quota:gpu=4 preempt-min-runtime=10m
    pod   r1      gpu=1 queue=a on=n1 controlled
    pod   r2      gpu=1 queue=a on=n2 controlled
    pod   p       gpu=2 queue=a created=1m
    """


def test_small_work_moves_together_so_that_the_large_fits() -> None:
    check(
        FRAGMENTED,
        """
        evict r1 n1 for p: moved together with others, so that it fits
        nominate p n1
        nominate r1 n2
        cycle 2
        bind p n1
        bind r1 n2
        """,
        ROOM,
        now="10m",
        cycles=2,
    )


def test_nobody_is_moved_within_his_minimum_runtime() -> None:
    check(FRAGMENTED, "wait p 1 full: …", ROOM, now="9m59s")


def test_nobody_is_moved_who_would_not_come_back() -> None:
    check(
        FRAGMENTED.replace("on=n1 controlled", "on=n1"),
        """
        evict r2 n2 for p: moved together with others, so that it fits
        nominate p n2
        nominate r2 n1
        """,
        ROOM,
        now="10m",
    )
    check(FRAGMENTED.replace(" controlled", ""), "wait p 1 full: …", ROOM, now="10m")


def test_nobody_is_moved_unless_there_is_another_place_for_everybody() -> None:
    check(
        """
        node  n1..n2  gpu=3
        pod   r1      gpu=2 on=n1 controlled
        pod   r2      gpu=2 on=n2 controlled
        pod   p       gpu=2 created=1m
        """,
        "wait p 1 full: …",
        ROOM,
    )


def test_no_more_are_moved_than_the_policy_allows() -> None:
    given = """
        node  n1..n2  gpu=4
        pod   r1..r2  gpu=1 on=n1 controlled
        pod   s1..s2  gpu=1 on=n2 controlled
        pod   p       gpu=4 created=1m
        """
    check(given, "wait p 1 full: …", making_room(moves=1))
    moved = """
        evict r2 n1 for p: moved together with others, so that it fits
        evict r1 n1 for p: moved together with others, so that it fits
        nominate p n1
        nominate r2 n2
        nominate r1 n2
        """
    check(given, moved, making_room(moves=2))


def test_who_is_entitled_to_what_he_has_is_moved_for_a_claim_but_never_left_out() -> None:
    check(
        """
        node  n1..n2  gpu=2
        queue a       quota:gpu=2
        queue b       quota:gpu=2
        pod   a1      gpu=1 queue=a on=n1 controlled
        pod   a2      gpu=1 queue=a on=n2 controlled
        pod   b1      gpu=2 queue=b created=1m preemptible=false
        """,
        """
        evict a2 n2 for b1: queue b reclaims its share
        nominate b1 n2
        nominate a2 n1
        cycle 2
        bind a2 n1
        bind b1 n2
        """,
        ROOM,
        cycles=2,
    )


def test_a_broken_gang_is_made_whole_before_others_of_its_priority() -> None:
    check(
        """
        node  n1   gpu=3
        gang  old  members=2 minimum=3 gpu=1 on=n1
        gang  old  members=1 gpu=1 created=2m
        pod   p    gpu=1 created=1m
        """,
        """
        bind old-2 n1
        wait p 1 full: …
        """,
        ROOM,
    )


def test_a_broken_gang_makes_room_for_its_missing_member() -> None:
    check(
        """
        node  n1   gpu=3
        gang  old  members=2 minimum=3 gpu=1 on=n1 priority=3
        gang  old  members=1 gpu=1 created=2m priority=3
        pod   p    gpu=1 on=n1
        """,
        """
        evict p n1 for old: of higher priority in its queue (3)
        nominate old-2 n1
        cycle 2
        bind old-2 n1
        """,
        ROOM,
        cycles=2,
    )


def test_a_gang_that_stays_broken_for_the_grace_period_is_evicted_whole() -> None:
    check(
        """
        node  n1   gpu=2
        gang  old  members=2 minimum=3 gpu=1 on=n1
        pod   p    gpu=1 created=1m
        """,
        """
        wait p 1 full: …
        cycle 2
        wait p 1 full: …
        evict old-0 n1: its gang is broken: 2 of the 3 that it needs are there
        evict old-1 n1: its gang is broken: 2 of the 3 that it needs are there
        cycle 3
        wait old 2 held: 2 of 3 members are there
        bind p n1
        """,
        ROOM,
        cycles=3,
    )


def test_a_gang_that_is_made_whole_is_not_evicted_in_the_same_plan() -> None:
    check(
        """
        node  n1   gpu=3
        gang  old  members=2 minimum=3 gpu=1 on=n1
        gang  old  members=1 gpu=1 created=2m
        pod   p    gpu=1 created=1m priority=9
        """,
        """
        bind old-2 n1
        wait p 1 full: …
        """,
        ROOM,
    )


def test_a_place_that_was_freed_is_taken_by_nobody_else() -> None:
    """The victim comes back at once, and another of its queue is more important than all: both wait."""
    check(
        """
        node  n1      gpu=2
        queue a       quota:gpu=1
        queue b       quota:gpu=1
        pod   a1      gpu=1 queue=a on=n1 controlled priority=50
        pod   a2      gpu=1 queue=a on=n1 controlled
        pod   b1      gpu=1 queue=b created=1m
        pod   eager   gpu=1 queue=a created=1m priority=50
        """,
        """
        wait eager 1 full: …
        evict a2 n1 for b1: queue b reclaims its share
        nominate b1 n1
        cycle 2
        bind b1 n1
        wait eager 1 full: …
        wait a2 1 full: …
        """,
        ROOM,
        cycles=2,
    )


def test_two_who_need_room_find_two_places() -> None:
    check(
        """
        node  n1..n2  gpu=1
        pod   low1    gpu=1 on=n1
        pod   low2    gpu=1 on=n2
        pod   h1..h3  gpu=1 priority=5 created=1m
        """,
        """
        wait h3 1 full: …
        evict low2 n2 for h1: of higher priority in its queue (5)
        nominate h1 n2
        evict low1 n1 for h2: of higher priority in its queue (5)
        nominate h2 n1
        """,
        ROOM,
    )


def test_nobody_leaves_a_node_that_is_not_used_then() -> None:
    """The search looks at l1 and l2 first, who are as unimportant; only clearing n3 helps."""
    check(
        """
        node  n1..n3  gpu=2
        pod   l3..l4  gpu=1 on=n3
        pod   l1      gpu=1 on=n1 created=1m
        pod   l2      gpu=1 on=n2 created=1m
        pod   m1      gpu=1 on=n1 priority=5
        pod   m2      gpu=1 on=n2 priority=5
        pod   high    gpu=2 priority=3 created=1m
        """,
        """
        evict l4 n3 for high: of higher priority in its queue (3)
        evict l3 n3 for high: of higher priority in its queue (3)
        nominate high n3
        """,
        ROOM,
    )


def test_nobody_leaves_who_could_stay_if_others_places_were_used() -> None:
    check(
        """
        node  n0   gpu=1
        node  n1   gpu=4
        pod   p1   gpu=2 on=n1
        pod   p2   gpu=1 on=n0
        gang  high members=4 gpu=1 priority=2 created=1m
        """,
        """
        evict p1 n1 for high: of higher priority in its queue (2)
        nominate high-0 n1
        nominate high-1 n1
        nominate high-2 n1
        nominate high-3 n1
        """,
        ROOM,
    )


def test_a_search_that_stops_early_evicts_nobody_and_says_so() -> None:
    check(
        """
        node  n1..n3  gpu=2
        pod   l1..l2  gpu=1 on=n1
        pod   l3..l4  gpu=1 on=n2
        pod   l5..l6  gpu=1 on=n3
        gang  high    members=3 gpu=2 priority=3 created=1m
        """,
        """
        wait high 3 full: 3 needed together, 0/3 nodes: 3 short of nvidia.com/gpu (most free on one node: 0 of 2); \
the search for …
        """,
        making_room(steps=3),
    )


def test_a_claim_takes_from_the_node_where_it_helps() -> None:
    """Queue b has one GPU too many; a task of two fits on n1 anyhow, and on n2 only without b2."""
    check(
        """
        node  n1  gpu=3
        node  n2  gpu=2
        queue a   quota:gpu=0 priority=1
        queue b   quota:gpu=0
        pod   b1  gpu=1 queue=b on=n1 created=1s
        pod   b2  gpu=1 queue=b on=n2
        gang  big members=2 gpu=2 queue=a created=1m
        """,
        """
        evict b2 n2 for big: queue a reclaims its share
        nominate big-0 n1
        nominate big-1 n2
        """,
        ROOM,
    )


def test_two_tasks_of_a_gang_may_share_the_node_that_is_cleared() -> None:
    check(
        """
        node n0 gpu=4
        node n2 gpu=3
        pod  g1 gpu=1 on=n0 controlled
        pod  g2 gpu=2 on=n2 controlled
        gang g3 members=2 gpu=2 created=1m
        """,
        """
        evict g1 n0 for g3: moved together with others, so that it fits
        nominate g3-0 n0
        nominate g3-1 n0
        nominate g1 n2
        """,
        ROOM,
    )


def test_a_gang_is_moved_off_a_node_on_which_only_a_part_of_it_runs() -> None:
    check(
        """
        node n1 gpu=2
        node n3 gpu=4
        gang g2 members=1 minimum=2 gpu=1 on=n1
        gang g2 members=1 gpu=1 on=n3
        pod  g5 gpu=4 created=1m
        """,
        """
        evict g2-0 n1 for g5: moved together with others, so that it fits
        evict g2-1 n3 for g5: moved together with others, so that it fits
        nominate g5 n3
        nominate g2-0 n1
        nominate g2-1 n1
        """,
        ROOM,
    )


def test_only_nodes_are_cleared_where_every_filter_then_lets_the_gang_in() -> None:
    """Amounts are free everywhere. The cheapest to clear are nodes on which the port stays taken."""
    taken = [f"pod o{n} cpu=1 port=80 on=n{n}; pod s{n} cpu=1 on=n{n} controlled" for n in range(11, 25)]
    movable = [f"pod p{n} cpu=1 port=80 on=n{n} controlled; pod t{n} cpu=1 on=n{n} controlled" for n in range(25, 28)]
    pods = "; ".join(taken + movable).replace("; ", "\n        ")
    check(
        f"""
        node  n11..n27  cpu=8 label:zone=a
        node  n28..n30  cpu=8 label:zone=b
        {pods}
        gang  web       members=3 cpu=1 port=80 select:zone=a created=1m
        """,
        """
        evict p27 n27 for web: moved together with others, so that it fits
        evict p26 n26 for web: moved together with others, so that it fits
        evict p25 n25 for web: moved together with others, so that it fits
        nominate web-0 n25
        nominate web-1 n26
        nominate web-2 n27
        nominate p27 n28
        nominate p26 n29
        nominate p25 n30
        cycle 2
        bind p25 n30
        bind p26 n29
        bind p27 n28
        bind web-0 n25
        bind web-1 n26
        bind web-2 n27
        """,
        ROOM,
        cycles=2,
    )
