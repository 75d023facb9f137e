"""KAI's rules for shared GPUs and slices, on clusters of our own: reclaim, preempt, consolidate, limits, whole gangs.

They need no file beside the project: the figures of `test_kai` are KAI's own, these are variations of the same kind.
"""

from phalanx.policy.load import parse_policy
from phalanx.testing import check

#: KAI's defaults, and what its integration tables assume: as many moves as are needed, no grace for stale gangs.
KAI = parse_policy(
    "{extends: kai, actions: [{name: allocate}, {name: consolidate, arguments: {moves: unlimited}}, {name: reclaim},"
    " {name: preempt}, {name: evict_stale, arguments: {grace: 0s}}]}",
    "kai",
)


def test_who_reclaims_a_part_takes_the_youngest_half_and_leaves_the_other_and_the_whole_one() -> None:
    check(
        """
        node  n0 gpu=2
        queue q0 quota:gpu=1
        queue q1 quota:gpu=1
        pod   whole  queue=q0 gpu=1            on=n0 priority=50 controlled
        pod   half1  queue=q0 gpu-fraction=0.5 on=n0 priority=50 controlled gpu-group=0
        pod   half2  queue=q0 gpu-fraction=0.5 on=n0 priority=50 controlled gpu-group=0 created=1s
        pod   claims queue=q1 gpu-fraction=0.4 priority=50 created=2s
        """,
        """
        evict half2 n0 for claims: queue q1 reclaims its share
        nominate claims n0 nvidia.com/gpu=0
        cycle 2
        bind claims n0 nvidia.com/gpu=0
        wait half2 1 full: 0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 100m of 2)
        cycle 3
        wait half2 1 full: 0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 100m of 2)
        """,
        policy=KAI,
        cycles=3,
    )


def test_memory_is_reclaimed_from_the_least_important_until_it_is_enough() -> None:
    """20 + 30 + 40 of 100 MiB, and 80 are due to the other queue: two leave, and the one that fits beside stays."""
    check(
        """
        node  n0 gpu=1
        queue q0 quota:gpu=200m
        queue q1 quota:gpu=800m
        pod   a queue=q0 gpu-memory=20Mi on=n0 gpu-group=0 priority=50 controlled
        pod   b queue=q0 gpu-memory=30Mi on=n0 gpu-group=0 priority=49 controlled
        pod   c queue=q0 gpu-memory=40Mi on=n0 gpu-group=0 priority=48 controlled
        pod   claims queue=q1 gpu-memory=80Mi priority=50 created=2s
        """,
        """
        evict c n0 for claims: queue q1 reclaims its share
        evict b n0 for claims: queue q1 reclaims its share
        nominate claims n0 nvidia.com/gpu=0
        cycle 2
        bind claims n0 nvidia.com/gpu=0
        wait b 1 full: 0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 0 of 1)
        wait c 1 full: 0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 0 of 1)
        """,
        policy=KAI,
        cycles=2,
    )


def test_what_would_take_a_queue_above_its_share_reclaims_nothing() -> None:
    check(
        """
        node  n0 gpu=1
        queue q0 quota:gpu=500m
        queue q1 quota:gpu=500m
        pod   runs  queue=q0 gpu-memory=50Mi on=n0 gpu-group=0 priority=50 controlled
        pod   large queue=q1 gpu-memory=60Mi priority=50 created=1s
        """,
        "wait large 1 full: 0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 500m of 1)",
        policy=KAI,
    )


def test_pods_that_share_by_memory_are_moved_together_for_one_that_needs_nearly_a_whole_gpu() -> None:
    check(
        """
        node  n0 gpu=2
        queue q quota:gpu=1
        pod   r1  queue=q gpu-memory=20Mi on=n0 gpu-group=0 priority=50 controlled
        pod   r2  queue=q gpu-memory=20Mi on=n0 gpu-group=1 priority=50 controlled created=1s
        pod   new queue=q gpu-memory=90Mi priority=50 created=2s
        """,
        """
        evict r2 n0 for new: moved together with others, so that it fits
        nominate new n0 nvidia.com/gpu=1
        nominate r2 n0 nvidia.com/gpu=0
        cycle 2
        bind new n0 nvidia.com/gpu=1
        bind r2 n0 nvidia.com/gpu=0
        cycle 3
        """,
        policy=KAI,
        cycles=3,
    )


def test_parts_that_do_not_fit_one_gpu_together_stay_where_they_are() -> None:
    check(
        """
        node  n0 gpu=2
        queue q quota:gpu=1
        pod   r1    queue=q gpu-fraction=0.5 on=n0 gpu-group=0 priority=50 controlled
        pod   r2    queue=q gpu-fraction=0.6 on=n0 gpu-group=1 priority=50 controlled
        pod   whole queue=q gpu=1 priority=50 created=1s
        """,
        "wait whole 1 full: 0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 900m of 2)",
        policy=KAI,
    )


def test_who_may_not_be_preempted_clears_the_gpu_that_costs_least() -> None:
    check(
        """
        node  n0 gpu=2
        queue q quota:gpu=2
        pod   whole  queue=q gpu=1            on=n0 priority=50 controlled
        pod   half   queue=q gpu-fraction=0.5 on=n0 priority=50 controlled gpu-group=1 created=1s
        pod   server queue=q gpu-fraction=0.6 priority=100 preemptible=false created=2s
        """,
        """
        evict half n0 for server: of higher priority in its queue (100)
        nominate server n0 nvidia.com/gpu=0
        cycle 2
        bind server n0 nvidia.com/gpu=0
        wait half 1 full: 0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 400m of 2)
        """,
        policy=KAI,
        cycles=2,
    )


def test_a_gang_of_parts_above_the_limit_of_its_department_does_not_start_in_part() -> None:
    check(
        """
        node  n0 gpu=4
        queue d quota:gpu=1 limit:gpu=1
        queue q parent=d quota:gpu=1
        gang  three queue=q members=3 gpu-fraction=0.5 priority=50
        gang  two   queue=q members=2 gpu-fraction=0.5 priority=50 created=1s
        """,
        """
        wait three 3 held: queue d has 0 of its limit of 1 nvidia.com/gpu: 1500m asked, 500m too many
        bind two-0 n0 nvidia.com/gpu=0
        bind two-1 n0 nvidia.com/gpu=0
        """,
        policy=KAI,
    )


def test_a_gang_that_wants_slices_of_two_profiles_takes_all_of_them_or_none() -> None:
    check(
        """
        node  n0 nvidia.com/mig-1g.5gb=2 nvidia.com/mig-1g.10gb=3
        queue q quota:gpu=5
        gang  first  queue=q priority=100 members=1 minimum=3 nvidia.com/mig-1g.10gb=2
        gang  first  queue=q priority=100 members=1 nvidia.com/mig-1g.10gb=1
        gang  first  queue=q priority=100 members=1 nvidia.com/mig-1g.5gb=1
        gang  second queue=q priority=50  members=1 minimum=2 nvidia.com/mig-1g.10gb=1 created=1s
        gang  second queue=q priority=50  members=1 nvidia.com/mig-1g.5gb=1 created=1s
        pod   third  queue=q priority=50  nvidia.com/mig-1g.5gb=1 created=2s
        """,
        """
        bind first-0 n0
        bind first-1 n0
        bind first-2 n0
        wait second 2 full: …
        bind third n0
        """,
        policy=KAI,
    )
