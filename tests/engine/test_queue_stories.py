"""Queues decide who goes first, how much each may have, and how its tasks are laid out."""

from phalanx.policy.load import parse_policy
from phalanx.testing.scenario import check


def test_two_teams_of_equal_right_take_turns_whoever_came_first() -> None:
    check(
        """
        node  n1      gpu=4
        queue a       quota:gpu=2
        queue b       quota:gpu=2
        pod   a1..a4  gpu=1 queue=a
        pod   b1..b4  gpu=1 queue=b created=1m
        """,
        """
        bind a1 n1
        bind b1 n1
        bind a2 n1
        bind b2 n1
        wait a3 1 full: …
        wait a4 1 full: …
        wait b3 1 full: …
        wait b4 1 full: …
        """,
    )


def test_the_queue_that_has_less_of_its_share_goes_first() -> None:
    check(
        """
        node  n1      gpu=8
        queue a       quota:gpu=4
        queue b       quota:gpu=4
        pod   a0      gpu=3 queue=a on=n1
        pod   a1..a3  gpu=1 queue=a
        pod   b1..b4  gpu=1 queue=b created=1m
        """,
        """
        bind b1 n1
        bind b2 n1
        bind b3 n1
        bind a1 n1
        bind b4 n1
        wait a2 1 full: …
        wait a3 1 full: …
        """,
    )


def test_what_others_leave_idle_is_borrowed_up_to_the_limit() -> None:
    check(
        """
        node  n1      gpu=8
        queue a       quota:gpu=2 limit:gpu=5
        queue b       quota:gpu=6
        pod   a1..a6  gpu=1 queue=a
        """,
        """
        bind a1 n1
        bind a2 n1
        bind a3 n1
        bind a4 n1
        bind a5 n1
        wait a6 1 held: queue a has 5 of its limit of 5 nvidia.com/gpu: 1 asked, 1 too many
        """,
    )


def test_a_queue_that_must_not_borrow_stays_within_its_quota() -> None:
    check(
        """
        node  n1      gpu=8
        queue a       quota:gpu=2 borrowing=false
        queue b       quota:gpu=6
        gang  g       members=3 gpu=1 queue=a
        pod   p       gpu=1 queue=a created=1m
        """,
        """
        wait g 3 held: queue a has 0 of its quota of 2 nvidia.com/gpu and does not borrow: 3 asked, 1 too many
        bind p n1
        """,
    )


def test_the_limit_of_any_ancestor_holds() -> None:
    check(
        """
        node  n1       gpu=8
        queue research limit:gpu=3
        queue vision   parent=research quota:gpu=8
        queue speech   parent=research
        gang  v        members=2 gpu=1 queue=vision
        gang  s        members=2 gpu=1 queue=speech created=1m
        """,
        """
        bind v-0 n1
        bind v-1 n1
        wait s 2 held: queue research has 2 of its limit of 3 nvidia.com/gpu: 2 asked, 1 too many
        """,
    )


def test_what_cannot_be_preempted_stays_within_the_quota_while_others_borrow() -> None:
    check(
        """
        node  n1      gpu=8
        queue a       quota:gpu=2
        gang  fixed   members=3 gpu=1 queue=a preemptible=false
        gang  loose   members=3 gpu=1 queue=a created=1m
        """,
        """
        wait fixed 3 held: queue a has 0 that is not preemptible, of its quota of 2 nvidia.com/gpu: 3 asked, 1 too many
        bind loose-0 n1
        bind loose-1 n1
        bind loose-2 n1
        """,
    )


def test_a_resource_that_no_queue_lists_is_governed_by_nobody() -> None:
    check(
        """
        node  n1      gpu=8 cpu=64
        queue a       quota:gpu=1 limit:gpu=1
        pod   p1..p2  cpu=30 queue=a
        pod   q       gpu=1 cpu=1 queue=a created=1m
        """,
        """
        bind p1 n1
        bind p2 n1
        bind q n1
        """,
    )


def test_of_two_queues_the_one_of_higher_priority_borrows_first() -> None:
    check(
        """
        node  n1      gpu=2
        queue low
        queue high    priority=1
        pod   l1..l2  gpu=1 queue=low
        pod   h1..h2  gpu=1 queue=high created=1m
        queue other   quota:gpu=2
        """,
        """
        bind h1 n1
        bind h2 n1
        wait l1 1 full: …
        wait l2 1 full: …
        """,
    )


def test_train_packs_and_infer_spreads_in_one_plan() -> None:
    check(
        """
        node  n1..n3  gpu=8 cpu=64
        queue work
        queue train   parent=work placement=pack
        queue infer   parent=work placement=spread
        pod   t1..t3  gpu=1 queue=train
        pod   i1..i3  gpu=1 queue=infer created=1m
        """,
        """
        bind t1 n1
        bind t2 n1
        bind t3 n1
        bind i1 n2
        bind i2 n3
        bind i3 n2
        """,
    )


def test_the_placement_of_a_parent_is_its_childrens() -> None:
    check(
        """
        node  n1..n2  gpu=8 cpu=64
        queue serving placement=spread
        queue web     parent=serving
        pod   p1..p2  gpu=1 queue=web
        """,
        """
        bind p1 n1
        bind p2 n2
        """,
    )


def test_growth_of_elastic_gangs_goes_round_one_task_at_a_time() -> None:
    check(
        """
        node  n1      gpu=5
        gang  old     members=4 minimum=1 gpu=1
        gang  young   members=4 minimum=1 gpu=1 created=1m
        """,
        """
        bind old-0 n1
        bind young-0 n1
        bind old-1 n1
        bind young-1 n1
        bind old-2 n1
        wait young 2 full: …
        wait old 1 full: …
        """,
    )


def test_growth_of_one_team_waits_for_its_turn_among_the_others() -> None:
    check(
        """
        node  n1      gpu=4
        queue a       quota:gpu=2
        queue b       quota:gpu=2
        gang  old     members=4 minimum=1 gpu=1 queue=a
        pod   b1..b2  gpu=1 queue=b created=1m
        """,
        """
        bind old-0 n1
        bind b1 n1
        bind old-1 n1
        bind b2 n1
        wait old 2 full: …
        """,
    )


def test_a_patient_gang_lets_others_of_its_queue_pass_until_its_patience_ends() -> None:
    given = """
        node  n1      gpu=1
        pod   calm    gpu=1 priority=5 patience=1h
        pod   keen    gpu=1 created=30m
        """
    check(given, "bind keen n1\nwait calm 1 full: …", now="59m")
    check(given, "bind calm n1\nwait keen 1 full: …", now="60m")


def test_a_gang_that_waited_long_enough_is_not_overtaken_any_more() -> None:
    given = """
        node  n1..n2  gpu=8
        pod   r1      gpu=6 on=n1
        gang  big     members=2 gpu=8 priority=-5
        pod   small   gpu=1 priority=100 created=1h
        """
    check(
        given,
        """
        bind small n1
        wait big 2 full: …
        """,
        now="5h",
    )
    check(
        given,
        """
        wait big 2 full: 2 needed together, 1 fit: 1 of 2 nodes has room, 1 short of nvidia.com/gpu (most free on one \
node: 2 of 8); it has waited 6.0 h, so no younger gang overtakes it: 2 nodes are kept for it
        wait small 1 full: 0/2 nodes: 2 kept for big, which has waited long enough; preemption: …
        """,
        now="6h",
    )


def test_only_as_many_nodes_are_kept_as_are_needed_and_only_for_what_can_ever_fit() -> None:
    check(
        """
        node  n1..n3  gpu=8
        pod   r1      gpu=6 on=n1
        pod   r2      gpu=4 on=n2
        pod   r3      gpu=5 on=n3
        pod   big     gpu=8
        pod   huge    gpu=9
        pod   small   gpu=2 created=1h
        """,
        """
        wait big 1 full: 0/3 nodes: 3 short of nvidia.com/gpu (most free on one node: 4 of 8); it has waited 8.0 h, so \
no younger gang overtakes it: 1 node is kept for it
        wait huge 1 never: …
        bind small n1
        """,
        now="8h",
    )


def test_nodes_are_kept_for_the_oldest_gang_of_a_queue_alone() -> None:
    """Kept for all who are old, they would close the cluster to everybody else."""
    check(
        """
        node  n1..n3  gpu=8
        pod   r1      gpu=4 on=n1 priority=9
        pod   r2      gpu=4 on=n2 priority=9
        pod   r3      gpu=4 on=n3 priority=9
        pod   old     gpu=8 priority=-5
        pod   less    gpu=8 priority=5 created=1m
        pod   small   gpu=1 created=1h
        """,
        """
        wait old 1 full: 0/3 nodes: 3 short of nvidia.com/gpu (most free on one node: 4 of 8); it has waited 8.0 h, so \
no younger gang overtakes it: 1 node is kept for it
        wait less 1 full: …
        bind small n2
        """,
        now="8h",
    )


def test_nodes_kept_for_a_gang_are_open_to_it_when_others_are_moved() -> None:
    check(
        """
        node  n1..n2  gpu=8
        pod   r1      gpu=2 on=n1 controlled
        pod   r2      gpu=2 on=n2 controlled
        pod   old     gpu=8
        """,
        """
        evict r1 n1 for old: …
        nominate old n1
        nominate r1 n2
        """,
        now="8h",
    )


def test_a_gang_that_waited_long_enough_goes_before_queues_that_have_less() -> None:
    """Otherwise a large gang could be passed for ever by small ones of a queue whose share it exceeds."""
    given = """
        node  n1      gpu=8
        queue a
        queue b       quota:gpu=8
        gang  big     members=2 gpu=4 queue=a
        pod   p1..p2  gpu=1 queue=b created=1h
        """
    check(given, "bind p1 n1\nbind p2 n1\nwait big 2 full: …", now="2h")
    check(given, "bind big-0 n1\nbind big-1 n1\nwait p1 1 full: …\nwait p2 1 full: …", now="6h")


def test_a_long_line_of_old_gangs_does_not_give_a_queue_more_than_its_share() -> None:
    check(
        """
        node  n1      gpu=4
        queue a       quota:gpu=1 weight:gpu=0
        queue b       quota:gpu=3 weight:gpu=0
        pod   a1..a4  gpu=1 queue=a
        pod   b1..b4  gpu=1 queue=b created=5h
        """,
        """
        bind a1 n1
        bind b1 n1
        bind b2 n1
        bind b3 n1
        wait b4 1 full: …
        wait a2 1 full: …
        wait a3 1 full: …
        wait a4 1 full: …
        """,
        now="7h",
    )


def test_who_can_never_start_takes_nobodys_share() -> None:
    """Neither a gang that lacks members nor one that is not preemptible and beyond the quota asks for anything."""
    check(
        """
        node  n1      gpu=4
        queue a       priority=10 quota:gpu=0
        queue b       quota:gpu=0
        queue c       quota:gpu=0
        gang  fixed   members=4 gpu=1 queue=a preemptible=false
        gang  lacking members=4 minimum=5 gpu=1 queue=a
        pod   b1..b4  gpu=1 queue=b on=n1 controlled
        pod   c1..c4  gpu=1 queue=c
        """,
        """
        wait fixed 4 held: …
        wait lacking 4 held: 4 of 5 members are there
        wait c3 1 full: …
        wait c4 1 full: …
        evict b4 n1 for c1: queue c reclaims its share
        nominate c1 n1
        evict b3 n1 for c2: queue c reclaims its share
        nominate c2 n1
        """,
        parse_policy("{extends: default, actions: [{name: allocate}, {name: reclaim}]}", "reclaiming"),
    )
