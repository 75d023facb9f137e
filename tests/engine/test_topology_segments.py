"""Stories of gangs in segments: every so many members in one domain, neighbouring ranks together."""

from phalanx.testing import check

RACK = "label:topology.kubernetes.io/rack"
BLOCK = "label:topology.kubernetes.io/block"
PAIRS = "gpu=8 segment-size=2 segment-topology=rack"

#: Racks of 3, 3, 2 and 1 nodes.
RACKS = f"""
    node a1..a3  gpu=8 {RACK}=a {BLOCK}=x
    node b1..b3  gpu=8 {RACK}=b {BLOCK}=x
    node c1..c2  gpu=8 {RACK}=c {BLOCK}=y
    node d1      gpu=8 {RACK}=d {BLOCK}=y
"""


def test_every_two_ranks_are_in_one_rack() -> None:
    """The third nodes of racks a and b, and rack d, take no whole segment."""
    check(
        given=RACKS + f"gang g members=6 {PAIRS}",
        expect="""
            bind g-0 a1
            bind g-1 a2
            bind g-2 b1
            bind g-3 b2
            bind g-4 c1
            bind g-5 c2
        """,
    )


def test_segments_in_racks_and_all_of_them_in_one_block() -> None:
    check(
        given=RACKS + f"gang g members=4 {PAIRS} topology-required=block",
        expect="""
            bind g-0 a1
            bind g-1 a2
            bind g-2 b1
            bind g-3 b2
        """,
    )


def test_what_is_left_over_is_a_segment_of_its_own() -> None:
    """Three pairs and one: the last one takes what the pairs leave."""
    check(
        given=RACKS + f"gang g members=7 {PAIRS}",
        expect="""
            bind g-0 a1
            bind g-1 a2
            bind g-2 b1
            bind g-3 b2
            bind g-4 c1
            bind g-5 c2
            bind g-6 a3
        """,
    )


def test_a_gang_whose_segments_do_not_all_fit_is_told_how_many_do() -> None:
    """Nine nodes for eight members, but only room for three pairs."""
    check(
        given=RACKS + f"gang g members=8 {PAIRS}",
        expect="wait g 8 never: 8 needed in segments of 2 in one rack each: there is room for 6 of 8; "
        "empty, the best would hold 6",
    )


def test_segments_that_would_fit_if_others_left_wait() -> None:
    check(
        given=RACKS
        + f"""
            pod  other gpu=1 on=c1 priority=9
            gang g members=4 {PAIRS} topology-required=block
            gang h members=2 {PAIRS}
        """,
        expect="""
            bind g-0 a1
            bind g-1 a2
            bind g-2 b1
            bind g-3 b2
            wait h 2 full: 2 needed in segments of 2 in one rack each: there is room for 0 of 2…
        """,
    )


def test_a_segment_of_several_shapes_is_in_one_rack_too() -> None:
    """The head and its first worker in rack d, the workers behind them by twos."""
    check(
        given=f"""
            node a1..a2  gpu=8 {RACK}=a
            node b1      gpu=8 cpu=9 {RACK}=b
            node b2      gpu=8 {RACK}=b
            gang g members=1 cpu=9 gpu=1 minimum=4 segment-size=2 segment-topology=rack
            gang g members=3 gpu=8
        """,
        expect="""
            bind g-0 b1
            bind g-1 b2
            bind g-2 a1
            bind g-3 a2
        """,
    )


def test_a_lost_member_goes_back_to_the_rack_of_its_segment() -> None:
    """Member 3 belongs to member 2 in rack b; rack c would be tighter."""
    check(
        given=RACKS
        + f"""
            gang g members=1 on=a1 minimum=4 {PAIRS}
            gang g members=1 on=a2 {PAIRS}
            gang g members=1 on=b1 {PAIRS}
            gang g members=1 {PAIRS}
        """,
        expect="bind g-3 b2",
    )


def test_a_lost_member_whose_rack_is_full_waits_and_says_why() -> None:
    check(
        given=RACKS
        + f"""
            pod  other gpu=8 on=c2
            gang g members=1 on=a1 minimum=4 {PAIRS}
            gang g members=1 on=a2 {PAIRS}
            gang g members=1 on=c1 {PAIRS}
            gang g members=1 {PAIRS}
        """,
        expect="""
            wait g 1 full: 1 needed of segment 1 in one rack: its members are in rack c, which has room for 0 of 1…
        """,
    )


def test_a_segment_that_is_lost_whole_goes_to_another_rack_of_the_block() -> None:
    """Rack c would be tighter; the others are in block x."""
    check(
        given=RACKS
        + f"""
            gang g members=2 minimum=4 {PAIRS}
            gang g members=1 on=b1 {PAIRS}
            gang g members=1 on=b2 {PAIRS}
        """,
        expect="""
            bind g-0 a1
            bind g-1 a2
        """,
    )


def test_growth_begins_a_segment_where_the_whole_of_it_fits() -> None:
    """One task after the other; rack d is the tightest for one, but not for two."""
    check(
        given=RACKS
        + f"""
            gang g members=1 on=a1 minimum=2 {PAIRS}
            gang g members=1 on=a2 {PAIRS}
            gang g members=2 minimum=2 {PAIRS}
        """,
        expect="""
            bind g-2 c1
            bind g-3 c2
        """,
    )


def test_segments_of_a_subgroup_are_its_own() -> None:
    check(
        given=RACKS
        + """
            gang g subgroup=head    members=1 gpu=8
            gang g subgroup=workers members=4 gpu=8 subgroup-segment-size=2 subgroup-segment-topology=rack
        """,
        expect="""
            bind g-workers-0 a1
            bind g-workers-1 a2
            bind g-workers-2 b1
            bind g-workers-3 b2
            bind g-head-0 a3
        """,
    )


def test_a_level_that_nobody_has_is_told() -> None:
    check(
        given=RACKS + "gang g members=2 gpu=8 segment-size=2 segment-topology=row",
        expect="wait g 2 never: no node has the label row, and it is no level: the levels are block, rack, node",
    )


def test_a_segment_below_its_required_level_asks_for_nothing_more() -> None:
    """All in one rack: then every two are."""
    check(
        given=RACKS + "gang g members=2 gpu=8 topology-required=rack segment-size=2 segment-topology=block",
        expect="""
            bind g-0 c1
            bind g-1 c2
        """,
    )


def test_room_for_a_segment_is_made_in_the_rack_that_costs_least() -> None:
    """One pair has room in rack c; of the other racks b costs one pod, and a two."""
    check(
        given=f"""
            node a1..a2  gpu=8 {RACK}=a
            node b1..b2  gpu=8 {RACK}=b
            node c1..c2  gpu=8 {RACK}=c
            pod  a-one   gpu=8 on=a1 priority=1
            pod  a-two   gpu=8 on=a2 priority=1
            pod  b-one   gpu=8 on=b1 priority=1
            gang g members=4 priority=5 {PAIRS}
        """,
        expect="""
            evict b-one b1 for g: …
            nominate g-0 b1
            nominate g-1 b2
            nominate g-2 c1
            nominate g-3 c2
        """,
    )


def test_one_pod_leaves_and_not_two_from_another_rack() -> None:
    """Node by node c1 would be as cheap as a1, and c2 as b1."""
    check(
        given=f"""
            node a1..a2  gpu=8 {RACK}=a
            node b1..b2  gpu=8 {RACK}=b
            node c1..c2  gpu=8 {RACK}=c
            pod  a-one   gpu=2 on=a1 priority=1
            pod  b-one   gpu=4 on=b1 priority=1
            pod  c-one   gpu=2 on=c1 priority=1
            pod  c-two   gpu=4 on=c2 priority=1
            gang g members=2 priority=5 {PAIRS}
        """,
        expect="""
            evict a-one a1 for g: …
            nominate g-0 a1
            nominate g-1 a2
        """,
    )


def test_the_rack_whose_victims_matter_least_is_cleared() -> None:
    """As many leave either one; the highest priority among them counts first."""
    check(
        given=f"""
            node a1..a2  gpu=8 {RACK}=a
            node b1..b2  gpu=8 {RACK}=b
            pod  a-one   gpu=8 on=a1 priority=4
            pod  a-two   gpu=8 on=a2 priority=1
            pod  b-one   gpu=8 on=b1 priority=2
            pod  b-two   gpu=8 on=b2 priority=2
            gang g members=2 priority=5 {PAIRS}
        """,
        expect="""
            evict b-two b2 for g: …
            evict b-one b1 for g: …
            nominate g-0 b1
            nominate g-1 b2
        """,
    )


def test_a_lost_member_gets_room_in_the_rack_of_its_segment() -> None:
    """Rack b is empty; the other one of the pair is in a."""
    check(
        given=f"""
            node a1..a2  gpu=8 {RACK}=a
            node b1..b2  gpu=8 {RACK}=b
            pod  low     gpu=8 on=a2 priority=1
            gang g members=1 on=a1 minimum=2 priority=5 {PAIRS}
            gang g members=1 minimum=2 priority=5 {PAIRS}
        """,
        expect="""
            evict low a2 for g: …
            nominate g-1 a2
        """,
    )


def test_segments_inside_one_block_clear_the_block_that_costs_least() -> None:
    """In block x two racks of two must be cleared of two pods; in y one pod leaves."""
    check(
        given=f"""
            node a1..a2  gpu=8 {RACK}=a {BLOCK}=x
            node b1..b2  gpu=8 {RACK}=b {BLOCK}=x
            node c1..c2  gpu=8 {RACK}=c {BLOCK}=y
            node d1..d3  gpu=8 {RACK}=d {BLOCK}=y
            pod  a-one   gpu=8 on=a1 priority=1
            pod  b-one   gpu=8 on=b1 priority=1
            pod  c-one   gpu=8 on=c1 priority=1
            gang g members=4 priority=5 {PAIRS} topology-required=block
        """,
        expect="""
            evict c-one c1 for g: …
            nominate g-0 c1
            nominate g-1 c2
            nominate g-2 d1
            nominate g-3 d2
        """,
    )
