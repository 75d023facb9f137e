"""Stories of gangs that want a domain for themselves, and of replicas that are spread over domains."""

from phalanx.testing import check

RACK = "label:topology.kubernetes.io/rack"
BLOCK = "label:topology.kubernetes.io/block"
RACKS = f"""
    node a1..a2  gpu=8 {RACK}=a {BLOCK}=x
    node b1..b3  gpu=8 {RACK}=b {BLOCK}=x
    node c1..c4  gpu=8 {RACK}=c {BLOCK}=y
"""
OWN = "gpu=4 topology-exclusive=rack"


def test_a_gang_has_a_rack_for_itself_and_the_next_one_takes_another() -> None:
    """Two half nodes each: both would fit into rack a, and the pod beside them."""
    check(
        given=RACKS
        + f"""
            gang one members=2 {OWN} priority=9
            gang two members=2 {OWN} priority=8
            pod  web gpu=1
        """,
        expect="""
            bind one-0 a1
            bind one-1 a1
            bind two-0 b1
            bind two-1 b1
            bind web c1
        """,
    )


def test_it_does_not_go_where_somebody_is() -> None:
    check(
        given=RACKS
        + f"""
            pod  web   gpu=1 on=a1
            pod  other gpu=1 on=b3 scheduler=default-scheduler
            gang one members=2 {OWN}
        """,
        expect="""
            bind one-0 b1
            bind one-1 b3
        """,
    )


def test_who_finds_no_rack_without_others_is_told_so() -> None:
    check(
        given=RACKS
        + f"""
            pod  web1 gpu=1 on=a1 priority=9
            pod  web2 gpu=1 on=b1 priority=9
            pod  web3 gpu=1 on=c1 priority=9
            gang one members=2 {OWN}
        """,
        expect="""
            wait one 2 full: 2 needed in one rack: no rack has room for any of 2 (9/9 nodes: 9 in a rack with others)
        """,
    )


def test_who_would_come_in_later_is_told_whose_it_is() -> None:
    check(
        given=f"""
            node a1..a2  gpu=8 {RACK}=a
            gang one members=1 gpu=4 topology-exclusive=rack on=a1
            gang two members=2 gpu=1 minimum=2
        """,
        expect="""
            wait two 2 full: 2 needed together, 0/2 nodes: 2 in a rack that one has for itself
        """,
    )


def test_against_a_label_only_those_count_that_have_it() -> None:
    """Training keeps other training out; services may come in."""
    check(
        given=RACKS
        + f"""
            pod  web gpu=1 on=a1
            gang one members=2 {OWN} topology-exclusive-against=kind=training label:kind=training priority=9
            gang two members=2 gpu=4 label:kind=training
            pod  late gpu=1 label:kind=service
        """,
        expect="""
            bind one-0 a1
            bind one-1 a2
            bind late a1
            bind two-0 b1
            bind two-1 b1
        """,
    )


def test_each_subgroup_has_a_rack_for_itself() -> None:
    check(
        given=RACKS
        + """
            gang g subgroup=one members=2 gpu=4 subgroup-topology-exclusive=rack
            gang g subgroup=two members=2 gpu=4 subgroup-topology-exclusive=rack
        """,
        expect="""
            bind g-one-0 a1
            bind g-one-1 a1
            bind g-two-0 b1
            bind g-two-1 b1
        """,
    )


def test_several_racks_of_one_block_may_be_its_own() -> None:
    """Rack a and b hold five nodes; block x is taken whole, and nobody else's."""
    check(
        given=RACKS
        + """
            gang g members=5 gpu=8 topology-required=block topology-exclusive=rack
            gang h members=4 gpu=8
        """,
        expect="""
            bind g-0 a1
            bind g-1 a2
            bind g-2 b1
            bind g-3 b2
            bind g-4 b3
            bind h-0 c1
            bind h-1 c2
            bind h-2 c3
            bind h-3 c4
        """,
    )


def test_a_rack_is_cleared_of_everybody_for_who_wants_it_alone() -> None:
    """Rack b costs one pod, rack a two, though in each only one stands in the way of the amounts."""
    check(
        given=f"""
            node a1..a2  gpu=8 {RACK}=a
            node b1..b2  gpu=8 {RACK}=b
            pod  a-big   gpu=8 on=a1 priority=1
            pod  a-small gpu=1 on=a2 priority=1
            pod  b-big   gpu=8 on=b1 priority=1
            gang g members=2 gpu=7 priority=5 topology-exclusive=rack
        """,
        expect="""
            evict b-big b1 for g: …
            nominate g-0 b1
            nominate g-1 b2
        """,
    )


def test_a_pod_that_is_in_the_way_by_its_presence_alone_leaves() -> None:
    """There is room for both beside it."""
    check(
        given=f"""
            node a1..a2  gpu=8 {RACK}=a
            pod  small gpu=1 on=a2 priority=1
            gang g members=1 gpu=7 priority=5 topology-exclusive=rack
        """,
        expect="""
            evict small a2 for g: …
            nominate g-0 a2
        """,
    )


def test_growth_and_repair_stay_in_the_rack_that_is_its_own() -> None:
    check(
        given=RACKS
        + f"""
            gang one members=1 {OWN} minimum=2 on=b1
            gang one members=2 {OWN} minimum=2
        """,
        expect="""
            bind one-1 b1
            bind one-2 b2
        """,
    )


def test_replicas_of_a_service_go_to_different_racks() -> None:
    """Each in one rack; the fourth has to share, and goes where fewest are."""
    check(
        given=RACKS + "gang serve-1..serve-4 members=2 gpu=4 replica-of=serve topology-spread=rack",
        expect="""
            bind serve-1-0 a1
            bind serve-1-1 a1
            bind serve-2-0 b1
            bind serve-2-1 b1
            bind serve-3-0 c1
            bind serve-3-1 c1
            bind serve-4-0 a2
            bind serve-4-1 a2
        """,
    )


def test_replicas_that_run_count_and_other_services_do_not() -> None:
    check(
        given=RACKS
        + """
            gang serve-1 members=1 gpu=4 replica-of=serve topology-spread=rack on=a1
            gang other-1 members=1 gpu=4 replica-of=other topology-spread=rack on=b1
            gang serve-2 members=1 gpu=4 replica-of=serve topology-spread=rack
            gang other-2 members=1 gpu=4 replica-of=other topology-spread=rack
        """,
        expect="""
            bind other-2-0 a1
            bind serve-2-0 b1
        """,
    )


def test_replicas_that_are_subgroups_are_spread_too() -> None:
    """All in one block."""
    wish = "gpu=4 subgroup-topology-spread=rack topology-required=block"
    check(
        given=RACKS
        + f"""
            gang g subgroup=one members=2 {wish}
            gang g subgroup=two members=2 {wish}
        """,
        expect="""
            bind g-one-0 a1
            bind g-one-1 a1
            bind g-two-0 b1
            bind g-two-1 b1
        """,
    )


def test_a_replica_that_fits_beside_another_alone_goes_there() -> None:
    """It is a wish, and no rule."""
    check(
        given=f"""
            node a1..a2  gpu=8 {RACK}=a
            node b1      gpu=4 {RACK}=b
            gang serve-1 members=1 gpu=8 replica-of=serve topology-spread=rack on=a1
            gang serve-2 members=1 gpu=8 replica-of=serve topology-spread=rack
        """,
        expect="bind serve-2-0 a2",
    )
