"""Stories of pods that look at other pods: affinity, anti-affinity, topology spread."""

from phalanx.testing import check

ZONES = """
    node a1..a2 cpu=8 label:zone=a
    node b1..b2 cpu=8 label:zone=b
    node c1..c2 cpu=8 label:zone=c
"""


def test_a_gang_that_repels_itself_takes_one_host_each() -> None:
    check(
        given="""
            node n1..n3 cpu=8
            gang g      members=3 cpu=1 label:app=db repels=host
        """,
        expect="""
            bind g-0 n1
            bind g-1 n2
            bind g-2 n3
        """,
    )


def test_a_gang_that_repels_itself_and_is_larger_than_the_cluster_never_starts() -> None:
    check(
        given="""
            node n1..n3 cpu=8
            gang g      members=4 cpu=1 label:app=db repels=host
        """,
        expect="""
            wait g 4 never: 4 needed together, 3 fit: 3 of 3 nodes have room, one for each kubernetes.io/hostname …
        """,
    )


def test_a_gang_that_repels_itself_in_zones_takes_one_zone_each() -> None:
    check(
        given=ZONES + "gang g members=3 cpu=1 label:app=db repels=zone",
        expect="""
            bind g-0 a1
            bind g-1 b1
            bind g-2 c1
        """,
    )


def test_it_does_not_start_with_fewer_zones_than_members() -> None:
    check(
        given=ZONES + "gang g members=4 cpu=1 label:app=db repels=zone",
        expect="""
            wait g 4 never: 4 needed together, 3 fit: 6 of 6 nodes have room, one for each zone by its own …
        """,
    )


def test_a_pod_keeps_away_from_those_that_it_repels() -> None:
    check(
        given="""
            node n1..n2 cpu=8
            pod  web    cpu=1 label:app=web on=n1
            pod  db     cpu=1 repels=host:app=web
            pod  more   cpu=4 repels=host:app=web select:kubernetes.io/hostname=n1
        """,
        expect="""
            bind db n2
            wait more 1 full: 0/2 nodes: 1 without label kubernetes.io/hostname=n1, 1 with a pod in their …
        """,
    )


def test_two_that_repel_each_other_do_not_meet_in_one_plan() -> None:
    check(
        given="""
            node n1 cpu=8
            pod  a  cpu=1 label:app=a repels=host:app=b created=0s
            pod  b  cpu=1 label:app=b created=1s
        """,
        expect="""
            bind a n1
            wait b 1 full: 0/1 nodes: 1 closed by the anti-affinity of a running pod
        """,
    )


def test_a_gang_that_attracts_itself_goes_to_the_zone_that_holds_it_all() -> None:
    """Zone a would be the first choice, and has no room for the fourth."""
    check(
        given="""
            node a1     cpu=3 label:zone=a
            node b1..b2 cpu=3 label:zone=b
            gang g      members=4 cpu=1 label:app=ring attracts=zone
        """,
        expect="""
            bind g-0 b1
            bind g-1 b1
            bind g-2 b1
            bind g-3 b2
        """,
    )


def test_it_waits_where_no_zone_holds_it_all() -> None:
    check(
        given="""
            node a1 cpu=3 label:zone=a
            node b1 cpu=3 label:zone=b
            gang g  members=4 cpu=1 label:app=ring attracts=zone
        """,
        expect="""
            wait g 4 never: 4 needed together, 3 fit: 2 of 2 nodes have room, all in one zone by its own affinity; on …
        """,
    )


def test_a_pod_follows_the_one_that_it_wants_to_be_near() -> None:
    check(
        given=ZONES
        + """
            pod db   cpu=1 label:app=db on=b2
            pod web  cpu=1 attracts=zone:app=db
            pod lost cpu=1 attracts=zone:app=nobody
        """,
        expect="""
            wait lost 1 full: 0/6 nodes: 6 without a pod in their zone that its affinity wants to be near
            bind web b2
        """,
    )


def test_who_waits_for_company_comes_in_the_next_cycle() -> None:
    """The older one had its turn first; placing the one that it wants to be near is a reason to look again."""
    check(
        given="""
            node n1..n2 cpu=8
            pod  old    cpu=1 attracts=host:app=db created=0s
            pod  db     cpu=1 label:app=db created=1s
        """,
        cycles=2,
        expect="""
            wait old 1 full: 0/2 nodes: 2 without a pod in their kubernetes.io/hostname that its affinity wants to …
            bind db n1
            cycle 2
            bind old n1
        """,
    )


def test_members_of_one_gang_may_be_what_others_of_it_want_to_be_near() -> None:
    """The worker fits nowhere before the server has its place."""
    check(
        given=ZONES
        + """
            gang g members=1 minimum=3 cpu=1 label:role=server subgroup=server
            gang g members=2 minimum=3 cpu=4 attracts=zone:role=server subgroup=worker
        """,
        expect="""
            bind g-server-0 a1
            bind g-worker-0 a1
            bind g-worker-1 a2
        """,
    )


def test_a_gang_is_spread_over_zones() -> None:
    check(
        given=ZONES + "gang g members=4 cpu=1 label:app=web spread=zone:1",
        expect="""
            bind g-0 a1
            bind g-1 b1
            bind g-2 c1
            bind g-3 a1
        """,
    )


def test_pods_that_run_count_for_the_spread() -> None:
    check(
        given=ZONES
        + """
            pod  x1..x2 cpu=1 label:app=web on=a1
            gang g      members=2 cpu=1 label:app=web spread=zone:1
            pod  last   cpu=1 label:app=web spread=zone:1 select:zone=a created=9s
        """,
        expect="""
            bind g-0 b1
            bind g-1 c1
            bind last a1
        """,
    )


def test_a_spread_that_nothing_satisfies_says_how_many_domains_are_full() -> None:
    """Zone c has no room, and nobody may get more than one ahead of it."""
    check(
        given="""
            node a1 cpu=8 label:zone=a
            node b1 cpu=8 label:zone=b
            node c1 cpu=1 label:zone=c
            pod  x1 cpu=1 label:app=web on=a1
            pod  x2 cpu=1 label:app=web on=b1
            pod  p  cpu=2 label:app=web spread=zone:1
        """,
        expect="""
            wait p 1 full: 0/3 nodes: 2 beyond its spread: 2 of 3 domains of zone are at maxSkew 1, 1 too small …
        """,
    )


def test_a_gang_larger_than_its_spread_allows_says_so() -> None:
    check(
        given="""
            node a1 cpu=8 label:zone=a
            node b1 cpu=1 label:zone=b
            gang g  members=4 cpu=1 label:app=web spread=zone:1
        """,
        expect="""
            wait g 4 full: 4 needed together, 3 fit: 2 of 2 nodes have room, maxSkew 1 over 2 domains of zone
        """,
    )


def test_replicas_that_wish_to_be_spread_do_not_land_on_one_host() -> None:
    """Packing alone would put them all on n1."""
    check(
        given="""
            node n1..n3 cpu=8
            pod  busy   cpu=4 on=n1
            pod  r0..r3 cpu=1 label:app=web spread-softly=host:1
        """,
        expect="""
            bind r0 n1
            bind r1 n2
            bind r2 n3
            bind r3 n1
        """,
    )


def test_a_wish_to_be_near_beats_packing_and_a_dislike_too() -> None:
    check(
        given="""
            node n1..n3 cpu=8
            pod  busy   cpu=4 on=n1
            pod  db     cpu=1 label:app=db on=n2
            pod  fan    cpu=1 likes=host:app=db
            pod  shy    cpu=1 label:app=shy dislikes=host created=1s
            pod  shy2   cpu=1 label:app=shy dislikes=host created=2s
        """,
        expect="""
            bind fan n2
            bind shy n1
            bind shy2 n2
        """,
    )


def test_a_wish_that_cannot_be_had_keeps_nobody_from_starting() -> None:
    check(
        given="""
            node n1 cpu=8
            pod  r0..r2 cpu=1 label:app=web spread-softly=host:1,zone:1 dislikes=host likes=zone:app=db
        """,
        expect="""
            bind r0 n1
            bind r1 n1
            bind r2 n1
        """,
    )


def test_a_victim_opens_its_domain() -> None:
    """The pod in zone a keeps db out of the whole zone, and leaves although its own node has room for both."""
    check(
        given="""
            node a1..a2 cpu=8 label:zone=a
            pod  web    cpu=1 label:app=web on=a1 priority=1
            pod  other  cpu=1 on=a2 priority=1
            pod  db     cpu=1 repels=zone:app=web priority=9
        """,
        cycles=2,
        expect="""
            evict web a1 for db: of higher priority in its queue (9)
            nominate db a1
            cycle 2
            bind db a1
        """,
    )


def test_nobody_leaves_where_that_would_not_help() -> None:
    check(
        given="""
            node a1..a2 cpu=8 label:zone=a
            pod  web    cpu=1 label:app=web on=a1 priority=99
            pod  other  cpu=1 on=a2 priority=1
            pod  db     cpu=1 repels=zone:app=web priority=9
        """,
        expect="""
            wait db 1 full: 0/2 nodes: 2 with a pod in their zone that its anti-affinity keeps away from; preemption: …
        """,
    )


def test_a_gang_opens_a_zone_for_itself_when_its_first_members_fill_the_others_up() -> None:
    """Zone a is two ahead, so nobody may go there first; when b and c have caught up it takes its part."""
    check(
        given=ZONES
        + """
            pod  x1..x2 cpu=1 label:app=db on=a1
            gang g      members=9 cpu=1 label:app=db spread=zone:1
        """,
        expect="""
            bind g-0 b1
            bind g-1 c1
            bind g-2 b1
            bind g-3 c1
            bind g-4 a1
            bind g-5 b1
            bind g-6 c1
            bind g-7 a1
            bind g-8 b1
        """,
    )


def test_replicas_that_must_be_level_over_zones_and_wish_to_be_over_hosts_are_both() -> None:
    check(
        given=ZONES + "gang g members=6 cpu=1 label:app=db spread=zone:1 spread-softly=host:1",
        expect="""
            bind g-0 a1
            bind g-1 b1
            bind g-2 c1
            bind g-3 a2
            bind g-4 b2
            bind g-5 c2
        """,
    )


def test_a_gang_that_must_be_near_itself_and_wishes_to_be_over_hosts_is_spread_inside_its_zone() -> None:
    check(
        given=ZONES + "gang g members=4 cpu=4 label:app=db attracts=zone spread-softly=host:1",
        expect="""
            bind g-0 a1
            bind g-1 a2
            bind g-2 a1
            bind g-3 a2
        """,
    )
