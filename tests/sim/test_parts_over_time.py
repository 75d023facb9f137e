"""Shared GPUs over time: who ends makes room for the next on the same GPU."""

from phalanx.testing.scenario import check_run


def test_a_part_that_ends_is_given_out_again_and_a_gpu_that_nobody_shares_any_more_is_whole() -> None:
    check_run(
        """
        node n1 gpu=1
        pod  a gpu-fraction=0.7 runtime=1m
        pod  b gpu-fraction=0.3 runtime=2m created=5s
        pod  c gpu-fraction=0.7 runtime=1m created=10s
        pod  w gpu=1 created=15s
        """,
        """
        at 0s
        bind a n1 nvidia.com/gpu=0
        at 5s
        bind b n1 nvidia.com/gpu=0
        at 10s
        wait c 1 full: …
        at 15s
        wait c 1 full: …
        wait w 1 full: …
        at 1m
        bind c n1 nvidia.com/gpu=0
        wait w 1 full: …
        at 2m
        wait w 1 full: …
        at 2m5s
        bind w n1
        """,
    )
