"""Who makes room for whom, between queues and inside one: whole plans, cycle by cycle."""

from phalanx.testing.scenario import check
from tests.oracles.room import ROOM


def test_a_team_takes_back_its_share_and_no_more() -> None:
    check(
        """
        node  n1      gpu=4
        queue a       quota:gpu=2
        queue b       quota:gpu=2
        pod   a1..a4  gpu=1 queue=a on=n1 controlled
        pod   b1..b3  gpu=1 queue=b created=1m
        """,
        """
        wait b3 1 full: …
        evict a4 n1 for b1: queue b reclaims its share
        nominate b1 n1
        evict a3 n1 for b2: queue b reclaims its share
        nominate b2 n1
        cycle 2
        bind b1 n1
        bind b2 n1
        wait a3 1 full: …
        wait a4 1 full: …
        wait b3 1 full: …
        cycle 3
        wait a3 1 full: …
        wait a4 1 full: …
        wait b3 1 full: …
        """,
        ROOM,
        cycles=3,
    )


def test_between_departments_the_level_counts_on_which_they_part() -> None:
    """Both teams of red are over; each gives up what red has beyond its share, in turn."""
    check(
        """
        node  n1      gpu=8
        queue red     quota:gpu=4
        queue blue    quota:gpu=4
        queue r1      parent=red quota:gpu=2
        queue r2      parent=red quota:gpu=2
        queue b1      parent=blue quota:gpu=4
        pod   x1..x4  gpu=1 queue=r1 on=n1
        pod   y1..y4  gpu=1 queue=r2 on=n1
        gang  z       members=4 gpu=1 queue=b1 created=1m
        """,
        """
        evict y4 n1 for z: queue b1 reclaims its share
        evict y3 n1 for z: queue b1 reclaims its share
        evict x4 n1 for z: queue b1 reclaims its share
        evict x3 n1 for z: queue b1 reclaims its share
        nominate z-0 n1
        nominate z-1 n1
        nominate z-2 n1
        nominate z-3 n1
        cycle 2
        bind z-0 n1
        bind z-1 n1
        bind z-2 n1
        bind z-3 n1
        """,
        ROOM,
        cycles=2,
    )


def test_a_team_of_a_department_over_its_share_takes_from_its_sister_alone() -> None:
    """Inside red, r1 is over; blue has what is its own, so nobody takes from it."""
    check(
        """
        node  n1      gpu=6
        queue red     quota:gpu=4
        queue blue    quota:gpu=2
        queue r1      parent=red quota:gpu=2
        queue r2      parent=red quota:gpu=2
        queue b1      parent=blue quota:gpu=2
        pod   x1..x4  gpu=1 queue=r1 on=n1
        pod   z1..z2  gpu=1 queue=b1 on=n1
        pod   y1..y3  gpu=1 queue=r2 created=1m
        """,
        """
        wait y3 1 full: …
        evict x4 n1 for y1: queue r2 reclaims its share
        nominate y1 n1
        evict x3 n1 for y2: queue r2 reclaims its share
        nominate y2 n1
        """,
        ROOM,
    )


def test_who_stays_within_its_quota_takes_from_who_is_beyond_its_own() -> None:
    """Queue high may have all that is idle, so its share is 3; but low's quota comes before that."""
    check(
        """
        node  n1      gpu=4
        queue high    quota:gpu=1 priority=1
        queue low     quota:gpu=2
        pod   h1..h4  gpu=1 queue=high on=n1
        pod   l1..l3  gpu=1 queue=low created=1m
        """,
        """
        wait l3 1 full: …
        evict h4 n1 for l1: queue low reclaims its share
        nominate l1 n1
        evict h3 n1 for l2: queue low reclaims its share
        nominate l2 n1
        """,
        ROOM,
    )


def test_a_team_that_would_end_above_its_share_takes_nothing() -> None:
    """Two GPUs are the share of each. The pod of two would bring b to three; the one of one does not."""
    check(
        """
        node  n1      gpu=4
        queue a       weight:gpu=1
        queue b       weight:gpu=1
        pod   a1..a3  gpu=1 queue=a on=n1
        pod   b1      gpu=1 queue=b on=n1
        pod   b2      gpu=2 queue=b created=1m
        pod   b3      gpu=1 queue=b created=2m
        """,
        """
        wait b2 1 full: …
        evict a3 n1 for b3: queue b reclaims its share
        nominate b3 n1
        """,
        ROOM,
    )


def test_what_is_not_preemptible_reclaims_only_within_the_quota() -> None:
    check(
        """
        node  n1      gpu=2
        queue a
        queue b       quota:gpu=1
        pod   a1..a2  gpu=1 queue=a on=n1
        pod   b1..b2  gpu=1 queue=b preemptible=false created=1m
        """,
        """
        wait b2 1 full: …
        evict a2 n1 for b1: queue b reclaims its share
        nominate b1 n1
        cycle 2
        bind b1 n1
        wait b2 1 held: queue b has 1 that is not preemptible, of its quota of 1 nvidia.com/gpu: …
        """,
        ROOM,
        cycles=2,
    )


def test_inside_a_queue_the_more_important_goes_first_even_if_others_run() -> None:
    check(
        """
        node  n1         gpu=2
        pod   low1..low2 gpu=1 on=n1
        pod   high       gpu=1 priority=10 created=1m
        """,
        """
        evict low2 n1 for high: of higher priority in its queue (10)
        nominate high n1
        cycle 2
        bind high n1
        """,
        ROOM,
        cycles=2,
    )


def test_priority_counts_inside_a_queue_only_and_only_if_it_is_higher() -> None:
    check(
        """
        node  n1      gpu=2
        queue a       quota:gpu=1
        queue b       quota:gpu=1
        pod   a1      gpu=1 queue=a on=n1
        pod   b1      gpu=1 queue=b on=n1 priority=5
        pod   equal   gpu=1 queue=b priority=5 created=1m
        pod   high    gpu=1 queue=b priority=9 created=1m
        pod   higher  gpu=1 queue=b priority=20 created=1m
        """,
        """
        wait high 1 full: …
        wait equal 1 full: …
        evict b1 n1 for higher: of higher priority in its queue (20)
        nominate higher n1
        """,
        ROOM,
    )


def test_what_is_not_preemptible_is_nobodys_victim() -> None:
    check(
        """
        node  n1      gpu=3
        queue a       quota:gpu=2
        queue b       quota:gpu=1
        pod   a1..a2  gpu=1 queue=a on=n1 preemptible=false
        pod   a3      gpu=1 queue=a on=n1 preemptible=false
        pod   b1      gpu=1 queue=b created=1m
        pod   high    gpu=1 queue=a priority=9 created=1m
        """,
        """
        wait b1 1 full: …
        wait high 1 full: …
        """,
        ROOM,
    )


def test_what_a_gang_has_beyond_its_minimum_goes_before_whole_gangs() -> None:
    """Elastic work shrinks from its last member; then the youngest gang goes."""
    check(
        """
        node  n1       gpu=4
        gang  elastic  members=3 minimum=2 gpu=1 on=n1
        pod   young    gpu=1 on=n1 created=1m
        pod   h1..h2   gpu=1 priority=9 created=1m
        """,
        """
        evict elastic-2 n1 for h1: of higher priority in its queue (9)
        nominate h1 n1
        evict young n1 for h2: of higher priority in its queue (9)
        nominate h2 n1
        cycle 2
        bind h1 n1
        bind h2 n1
        wait elastic 1 full: …
        """,
        ROOM,
        cycles=2,
    )


def test_a_gang_leaves_whole_or_not_at_all() -> None:
    check(
        """
        node  n1..n2  gpu=2
        gang  low     members=2 gpu=1 on=n1
        gang  low     members=2 gpu=1 on=n2
        pod   high    gpu=1 priority=9 created=1m
        """,
        """
        evict low-0 n1 for high: of higher priority in its queue (9)
        evict low-1 n1 for high: of higher priority in its queue (9)
        evict low-2 n2 for high: of higher priority in its queue (9)
        evict low-3 n2 for high: of higher priority in its queue (9)
        nominate high n1
        cycle 2
        bind high n1
        wait low 4 full: …
        """,
        ROOM,
        cycles=2,
    )


PROTECTED = """
    node  n1       gpu=2
    queue top      quota:gpu=2 preempt-min-runtime=10m reclaim-min-runtime=20m
    queue a        quota:gpu=1 parent=top
    queue b        quota:gpu=1 parent=top
    gang  elastic  members=2 minimum=2 gpu=1 queue=a on=n1
    pod   high     gpu=2 queue=a priority=5 created=1m
    pod   b1       gpu=1 queue=b created=1m
    """


def test_who_started_a_short_while_ago_is_protected_from_each_action_for_as_long_as_the_queue_says() -> None:
    waits = "wait b1 1 full: …\nwait high 1 full: …"
    check(PROTECTED, waits, ROOM, now="9m59s")
    preempted = """
        evict elastic-0 n1 for high: of higher priority in its queue (5)
        evict elastic-1 n1 for high: of higher priority in its queue (5)
        nominate high n1
        """
    check(PROTECTED, "wait b1 1 full: …" + preempted, ROOM, now="10m")
    reclaimed = """
        wait high 1 full: …
        evict elastic-0 n1 for b1: queue b reclaims its share
        evict elastic-1 n1 for b1: queue b reclaims its share
        nominate b1 n1
        """
    check(PROTECTED, reclaimed, ROOM, now="20m")


def test_what_is_beyond_a_minimum_is_never_protected() -> None:
    check(
        PROTECTED.replace("minimum=2", "minimum=1"),
        """
        wait high 1 full: …
        evict elastic-1 n1 for b1: queue b reclaims its share
        nominate b1 n1
        """,
        ROOM,
        now="2m",
    )


def test_a_queue_at_its_limit_still_prefers_the_more_important() -> None:
    check(
        """
        node  n1    gpu=4
        queue a     limit:gpu=1
        pod   low   gpu=1 queue=a on=n1
        pod   high  gpu=1 queue=a priority=5 created=1m
        """,
        """
        evict low n1 for high: of higher priority in its queue (5)
        nominate high n1
        """,
        ROOM,
    )


def test_below_a_parent_at_its_limit_a_team_still_gets_its_share() -> None:
    check(
        """
        node  n1      gpu=4
        queue top     quota:gpu=2 limit:gpu=2
        queue a       quota:gpu=1 parent=top
        queue b       quota:gpu=1 parent=top
        pod   a1..a2  gpu=1 queue=a on=n1
        pod   b1      gpu=1 queue=b created=1m
        """,
        """
        evict a2 n1 for b1: queue b reclaims its share
        nominate b1 n1
        """,
        ROOM,
    )


def test_a_claim_is_met_by_whoever_of_the_others_helps() -> None:
    check(
        """
        node  n0      gpu=1
        node  n1      gpu=2
        queue q0      quota:gpu=2
        queue q1      quota:gpu=2
        pod   large   gpu=2 queue=q0 on=n1
        pod   small   gpu=1 queue=q0 on=n0
        gang  claim   members=2 gpu=1 queue=q1 created=1m
        """,
        """
        evict large n1 for claim: queue q1 reclaims its share
        nominate claim-0 n1
        nominate claim-1 n1
        """,
        ROOM,
    )


def test_a_queue_does_not_grow_beyond_its_share_by_preemption_while_others_wait_for_theirs() -> None:
    """Queue q0 has its share of 2; with high it would have 4, and q1 would take them back at once, for ever."""
    check(
        """
        node  n1    gpu=2
        node  n2    gpu=3
        queue q0    quota:gpu=2 weight:gpu=0
        queue q1    quota:gpu=0
        pod   p1    gpu=1 queue=q0 on=n1
        pod   p2    gpu=1 queue=q0 on=n2
        pod   three gpu=3 queue=q1 created=1m
        pod   high  gpu=3 queue=q0 priority=2 created=1m
        """,
        """
        wait three 1 full: …
        wait high 1 full: …
        """,
        ROOM,
    )
