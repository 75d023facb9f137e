"""Promises are kept while they serve, and given up at once when they do not."""

from phalanx.model.task import State
from phalanx.testing import check_run
from phalanx.testing.stage import Stage
from tests.oracles.room import PREEMPT, STALE, policy_of

BACKFILL = policy_of("{name: backfill}", PREEMPT)


def test_a_promise_on_a_node_that_was_tainted_is_released_and_room_is_made_elsewhere_at_once() -> None:
    stage = Stage(
        """
        node  n1..n2  gpu=8
        pod   low1    gpu=8 on=n1
        pod   low2    gpu=8 on=n2 priority=1
        pod   high    gpu=8 priority=9 created=1m
        """
    )
    stage.check("1m", "evict low1 n1 for high: …\nnominate high n1")
    stage.taint("n1")
    stage.check("70s", "release high n1: n1 is …\nevict low2 n2 for high: …\nnominate high n2")
    stage.check("2m", "bind high n2")
    stage.check("3m", "")


def test_a_nomination_that_was_never_any_good_is_released_at_once() -> None:
    stage = Stage(
        """
        node  n1    gpu=8 taint:broken:NoSchedule
        node  n2    gpu=8
        pod   low   gpu=8 priority=1 on=n2
        pod   high  gpu=8 priority=9
        """
    )
    stage.change("high", nominated="n1")
    stage.check("0s", "release high n1: n1 is …\nevict low n2 for high: …\nnominate high n2")
    stage.check("1m", "bind high n2")


def test_a_nomination_to_a_node_that_is_not_there_is_released() -> None:
    stage = Stage(
        """
        node  n2    gpu=8
        pod   low   gpu=8 priority=1 on=n2
        pod   high  gpu=8 priority=9
        """
    )
    stage.change("high", nominated="n1")
    stage.check("0s", "evict low n2 for high: …\nnominate high n2")
    stage.check("1m", "bind high n2")


def test_whose_place_is_lost_with_its_node_binds_at_once_where_there_is_room() -> None:
    check_run(
        """
        node  n1    gpu=8
        node  n2    gpu=8
        pod   low   gpu=8 on=n1
        pod   done  gpu=8 on=n2 priority=50 runtime=65s
        pod   high  gpu=8 priority=9 created=1m
        fail  n1    at=70s
        """,
        """
        at 1m
        evict low n1 for high: …
        nominate high n1
        at 1m5s
        bind high n2
        """,
        policy_of(PREEMPT),
        until="1h",
    )


def test_a_promise_that_no_longer_serves_and_has_no_other_place_is_released_and_says_why_it_waits() -> None:
    check_run(
        """
        node  n1    gpu=8
        node  n2    gpu=4
        pod   low   gpu=8 on=n1
        pod   high  gpu=8 priority=9 created=1m
        fail  n1    at=70s for=10m
        """,
        """
        at 1m
        evict low n1 for high: …
        nominate high n1
        at 1m10s
        release high n1: n1 is not ready
        wait high 1 never: …
        at 11m10s
        bind high n1
        """,
        policy_of(PREEMPT),
        until="1h",
    )


def test_what_is_promised_to_a_gang_does_not_count_against_it() -> None:
    """Pod g-0 has a place on n1 already; for g-1, only v1 has to leave."""
    stage = Stage(
        """
        node  n1    gpu=6
        node  n2    gpu=4
        pod   gone  gpu=4 on=n1
        pod   v0    gpu=2 on=n1
        pod   v1    gpu=4 on=n2 priority=1
        gang  g     members=2 gpu=4 priority=9
        """,
        policy_of(PREEMPT),
    )
    stage.change("gone", state=State.RELEASING, gone_at=600.0)
    stage.change("g-0", nominated="n1")
    stage.check("0s", "evict v1 n2 for g: …\nnominate g-0 n1\nnominate g-1 n2")
    stage.check("5m", "nominate g-0 n1\nnominate g-1 n2")
    stage.check("10m", "bind g-0 n1\nbind g-1 n2")
    assert stage.pod("v0").state is State.RUNNING


def test_a_place_is_reserved_while_a_part_of_a_gang_has_a_promise() -> None:
    """Of two of the gang g, whose turn is later, one has a promise; big is blocked, and it is known until when."""
    stage = Stage(
        """
        node  n1    gpu=8
        node  n2    gpu=4
        pod   busy  gpu=8 priority=50 on=n1 runtime=1h
        pod   big   gpu=8 priority=9
        gang  g     members=2 gpu=4
        pod   late  gpu=4 created=1s
        """,
        BACKFILL,
    )
    stage.change("g-0", nominated="n1")
    stage.check("0s", "release g-0 n1: n1 is short of nvidia.com/gpu …\nwait big 1 full: …\nwait g 2 full: …")


def test_a_gang_with_a_promise_gets_no_reservation_elsewhere() -> None:
    """Two GPUs of n1 are idle: small need not wait until low is gone from n2."""
    check_run(
        """
        node  n1..n2  gpu=8
        pod   busy    gpu=6 on=n1 priority=50 runtime=10m
        pod   low     gpu=8 on=n2
        pod   big     gpu=8 priority=9 created=1m
        pod   small   gpu=2 created=70s
        """,
        """
        at 1m
        evict low n2 for big: …
        nominate big n2
        at 1m10s
        bind small n1
        nominate big n2
        at 1m30s
        bind big n2
        """,
        BACKFILL,
        until="5m",
    )


def test_nor_is_what_is_idle_refused_to_others_until_its_place_is_free() -> None:
    """As above, but small is there when room is made: the reservation of that moment is not needed any more."""
    check_run(
        """
        node  n1..n2  gpu=8
        pod   busy    gpu=6 on=n1 priority=50 runtime=10m
        pod   low     gpu=8 on=n2
        pod   big     gpu=8 priority=9 created=1m
        pod   small   gpu=2 created=1m
        """,
        """
        at 1m
        evict low n2 for big: …
        nominate big n2
        bind small n1
        at 1m30s
        bind big n2
        """,
        BACKFILL,
        until="5m",
    )


def test_a_gang_that_is_evicted_because_it_is_broken_gives_up_what_was_promised_to_it() -> None:
    stage = Stage(
        """
        node  n1..n3  gpu=1
        gang  g    members=1 minimum=3 gpu=1 priority=9 on=n1
        gang  g    members=1 gpu=1 priority=9 on=n2
        gang  g    members=1 gpu=1 priority=9 created=1m
        pod   low  gpu=1 on=n3
        """,
        policy_of(PREEMPT, STALE),
    )
    stage.check("1m", "evict low n3 for g: …\nnominate g-2 n3")
    stage.lose("g-0")
    stage.check("70s", "wait g 1 held: 2 of 3 members are there")
    stage.check(
        "130s",
        """
        wait g 1 held: 2 of 3 members are there
        evict g-1 n2: its gang is broken: …
        release g-2 n3: its gang is broken
        """,
    )
