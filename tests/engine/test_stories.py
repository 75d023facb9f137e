"""The three stories, told by whole plans: what a pod-by-pod scheduler decides, and what Phalanx decides."""

from phalanx.sim.stories import story_text
from phalanx.testing import check_run


def test_pod_by_pod_two_gangs_take_each_others_gpus_and_neither_is_ever_whole() -> None:
    check_run(
        story_text("deadlock"),
        policy="pod-by-pod",
        expect="""
            at 0s
            bind training-0 n1
            at 1m
            bind training-1 n2
            at 2m
            bind training-2 n1
            at 3m
            bind training-3 n2
            at 4m
            bind training-4 n1
            at 4m15s
            bind inference-0 n2
            at 4m45s
            bind inference-1 n1
            at 5m
            bind training-5 n2
            at 5m15s
            bind inference-2 n1
            at 5m45s
            bind inference-3 n2
            at 6m
            wait training 1 full: 0/2 nodes: 2 short of nvidia.com/gpu (most free on one node: 0 of 5)
            at 6m15s
            wait training 1 full: 0/2 nodes: 2 short of nvidia.com/gpu (most free on one node: 0 of 5)
            wait inference 1 full: 0/2 nodes: 2 short of nvidia.com/gpu (most free on one node: 0 of 5)
            at 7m
            wait training 2 full: 0/2 nodes: 2 short of nvidia.com/gpu (most free on one node: 0 of 5)
            wait inference 1 full: 0/2 nodes: 2 short of nvidia.com/gpu (most free on one node: 0 of 5)
        """,
    )


def test_phalanx_starts_the_first_complete_gang_whole_and_the_other_when_it_ends() -> None:
    check_run(
        story_text("deadlock"),
        expect="""
            at 0s
            wait training 1 held: 1 of 8 members are there
            at 1m
            wait training 2 held: 2 of 8 members are there
            at 2m
            wait training 3 held: 3 of 8 members are there
            at 3m
            wait training 4 held: 4 of 8 members are there
            at 4m
            wait training 5 held: 5 of 8 members are there
            at 4m15s
            wait training 5 held: 5 of 8 members are there
            wait inference 1 held: 1 of 5 members are there
            at 4m45s
            wait training 5 held: 5 of 8 members are there
            wait inference 2 held: 2 of 5 members are there
            at 5m
            wait training 6 held: 6 of 8 members are there
            wait inference 2 held: 2 of 5 members are there
            at 5m15s
            wait training 6 held: 6 of 8 members are there
            wait inference 3 held: 3 of 5 members are there
            at 5m45s
            wait training 6 held: 6 of 8 members are there
            wait inference 4 held: 4 of 5 members are there
            at 6m
            wait training 7 held: 7 of 8 members are there
            wait inference 4 held: 4 of 5 members are there
            at 6m15s
            wait training 7 held: 7 of 8 members are there
            bind inference-0 n1
            bind inference-1 n1
            bind inference-2 n1
            bind inference-3 n1
            bind inference-4 n1
            at 7m
            wait training 8 full: 8 needed together, 5 fit: …
            at 1h6m15s
            bind training-0 n1
            bind training-1 n1
            bind training-2 n1
            bind training-3 n1
            bind training-4 n1
            bind training-5 n2
            bind training-6 n2
            bind training-7 n2
        """,
    )


def test_of_two_gangs_that_are_complete_at_once_phalanx_starts_the_older_first() -> None:
    check_run(
        story_text("complete-at-once"),
        expect="""
            at 0s
            wait training 1 held: 1 of 8 members are there
            at 1m
            wait training 2 held: 2 of 8 members are there
            at 2m
            wait training 3 held: 3 of 8 members are there
            at 3m
            wait training 4 held: 4 of 8 members are there
            wait inference 1 held: 1 of 5 members are there
            at 4m
            wait training 5 held: 5 of 8 members are there
            wait inference 2 held: 2 of 5 members are there
            at 5m
            wait training 6 held: 6 of 8 members are there
            wait inference 3 held: 3 of 5 members are there
            at 6m
            wait training 7 held: 7 of 8 members are there
            wait inference 4 held: 4 of 5 members are there
            at 7m
            bind training-0 n1
            bind training-1 n1
            bind training-2 n1
            bind training-3 n1
            bind training-4 n1
            bind training-5 n2
            bind training-6 n2
            bind training-7 n2
            wait inference 5 full: 5 needed together, 2 fit: …
            at 2h7m
            bind inference-0 n1
            bind inference-1 n1
            bind inference-2 n1
            bind inference-3 n1
            bind inference-4 n1
        """,
    )


def test_pod_by_pod_small_jobs_leave_half_of_each_node_and_the_large_one_waits_for_hours() -> None:
    check_run(
        story_text("fragmentation"),
        policy="pod-by-pod",
        expect="""
            at 0s
            bind small-1 n1
            bind small-2 n2
            bind small-3 n1
            bind small-4 n2
            bind small-5 n1
            bind small-6 n2
            bind small-7 n1
            bind small-8 n2
            at 10m
            wait large 1 full: 0/2 nodes: 2 short of nvidia.com/gpu (most free on one node: 4 of 8)
            at 4h
            bind large n1
        """,
    )


def test_phalanx_packs_small_jobs_on_one_node_and_the_large_one_starts_at_once() -> None:
    check_run(
        story_text("fragmentation"),
        expect="""
            at 0s
            bind small-1 n1
            bind small-2 n1
            bind small-3 n1
            bind small-4 n1
            bind small-5 n1
            bind small-6 n1
            bind small-7 n1
            bind small-8 n1
            at 10m
            bind large n2
        """,
    )


def test_pod_by_pod_a_group_is_spread_over_both_nodes() -> None:
    check_run(
        story_text("packing"),
        policy="pod-by-pod",
        expect="""
            at 0s
            bind render-0 n1
            bind render-1 n2
            bind render-2 n1
            at 1h
            bind render-3 n2
            bind render-4 n1
        """,
    )


def test_phalanx_packs_a_group_and_growth_fills_its_node_before_another() -> None:
    check_run(
        story_text("packing"),
        expect="""
            at 0s
            bind render-0 n1
            bind render-1 n1
            bind render-2 n1
            at 1h
            bind render-3 n1
            bind render-4 n2
        """,
    )
