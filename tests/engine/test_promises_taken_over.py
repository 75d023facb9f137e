"""A promise is taken over by whoever could evict its owner if that already ran there, by the same rights."""

import pytest

from phalanx.model.task import State
from phalanx.testing import check_run
from phalanx.testing.stage import Stage
from tests.oracles.room import PREEMPT, RECLAIM, policy_of

POLICY = policy_of(RECLAIM, PREEMPT)
RACK = "label:topology.kubernetes.io/rack"

PROMISED = """
    node  n1    gpu=8
    pod   low   gpu=8 on=n1 controlled
    pod   mid   gpu=8 priority=5 created=1m {mid}
    pod   high  gpu=8 priority={high} created={at}
    """


def test_the_more_important_takes_a_promise_over_at_once_and_nobody_is_evicted_twice() -> None:
    check_run(
        PROMISED.format(mid="", high=9, at="70s"),
        """
        at 1m
        evict low n1 for mid: of higher priority in its queue (5)
        nominate mid n1
        at 1m10s
        release mid n1: taken over by high (preempt): of higher priority in its queue (9)
        wait mid 1 full: high took over the place that was promised to it
        nominate high n1
        at 1m11s
        wait mid 1 full: 0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 0 of 8)
        nominate high n1
        at 1m30s
        bind high n1
        wait mid 1 full: 0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 0 of 8)
        wait low 1 full: …
        """,
        POLICY,
        until="1h",
    )


def test_where_the_place_is_free_already_the_more_important_binds_and_not_first_the_other() -> None:
    check_run(
        PROMISED.format(mid="", high=9, at="90s"),
        """
        at 1m
        evict low n1 for mid: …
        nominate mid n1
        at 1m30s
        wait low 1 full: …
        release mid n1: taken over by high (preempt): …
        wait mid 1 full: high took over the place that was promised to it
        bind high n1
        """,
        POLICY,
        until="1h",
    )


@pytest.mark.parametrize(
    ("mid", "high"), [("preemptible=false", 9), ("", 5)], ids=["not preemptible", "of the same priority"]
)
def test_a_promise_to_whom_nobody_could_evict_stays(mid: str, high: int) -> None:
    stage = Stage(PROMISED.format(mid=mid, high=high, at="70s"), POLICY)
    stage.check("1m", "evict low n1 for mid: …\nnominate mid n1")
    stage.check("70s", "wait high 1 full: …\nnominate mid n1")
    stage.check("2m", "bind mid n1\nwait high 1 full: …\nwait low 1 full: …")


def test_who_must_not_evict_takes_no_promise_over() -> None:
    stage = Stage(PROMISED.format(mid="", high="9 preempts=false", at="70s"), POLICY)
    stage.check("1m", "evict low n1 for mid: …\nnominate mid n1")
    stage.check("70s", "wait high 1 full: …\nnominate mid n1")
    stage.check("2m", "bind mid n1\nwait high 1 full: …\nwait low 1 full: …")


def test_a_queue_takes_back_what_is_promised_beyond_the_share_of_another() -> None:
    stage = Stage(
        """
        node   n1    gpu=8
        queue  a     quota:gpu=0
        queue  b     quota:gpu=8
        pod    low   gpu=8 queue=a on=n1
        pod    mid   gpu=8 queue=a priority=5 created=1m
        pod    mine  gpu=8 queue=b created=70s
        """,
        POLICY,
    )
    stage.check("1m", "evict low n1 for mid: of higher priority in its queue (5)\nnominate mid n1")
    stage.check(
        "70s",
        """
        release mid n1: taken over by mine (reclaim): queue b reclaims its share
        wait mid 1 full: …
        nominate mine n1
        """,
    )
    stage.check("90s", "bind mine n1\nwait mid 1 full: …")


def test_a_promise_stays_where_somebody_less_important_can_leave() -> None:
    stage = Stage(
        """
        node  n1..n2  gpu=8
        pod   low1    gpu=8 on=n1
        pod   low2    gpu=8 on=n2 priority=1
        pod   mid     gpu=8 priority=5 created=1m
        pod   high    gpu=8 priority=9 created=70s
        """,
        POLICY,
    )
    stage.check("1m", "evict low1 n1 for mid: …\nnominate mid n1")
    stage.check("70s", "nominate mid n1\nevict low2 n2 for high: …\nnominate high n2")
    stage.check("2m", "bind high n2\nbind mid n1")


def test_who_lost_a_promise_has_room_made_elsewhere() -> None:
    check_run(
        """
        node  n1    gpu=8 label:disk=ssd
        node  n2    gpu=8
        pod   low1  gpu=8 on=n1
        pod   low2  gpu=8 on=n2 priority=1
        pod   mid   gpu=8 priority=5 created=1m
        pod   high  gpu=8 priority=9 select:disk=ssd created=70s
        """,
        """
        at 1m
        evict low1 n1 for mid: …
        nominate mid n1
        at 1m10s
        release mid n1: taken over by high (preempt): …
        wait mid 1 full: …
        nominate high n1
        at 1m11s
        nominate high n1
        evict low2 n2 for mid: …
        nominate mid n2
        at 1m30s
        bind high n1
        nominate mid n2
        at 1m41s
        bind mid n2
        """,
        POLICY,
        until="1h",
    )


def test_a_gang_loses_its_promises_together() -> None:
    """With one place less the gang mid could not start: the other is nobody's from then on, and low2 takes it again."""
    check_run(
        """
        node  n1    gpu=8 label:disk=ssd
        node  n2    gpu=8
        pod   low1  gpu=8 on=n1
        pod   low2  gpu=8 on=n2 controlled
        gang  mid   members=2 gpu=8 priority=5 created=1m
        pod   high  gpu=8 priority=9 select:disk=ssd created=70s
        """,
        """
        at 1m
        evict low2 n2 for mid: …
        evict low1 n1 for mid: …
        nominate mid-0 n1
        nominate mid-1 n2
        at 1m10s
        release mid-0 n1: taken over by high (preempt): …
        release mid-1 n2: taken over by high (preempt): …
        wait mid 2 full: …
        nominate high n1
        at 1m11s
        wait mid 2 full: …
        nominate high n1
        at 1m30s
        bind high n1
        wait mid 2 full: …
        bind low2 n2
        """,
        POLICY,
        until="1h",
    )


@pytest.mark.parametrize(
    ("priority", "expect"),
    [
        (0, "wait mine 1 full: 0/1 nodes: 1 keeping nvidia.com/gpu for pods nominated there"),
        (5, "wait mine 1 full: 0/1 nodes: 1 keeping nvidia.com/gpu for pods nominated there"),
        (6, "bind mine n1"),
    ],
)
def test_nominations_of_other_schedulers_count_for_pods_of_their_priority_and_below(priority: int, expect: str) -> None:
    stage = Stage(
        f"""
        node  n1     gpu=8
        pod   stale  gpu=8 priority=5 scheduler=default-scheduler
        pod   mine   gpu=8 priority={priority}
        """,
        POLICY,
    )
    stage.change("stale", nominated="n1")
    stage.check("0s", expect)


def test_nobody_is_evicted_for_a_place_that_another_scheduler_has_nominated_for_somebody_as_important() -> None:
    """Pod low would leave in vain for mine; for the more important it leaves, and that binds."""
    given = """
        node  n1     gpu=8
        pod   low    gpu=8 on=n1
        pod   stale  gpu=8 priority=5 scheduler=default-scheduler
        pod   mine   gpu=8 priority={}
        """
    stage = Stage(given.format(5), POLICY)
    stage.change("stale", nominated="n1")
    stage.check("0s", "wait mine 1 full: …")
    stage = Stage(given.format(6), POLICY)
    stage.change("stale", nominated="n1")
    stage.check("0s", "evict low n1 for mine: …\nnominate mine n1")
    stage.check("1m", "bind mine n1")


def test_an_attempt_that_is_undone_leaves_no_reason_behind() -> None:
    """In rack a big would take over the place of p-1. In rack b it costs less, so p-1 keeps its place."""
    stage = Stage(
        f"""
        node  a1   gpu=2 {RACK}=a
        node  b1   gpu=1 {RACK}=b
        node  c1   gpu=1 {RACK}=c
        pod   mid  gpu=1 on=a1 priority=5
        pod   v    gpu=1 on=a1
        pod   low  gpu=1 on=b1
        gang  p    members=1 minimum=1 gpu=1 priority=1 preempts=false on=c1
        gang  p    members=2 gpu=1 priority=1
        gang  big  members=1 gpu=1 priority=9 topology-required=rack created=1m
        """,
        policy_of(PREEMPT),
    )
    stage.change("v", state=State.RELEASING, gone_at=100.0)
    stage.change("p-1", nominated="a1")
    stage.check("1m", "wait p 1 full: 0/3 nodes: …\nnominate p-1 a1\nevict low b1 for big: …\nnominate big-0 b1")
