"""Whose pods may be victims: disruption budgets, opt-outs, and who has nobody evicted for himself."""

from phalanx.engine.policy import Policy
from phalanx.policy.load import parse_policy
from phalanx.testing.scenario import check


def policy(*actions: str) -> Policy:
    listed = "".join(f"  - name: {name}\n" for name in ("allocate", *actions))
    return parse_policy(f"extends: default\nactions:\n{listed}", "test")


PREEMPT, RECLAIM, CONSOLIDATE = policy("preempt"), policy("reclaim"), policy("consolidate")


def test_who_is_under_a_budget_that_is_used_up_stays_and_another_one_goes() -> None:
    """Without the budget, web would go: it is the youngest."""
    check(
        """
        node   n1   gpu=3
        pod    a    gpu=1 on=n1
        pod    web  gpu=1 on=n1 created=1m label:app=web
        pod    web2 gpu=1 on=n1 created=1m label:app=web
        pod    high gpu=1 priority=5 created=2m
        budget web  min-available=2 label:app=web
        """,
        """
        evict a n1 for high: …
        nominate high n1
        """,
        PREEMPT,
    )


def test_a_budget_counts_over_the_whole_plan() -> None:
    """One of the four may be away. The second urgent pod finds nobody who may leave for it."""
    check(
        """
        node   n1   gpu=4
        pod    w1..w4 gpu=1 on=n1 label:app=web
        pod    u1..u2 gpu=1 priority=5 created=1m
        budget web  max-unavailable=1 label:app=web
        """,
        """
        wait u2 1 full: …
        evict w4 n1 for u1: …
        nominate u1 n1
        """,
        PREEMPT,
    )


def test_no_more_than_the_budget_allows_leave_over_several_cycles() -> None:
    """While w4 is away and has no place, nobody else of the web pods goes."""
    check(
        """
        node   n1   gpu=4
        pod    w1..w4 gpu=1 on=n1 label:app=web controlled
        pod    u1..u2 gpu=1 priority=5 created=1m
        budget web  max-unavailable=1 label:app=web
        """,
        """
        wait u2 1 full: …
        evict w4 n1 for u1: …
        nominate u1 n1
        cycle 2
        bind u1 n1
        wait u2 1 full: …
        wait w4 1 full: …
        cycle 3
        wait u2 1 full: …
        wait w4 1 full: …
        """,
        PREEMPT,
        cycles=3,
    )


def test_a_gang_needs_as_much_of_a_budget_as_it_has_pods_under_it() -> None:
    check(
        """
        node   n1   gpu=4
        gang   old  members=2 gpu=1 on=n1 label:app=web created=1m
        pod    a1..a2 gpu=1 on=n1
        gang   new  members=2 gpu=1 priority=5 created=2m
        budget web  max-unavailable=1 label:app=web
        """,
        """
        evict a2 n1 for new: …
        evict a1 n1 for new: …
        nominate new-0 n1
        nominate new-1 n1
        """,
        PREEMPT,
    )


def test_what_is_beyond_the_minimum_of_a_gang_does_not_outlive_it() -> None:
    """The budget keeps the last task of old, so the minimum stays too; otherwise a third of a gang would be left."""
    check(
        """
        node   n1   gpu=3
        gang   old  members=2 minimum=2 gpu=1 on=n1
        gang   old  members=1 gpu=1 on=n1 created=1m label:app=web
        gang   new  members=2 gpu=1 priority=5 created=2m
        budget web  min-available=1 label:app=web
        """,
        """
        wait new 2 full: …
        """,
        PREEMPT,
    )


def test_a_pod_under_two_budgets_is_nobodys_victim() -> None:
    check(
        """
        node   n1   gpu=2
        pod    a    gpu=1 on=n1
        pod    web  gpu=1 on=n1 created=1m label:app=web label:tier=front
        pod    high gpu=1 priority=5 created=2m
        budget one  max-unavailable=100% label:app=web
        budget two  max-unavailable=100% label:tier=front
        """,
        """
        evict a n1 for high: …
        nominate high n1
        """,
        PREEMPT,
    )


def test_the_pods_under_a_budget_are_asked_first() -> None:
    """If the cluster refuses one of them after all, nobody else has left for nothing."""
    check(
        """
        node   n1   gpu=3
        pod    a    gpu=1 on=n1 created=2m
        pod    web  gpu=1 on=n1 created=1m label:app=web
        pod    b    gpu=1 on=n1
        gang   new  members=3 gpu=1 priority=5 created=3m
        budget web  min-available=0 label:app=web
        """,
        """
        evict web n1 for new: …
        evict a n1 for new: …
        evict b n1 for new: …
        nominate new-0 n1
        nominate new-1 n1
        nominate new-2 n1
        """,
        PREEMPT,
    )


def test_reclaim_keeps_to_budgets() -> None:
    check(
        """
        node   n1   gpu=4
        queue  a    quota:gpu=2
        queue  b    quota:gpu=2
        pod    a1..a4 gpu=1 on=n1 queue=a label:app=web
        pod    b1..b2 gpu=1 queue=b created=1m
        budget web  min-available=75% label:app=web
        """,
        """
        wait b2 1 full: …
        evict a4 n1 for b1: …
        nominate b1 n1
        """,
        RECLAIM,
    )


FRAGMENTED = """
    node  n1..n2 gpu=4
    pod   a gpu=1 on=n1 {a}
    pod   b gpu=1 on=n2 {b}
    pod   big gpu=4 created=1m
"""


def moved(a: str = "controlled", b: str = "controlled") -> str:
    return FRAGMENTED.format(a=a, b=b)


def test_consolidation_moves_only_who_has_a_controller() -> None:
    expect = """
        evict b n2 for big: …
        nominate big n2
        nominate b n1
    """
    check(moved(a=""), expect, CONSOLIDATE)
    check(moved(a="", b=""), "wait big 1 full: …", CONSOLIDATE)


def test_consolidation_leaves_who_says_that_it_must_not_be_moved() -> None:
    expect = """
        evict a n1 for big: …
        nominate big n1
        nominate a n2
    """
    check(moved(b="controlled movable=false"), expect, CONSOLIDATE)
    check(moved("controlled movable=false", "controlled movable=false"), "wait big 1 full: …", CONSOLIDATE)


def test_who_must_not_be_moved_may_still_be_preempted() -> None:
    check(
        """
        node n1   gpu=1
        pod  low  gpu=1 on=n1 movable=false
        pod  high gpu=1 priority=5 created=1m
        """,
        """
        evict low n1 for high: …
        nominate high n1
        """,
        PREEMPT,
    )


def test_nothing_below_a_queue_without_consolidation_is_moved() -> None:
    given = """
        node  n1..n2 gpu=4
        queue top    {top}
        queue team   parent=top quota:gpu=8 {team}
        queue other  quota:gpu=0
        pod   a gpu=1 on=n1 queue=team controlled
        pod   b gpu=1 on=n2 queue=team controlled
        pod   big gpu=4 queue=team created=1m
    """
    expect = """
        evict a n1 for big: …
        nominate big n1
        nominate a n2
    """
    waits = "wait big 1 full: …"
    check(given.format(top="", team=""), expect, CONSOLIDATE)
    check(given.format(top="", team="consolidation=false"), waits, CONSOLIDATE)
    check(given.format(top="consolidation=false", team=""), waits, CONSOLIDATE)
    check(given.format(top="consolidation=false", team="consolidation=true"), waits, CONSOLIDATE)


def test_consolidation_keeps_to_budgets() -> None:
    """Two pods would have to be moved for big, and one of them may be away at a time."""
    given = """
        node   n1..n2 gpu=4
        pod    a1..a2 gpu=1 on=n1 controlled label:app=web
        pod    b1..b2 gpu=1 on=n2 controlled label:app=web
        pod    big gpu=4 created=1m
        budget web max-unavailable={} label:app=web
    """
    check(given.format(1), "wait big 1 full: …", CONSOLIDATE)
    check(
        given.format("50%"),
        """
        evict a2 n1 for big: …
        evict a1 n1 for big: …
        nominate big n1
        nominate a2 n2
        nominate a1 n2
        """,
        CONSOLIDATE,
    )


def test_nobody_is_evicted_for_a_pod_with_preemption_policy_never() -> None:
    check(
        """
        node n1   gpu=1
        pod  low  gpu=1 on=n1
        pod  high gpu=1 priority=5 created=1m preempts=false
        """,
        """
        wait high 1 full: 0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 0 of 1); \
no pod is evicted for it (preemptionPolicy Never)
        """,
        PREEMPT,
    )


def test_pods_of_other_schedulers_are_never_victims() -> None:
    check(
        """
        node n1   gpu=2
        pod  a    gpu=1 on=n1 scheduler=default-scheduler created=1m
        pod  b    gpu=1 on=n1
        gang new  members=2 gpu=1 priority=5 created=2m
        """,
        """
        wait new 2 full: …
        """,
        PREEMPT,
    )


def test_pods_of_other_schedulers_count_for_a_budget() -> None:
    """With them, three web pods run of which two must stay."""
    check(
        """
        node   n1   gpu=3
        pod    mine gpu=1 on=n1 label:app=web
        pod    o1..o2 gpu=1 on=n1 scheduler=default-scheduler label:app=web
        pod    high gpu=1 priority=5 created=2m
        budget web  min-available=2 label:app=web
        """,
        """
        evict mine n1 for high: …
        nominate high n1
        """,
        PREEMPT,
    )


def test_what_is_left_of_a_broken_gang_stays_while_its_budget_wants_it_there() -> None:
    given = """
        node   n1   gpu=2
        gang   old  members=2 minimum=3 gpu=1 on=n1 label:app=web
        budget web  {} label:app=web
    """
    stale = policy("evict_stale")
    check(given.format("min-available=1"), "cycle 2\ncycle 3", stale, cycles=3)
    check(given.format("min-available=0"), "cycle 2\nevict old-0 n1 …\nevict old-1 n1 …", stale, cycles=2)
