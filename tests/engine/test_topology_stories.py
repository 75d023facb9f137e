"""Stories of gangs that wish to be in one domain: where they go, what they climb to, and why they wait."""

from phalanx.testing import check

RACK = "label:topology.kubernetes.io/rack"
BLOCK = "label:topology.kubernetes.io/block"

RACKS = f"""
    node a1..a2  gpu=8 {RACK}=a
    node b1..b3  gpu=8 {RACK}=b
"""
BLOCKS = f"""
    node p1..p2  gpu=8 {RACK}=p {BLOCK}=x
    node q1..q2  gpu=8 {RACK}=q {BLOCK}=x
    node r1..r2  gpu=8 {RACK}=r {BLOCK}=y
    node s1..s4  gpu=8 {RACK}=s {BLOCK}=y
"""


def test_a_required_rack_is_the_tightest_that_holds_all() -> None:
    """Rack b stays whole for whoever needs three nodes."""
    check(
        given=RACKS + "gang g members=2 gpu=8 topology-required=rack",
        expect="""
            bind g-0 a1
            bind g-1 a2
        """,
    )


def test_a_gang_that_no_rack_will_ever_hold_is_told_the_best_one() -> None:
    check(
        given=RACKS + "gang g members=4 gpu=8 topology-required=rack",
        expect="wait g 4 never: 4 needed in one rack: rack b has room for 3 of 4; empty, the best would hold 3",
    )


def test_a_gang_that_a_rack_would_hold_if_others_left_waits() -> None:
    """There is room for three in all, but not in one rack."""
    check(
        given=RACKS
        + """
            pod  other gpu=8 on=b2
            gang g members=3 gpu=8 topology-required=rack
        """,
        expect="""
            wait g 3 full: 3 needed in one rack: rack a has room for 2 of 3…
        """,
    )


def test_a_preferred_rack_is_left_only_when_it_is_too_small() -> None:
    check(
        given=RACKS
        + """
            gang small members=2 gpu=8 topology-preferred=rack priority=9
            gang large members=3 gpu=8 topology-preferred=rack
        """,
        expect="""
            bind small-0 a1
            bind small-1 a2
            bind large-0 b1
            bind large-1 b2
            bind large-2 b3
        """,
    )


def test_what_fits_into_no_rack_takes_as_few_racks_as_can_be() -> None:
    """Neighbouring ranks are neighbours: the first task sits apart, the other three beside each other."""
    check(
        given=RACKS + "gang g members=4 gpu=8 topology-preferred=rack",
        expect="""
            bind g-0 a1
            bind g-1 b1
            bind g-2 b2
            bind g-3 b3
        """,
    )


def test_a_preferred_rack_climbs_to_the_required_block_and_no_further() -> None:
    """Block x holds four nodes in two racks; block y six: the tighter one that needs as few racks would be s and r."""
    check(
        given=BLOCKS
        + """
            pod  other gpu=8 on=s1
            gang g members=4 gpu=8 topology-preferred=rack topology-required=block
        """,
        expect="""
            bind g-0 p1
            bind g-1 p2
            bind g-2 q1
            bind g-3 q2
        """,
    )


def test_one_rack_that_holds_all_is_better_than_a_tighter_block() -> None:
    check(
        given=BLOCKS + "gang g members=4 gpu=8 topology-required=block",
        expect="""
            bind g-0 s1
            bind g-1 s2
            bind g-2 s3
            bind g-3 s4
        """,
    )


def test_all_on_one_node() -> None:
    check(
        given="""
            node n1  gpu=3
            node n2  gpu=4
            gang g members=4 gpu=1 topology-required=node
            gang h members=4 gpu=1 topology-required=kubernetes.io/hostname
        """,
        expect="""
            bind g-0 n2
            bind g-1 n2
            bind g-2 n2
            bind g-3 n2
            wait h 4 full: 4 needed in one node: node n1 has room for 3 of 4…
        """,
    )


def test_a_label_that_is_no_level_is_a_level_of_its_own() -> None:
    check(
        given="""
            node n1..n2  gpu=8 label:example.com/room=red
            node n3      gpu=8 label:example.com/room=blue
            gang g members=2 gpu=8 topology-required=example.com/room
        """,
        expect="""
            bind g-0 n1
            bind g-1 n2
        """,
    )


def test_a_level_that_nobody_has_is_told_and_others_proceed() -> None:
    check(
        given=RACKS
        + """
            gang g members=2 gpu=1 topology-required=pod priority=9
            gang h members=2 gpu=8
        """,
        expect="""
            wait g 2 never: no node has the label pod, and it is no level: the levels are rack, node
            bind h-0 a1
            bind h-1 a2
        """,
    )


def test_nodes_without_the_label_are_in_no_domain() -> None:
    check(
        given=f"""
            node n1..n4  gpu=8
            node n5      gpu=8 {RACK}=a
            gang g members=2 gpu=8 topology-required=rack
        """,
        expect="wait g 2 never: 2 needed in one rack: rack a has room for 1 of 2; empty, the best would hold 1",
    )


def test_two_gangs_compete_for_one_rack() -> None:
    """The more important one gets it; the other one is told which rack comes nearest."""
    check(
        given=RACKS
        + """
            gang first  members=3 gpu=8 topology-required=rack priority=9
            gang second members=3 gpu=8 topology-required=rack
        """,
        expect="""
            bind first-0 b1
            bind first-1 b2
            bind first-2 b3
            wait second 3 full: 3 needed in one rack: rack a has room for 2 of 3…
        """,
    )


def test_growth_stays_in_the_rack_of_its_gang() -> None:
    """Rack b has room too, but the gang is in a."""
    check(
        given=RACKS
        + """
            gang g members=1 gpu=8 on=a1 minimum=1 topology-required=rack
            gang g members=2 minimum=1 gpu=8 topology-required=rack
        """,
        expect="""
            bind g-1 a2
            wait g 1 full: 1 needed in one rack: its members are in rack a, which has room for 0 of 1…
        """,
    )


def test_a_gang_that_lost_a_member_is_repaired_in_its_rack_or_says_why_not() -> None:
    check(
        given=f"""
            node a1..a3  gpu=8 {RACK}=a
            node b1..b3  gpu=8 {RACK}=b
            pod  other gpu=8 on=a3
            gang g members=1 gpu=8 on=a1 minimum=3 topology-required=rack
            gang g members=1 gpu=8 on=a2 minimum=3 topology-required=rack
            gang g members=1 gpu=8 minimum=3 topology-required=rack
        """,
        expect="""
            wait g 1 full: 1 needed in one rack: its members are in rack a, which has room for 0 of 1…
        """,
    )


def test_a_gang_that_wishes_nothing_is_kept_in_one_rack_where_nodes_are_equally_full() -> None:
    """By name it would be a2, b1 and b2."""
    given = f"""
        node a1      gpu=8 {RACK}=a
        node a2      gpu=8 {RACK}=a
        node b1..b4  gpu=8 {RACK}=b
        node c1..c3  gpu=8 {RACK}=c
        pod  other gpu=8 on=a1
        gang g members=3 gpu=8
    """
    check(
        given=given,
        expect="""
            bind g-0 c1
            bind g-1 c2
            bind g-2 c3
        """,
    )


def test_a_gang_that_wishes_nothing_and_fits_into_no_rack_is_kept_in_one_block() -> None:
    """By name it would be p2, q1, q2 and r1, in three racks of two blocks."""
    check(
        given=BLOCKS.replace("s1..s4", "s1..s3")
        + """
            pod  other gpu=8 on=p1
            gang g members=4 gpu=8
        """,
        expect="""
            bind g-0 s1
            bind g-1 s2
            bind g-2 s3
            bind g-3 r1
        """,
    )


def test_packing_goes_before_the_closeness_of_a_gang_that_wishes_nothing() -> None:
    """The two nodes that are in use already lie in two racks."""
    check(
        given=f"""
            node a1..a2  gpu=8 {RACK}=a
            node b1..b2  gpu=8 {RACK}=b
            pod  one gpu=4 on=a1
            pod  two gpu=4 on=b1
            gang g members=2 gpu=4
        """,
        expect="""
            bind g-0 a1
            bind g-1 b1
        """,
    )


def test_closeness_counts_the_room_that_every_filter_leaves() -> None:
    """By its GPUs alone rack a would hold all; each node has the port once."""
    check(
        given=f"""
            node a1..a2  gpu=8 {RACK}=a
            node b1..b4  gpu=8 {RACK}=b
            gang g members=4 gpu=1 port=80
        """,
        expect="""
            bind g-0 b1
            bind g-1 b2
            bind g-2 b3
            bind g-3 b4
        """,
    )


def test_equal_pods_in_no_gang_are_not_kept_together() -> None:
    check(
        given=f"""
            node a1      gpu=8 {RACK}=a
            node b1..b2  gpu=8 {RACK}=b
            pod  p1..p2  gpu=8
        """,
        expect="""
            bind p1 a1
            bind p2 b1
        """,
    )


def test_growth_of_a_gang_that_prefers_a_rack_stays_there_and_then_in_its_block() -> None:
    """Rack r is as tight as q, and its name would not be the first either."""
    check(
        given=BLOCKS
        + """
            gang g members=1 gpu=8 on=r1 minimum=1 topology-preferred=rack
            gang g members=2 minimum=1 gpu=8 topology-preferred=rack
            pod  other gpu=8 on=s1
            pod  more  gpu=8 on=s2
        """,
        expect="""
            bind g-1 r2
            bind g-2 s3
        """,
    )


def test_who_is_repaired_goes_near_the_others_where_its_rack_is_full() -> None:
    """Rack p is tighter; rack s is in the block of the others."""
    check(
        given=BLOCKS
        + """
            pod  one   gpu=8 on=p1
            pod  other gpu=8 on=r2
            gang g members=1 gpu=8 on=r1 minimum=2 topology-preferred=rack
            gang g members=1 gpu=8 minimum=2 topology-preferred=rack
        """,
        expect="bind g-1 s1",
    )


def test_a_gang_of_which_all_was_lost_may_go_to_another_rack() -> None:
    check(
        given=RACKS
        + """
            pod  other gpu=8 on=a1
            gang g members=2 gpu=8 topology-required=rack
        """,
        expect="""
            bind g-0 b1
            bind g-1 b2
        """,
    )
