"""Slices of GPUs in queues: each counts as the part of a GPU that it is, beside its own name."""

from phalanx.policy.load import parse_policy
from phalanx.testing.scenario import check
from phalanx.testing.stage import Stage

BY_SLICES = parse_policy(
    "extends: default\ncharges: [{resource: nvidia.com/mig-<n>g.*, as: nvidia.com/gpu, amount: <n>}]", "by-slices"
)
AS_THEMSELVES = parse_policy("extends: default\ncharges: []", "as-themselves")


def test_three_small_slices_and_a_larger_one_are_taken_and_a_fourth_small_one_waits() -> None:
    check(
        """
        node  n1        nvidia.com/mig-1g.10gb=3 nvidia.com/mig-2g.20gb=1
        pod   s1..s4    nvidia.com/mig-1g.10gb=1
        pod   m         nvidia.com/mig-2g.20gb=1
        """,
        """
        bind m n1
        bind s1 n1
        bind s2 n1
        bind s3 n1
        wait s4 1 full: 0/1 nodes: 1 short of nvidia.com/mig-1g.10gb (most free on one node: 0 of 3)
        """,
    )


def test_seven_of_the_smallest_slices_are_within_the_quota_of_one_gpu_and_the_eighth_is_not() -> None:
    check(
        """
        node  n1        nvidia.com/mig-1g.10gb=14
        queue a         quota:gpu=1 borrowing=false
        pod   s1..s8    nvidia.com/mig-1g.10gb=1 queue=a
        """,
        """
        bind s1 n1
        bind s2 n1
        bind s3 n1
        bind s4 n1
        bind s5 n1
        bind s6 n1
        bind s7 n1
        wait s8 1 held: queue a has 994m of its quota of 1 nvidia.com/gpu and does not borrow: 142m asked, 136m too many
        """,
    )


def test_by_kais_rule_a_slice_of_three_parts_counts_as_three_gpus() -> None:
    check(
        """
        node  n1   nvidia.com/mig-3g.40gb=2
        queue a    quota:gpu=5 borrowing=false
        pod   s1   nvidia.com/mig-3g.40gb=1 queue=a
        pod   s2   nvidia.com/mig-3g.40gb=1 queue=a created=1m
        """,
        """
        bind s1 n1
        wait s2 1 held: queue a has 3 of its quota of 5 nvidia.com/gpu and does not borrow: 3 asked, 1 too many
        """,
        policy=BY_SLICES,
    )


def test_a_queue_may_list_a_slice_by_its_own_name_too_and_then_both_bounds_hold() -> None:
    check(
        """
        node  n1      nvidia.com/mig-1g.10gb=14
        queue a       limit:nvidia.com/mig-1g.10gb=2 limit:gpu=1
        queue b       limit:gpu=0
        pod   a1..a3  nvidia.com/mig-1g.10gb=1 queue=a
        pod   b       nvidia.com/mig-1g.10gb=1 queue=b
        """,
        """
        bind a1 n1
        bind a2 n1
        wait a3 1 held: queue a has 2 of its limit of 2 nvidia.com/mig-1g.10gb: 1 asked, 1 too many
        wait b 1 held: queue b has 0 of its limit of 0 nvidia.com/gpu: 142m asked, 142m too many
        """,
    )


def test_with_an_empty_table_a_slice_counts_as_itself_alone() -> None:
    check(
        """
        node  n1   nvidia.com/mig-1g.10gb=1
        queue a    limit:gpu=0
        pod   s    nvidia.com/mig-1g.10gb=1 queue=a
        """,
        """
        bind s n1
        """,
        policy=AS_THEMSELVES,
    )


def test_whoever_has_more_than_its_part_in_slices_gives_them_back_to_whom_they_are_due() -> None:
    check(
        """
        node  n1      nvidia.com/mig-3g.40gb=2
        queue a
        queue b       quota:gpu=1
        pod   a1..a2  nvidia.com/mig-3g.40gb=1 queue=a on=n1 controlled
        pod   b1      nvidia.com/mig-3g.40gb=1 queue=b
        """,
        """
        evict a2 n1 for b1: queue b reclaims its share
        nominate b1 n1
        """,
    )


def test_whoever_stays_within_its_part_in_slices_keeps_them() -> None:
    check(
        """
        node  n1    nvidia.com/mig-1g.10gb=4
        queue a     quota:gpu=1
        queue b     quota:gpu=1
        pod   a1    nvidia.com/mig-1g.10gb=2 queue=a on=n1 controlled
        pod   b1    nvidia.com/mig-1g.10gb=3 queue=b
        """,
        """
        wait b1 1 full: …
        """,
        policy=BY_SLICES,
    )


def test_another_table_counts_from_the_next_cycle_on() -> None:
    stage = Stage(
        """
        node  n1      nvidia.com/mig-1g.10gb=7 gpu=1
        node  n2      nvidia.com/mig-1g.10gb=1
        queue a       quota:gpu=1
        pod   s1..s2  nvidia.com/mig-1g.10gb=1 queue=a on=n1
        pod   other   nvidia.com/mig-1g.10gb=1 scheduler=kube-scheduler on=n2
        """
    )
    found = []
    for policy in (stage.loop.policy, BY_SLICES, AS_THEMSELVES):
        stage.loop.policy = policy
        table = stage.cycle().snapshot.queues
        found.append((table.allocated.tolist(), table.total.tolist()))
    assert found == [([[284]], [2000]), ([[2000]], [8000]), ([[0]], [1000])]
