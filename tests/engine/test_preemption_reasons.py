"""Who waits is told why evicting the less important would not help, node by node, as kube-scheduler does."""

from phalanx.testing import check
from tests.oracles.room import policy_of

PREEMPTS = policy_of("{name: preempt}")
NODES = """
    node a1..a2 cpu=2
    node b1..b2 cpu=8
    node c1     cpu=8
    pod  small  cpu=1 on=a1
"""


def test_the_nodes_are_counted_by_why_preemption_does_not_help_there() -> None:
    """a1, a2 are too small even if empty; on b1, b2 all are as important; on c1 the less important must not leave."""
    check(
        given=NODES
        + """
            pod  q1 cpu=8 priority=9 on=b1
            pod  q2 cpu=8 priority=9 on=b2
            pod  kept cpu=8 priority=1 preemptible=false on=c1
            pod  p cpu=4 priority=9
        """,
        policy=PREEMPTS,
        expect="""
            wait p 1 full: 0/5 nodes: 3 short of cpu (most free on one node: 0 of 8), \
2 too small in cpu (4 asked, largest 2); preemption: 0/5 nodes: 2 where it would not help, \
2 with nobody of lower priority, 1 where those of lower priority may not leave or would not free enough
        """,
    )


def test_nobody_asks_about_preemption_where_nobody_is_less_important() -> None:
    check(
        given="""
            node n1 cpu=2
            pod  q cpu=2 on=n1
            pod  p cpu=2
        """,
        policy=PREEMPTS,
        expect="""
            wait p 1 full: 0/1 nodes: 1 short of cpu (most free on one node: 0 of 2)
        """,
    )
