"""What one cycle does to a promise: it is given up once, and its gang's growth never takes the minimum's place."""

from phalanx.testing.stage import Stage
from tests.oracles.room import PREEMPT, policy_of

POLICY = policy_of(PREEMPT)


def test_a_promise_that_was_given_up_in_this_cycle_is_not_taken_over_as_well() -> None:
    """Nothing is left of the promise: whoever wants n1 must have low leave, although mid would be the first to go."""
    stage = Stage(
        """
        node  n1    gpu=8
        pod   low   gpu=6 on=n1 priority=6
        pod   mid   gpu=6 priority=5
        pod   high  gpu=8 priority=9
        """,
        POLICY,
    )
    stage.change("mid", nominated="n1")
    stage.check(
        "0s", "release mid n1: n1 is short of …\nwait mid 1 full: …\nevict low n1 for high: …\nnominate high n1"
    )
    stage.check("1m", "bind high n1\nwait mid 1 full: …")


def test_growth_does_not_take_the_place_that_is_promised_to_the_minimum() -> None:
    """Pod high has the right to the promise of g-0, so that lands last; g-1 must not go before it."""
    stage = Stage(
        """
        node  n1    gpu=1
        node  n2    gpu=4
        pod   busy  gpu=4 on=n2 priority=50
        gang  g     members=2 minimum=1 gpu=1
        pod   high  gpu=4 priority=9
        """,
        POLICY,
    )
    stage.change("g-0", nominated="n1")
    steps = stage.cycle("0s").plan.text().replace("default/", "").splitlines()
    assert [step for step in steps if not step.startswith("wait")] == ["bind g-0 n1"]
    assert stage.pod("g-1").node is None


def test_growth_that_has_no_promise_waits_for_the_minimum_of_every_subgroup() -> None:
    """Its places are on n1, and on n2, which low is about to leave; of the two GPUs of n1, g-b-1 gets none before."""
    stage = Stage(
        """
        node  n1    gpu=2
        node  n2    gpu=2
        pod   low   gpu=2 on=n2
        pod   big   gpu=4 priority=9 created=1m
        gang  g     subgroup=a members=1 minimum=1 subgroup-minimum=1 gpu=1 priority=5
        gang  g     subgroup=b members=2 subgroup-minimum=1 gpu=1 priority=5
        """,
        POLICY,
    )
    stage.change("low", state=stage.pod("low").state.RELEASING, gone_at=30.0)
    stage.change("g-a-0", nominated="n1")
    stage.change("g-b-0", nominated="n2")
    assert stage.cycle("0s").broken == ()
    assert stage.cycle("1m").broken == ()
    assert {stage.pod(name).node is not None for name in ("g-a-0", "g-b-0", "g-b-1")} == {True}


def test_a_minimum_that_takes_the_place_of_its_own_growth_ends_that_promise() -> None:
    """Two of g must start together, and only on n1 are two GPUs free: one of them was promised to its third task."""
    stage = Stage(
        """
        node  n1   gpu=2
        node  n2   gpu=1
        pod   low  gpu=1 on=n2 priority=50
        gang  g    members=3 minimum=2 gpu=1
        """,
        policy_of(PREEMPT),
    )
    stage.change("g-2", nominated="n1")
    stage.check(
        "0s",
        "bind g-0 n1\nbind g-1 n1\nwait g 1 full: 0/2 nodes: …\nrelease g-2 n1: the minimum of its gang took the place",
    )
    stage.lose("low")
    stage.check("1m", "bind g-2 n2")


def test_a_gang_of_which_one_more_member_has_a_place_says_why_the_other_has_none() -> None:
    stage = Stage(
        """
        node  n1..n2  gpu=1
        gang  p    members=1 minimum=1 gpu=1 priority=1 on=n1
        gang  p    members=2 gpu=1 priority=1 created=1m
        pod   low  gpu=1 on=n2
        """,
        POLICY,
    )
    stage.check("1m", "wait p 1 full: 0/2 nodes: …\nevict low n2 for p: …\nnominate p-1 n2")
    stage.check("70s", "wait p 1 full: 0/2 nodes: …\nnominate p-1 n2")
