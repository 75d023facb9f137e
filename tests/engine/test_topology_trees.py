"""Stories of gangs whose subgroups have wishes of their own, and of room that is made in one domain."""

from phalanx.testing import check

RACK = "label:topology.kubernetes.io/rack"
BLOCK = "label:topology.kubernetes.io/block"

BLOCKS = f"""
    node p1..p2  gpu=8 {RACK}=p {BLOCK}=x
    node q1..q2  gpu=8 {RACK}=q {BLOCK}=x
    node r1..r2  gpu=8 {RACK}=r {BLOCK}=y
    node s1..s3  gpu=8 {RACK}=s {BLOCK}=y
"""


def test_each_replica_in_one_rack_and_all_of_them_in_one_block() -> None:
    wish = "topology-required=block subgroup-topology-required=rack gpu=8"
    check(
        given=BLOCKS
        + f"""
            gang serve subgroup=one members=3 {wish}
            gang serve subgroup=two members=2 {wish}
        """,
        expect="""
            bind serve-one-0 s1
            bind serve-one-1 s2
            bind serve-one-2 s3
            bind serve-two-0 r1
            bind serve-two-1 r2
        """,
    )


def test_a_subgroup_that_finds_no_rack_is_named_and_nothing_starts() -> None:
    wish = "subgroup-topology-required=rack gpu=8"
    check(
        given=BLOCKS
        + f"""
            gang serve subgroup=one members=1 {wish}
            gang serve subgroup=two members=4 {wish}
        """,
        expect="wait serve 5 never: 4 needed of subgroup two in one rack: rack s has room for 3 of 4; …",
    )


def test_what_one_subgroup_takes_is_given_back_for_another_that_fits_nowhere_else() -> None:
    """Rack a is the tightest that holds the workers; but then the head would have no node."""
    check(
        given=f"""
            node a1      gpu=8 {RACK}=a label:disk=fast
            node b1..b2  gpu=8 {RACK}=b
            gang g subgroup=head    members=1 gpu=8 subgroup-topology-required=rack select:disk=fast
            gang g subgroup=workers members=2 gpu=4 subgroup-topology-required=rack
        """,
        expect="""
            bind g-workers-0 b1
            bind g-workers-1 b1
            bind g-head-0 a1
        """,
    )


def test_a_gang_of_several_shapes_is_placed_when_only_one_way_is_left() -> None:
    """Largest first would put 5 with 3, and 4 beside nobody: 5+3 and 4+4 fill both nodes exactly."""
    check(
        given=f"""
            node n1..n2  gpu=8 {RACK}=a
            gang g members=1 gpu=5 minimum=5 topology-required=rack
            gang g members=1 gpu=3 minimum=5 topology-required=rack
            gang g members=2 gpu=3 minimum=5 topology-required=rack
            gang g members=1 gpu=2 minimum=5 topology-required=rack
        """,
        expect="""
            bind g-1 n1
            bind g-2 n1
            bind g-3 n2
            bind g-0 n2
            bind g-4 n1
        """,
    )


def test_room_is_made_in_one_rack_and_nobody_leaves_another() -> None:
    """Rack b costs one victim, rack a two. Both victims of a are as unimportant."""
    check(
        given=f"""
            node a1..a2  gpu=8 {RACK}=a
            node b1..b2  gpu=8 {RACK}=b
            pod  low-1   gpu=8 on=a1 priority=1
            pod  low-2   gpu=8 on=a2 priority=1
            pod  low-3   gpu=8 on=b1 priority=1
            pod  high    gpu=1 on=b2 priority=9
            gang g members=2 gpu=7 priority=5 topology-required=rack
        """,
        expect="""
            evict low-3 b1 for g: …
            nominate g-0 b1
            nominate g-1 b2
        """,
    )


def test_the_rack_whose_victims_matter_least_is_cleared() -> None:
    check(
        given=f"""
            node a1..a2  gpu=8 {RACK}=a
            node b1..b2  gpu=8 {RACK}=b
            pod  mid     gpu=8 on=a1 priority=4
            pod  low-1   gpu=8 on=b1 priority=1
            pod  low-2   gpu=8 on=b2 priority=1
            gang g members=2 gpu=8 priority=5 topology-required=rack
        """,
        expect="""
            evict low-2 b2 for g: …
            evict low-1 b1 for g: …
            nominate g-0 b1
            nominate g-1 b2
        """,
    )


def test_nobody_is_evicted_where_no_rack_could_be_cleared() -> None:
    check(
        given=f"""
            node a1..a2  gpu=8 {RACK}=a
            node b1..b2  gpu=8 {RACK}=b
            pod  high-1  gpu=8 on=a1 priority=9
            pod  high-2  gpu=8 on=b1 priority=9
            pod  low-1   gpu=8 on=a2 priority=1
            pod  low-2   gpu=8 on=b2 priority=1
            gang g members=2 gpu=8 priority=5 topology-required=rack
        """,
        expect="wait g 2 full: 2 needed in one rack: no rack has room for any of 2 …",
    )


def test_repair_makes_room_in_the_rack_that_the_gang_is_in() -> None:
    """Rack b is empty; the gang that lost a member is in a."""
    check(
        given=f"""
            node a1..a2  gpu=8 {RACK}=a
            node b1..b2  gpu=8 {RACK}=b
            pod  low     gpu=8 on=a2 priority=1
            gang g members=1 gpu=8 on=a1 minimum=2 priority=5 topology-required=rack
            gang g members=1 gpu=8 minimum=2 priority=5 topology-required=rack
        """,
        expect="""
            evict low a2 for g: …
            nominate g-1 a2
        """,
    )


def test_a_gang_that_relabelling_split_may_stay_where_it_is() -> None:
    """Its members are in two racks by now; the third one goes to either of them, and nobody is evicted."""
    check(
        given=f"""
            node a1  gpu=8 {RACK}=a
            node b1  gpu=16 {RACK}=b
            node c1  gpu=8 {RACK}=c
            gang g members=1 gpu=8 on=a1 minimum=3 topology-required=rack
            gang g members=1 gpu=8 on=b1 minimum=3 topology-required=rack
            gang g members=1 gpu=8 minimum=3 topology-required=rack
        """,
        expect="bind g-2 b1",
    )
