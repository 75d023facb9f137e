"""Stories about gpu_priority: the larger machine first, and everything else as before."""

from phalanx_examples.gpu_priority import GpuPriority

from phalanx.testing import check, policy_with


def test_pods_go_to_the_node_with_more_gpus_until_it_is_full() -> None:
    check(
        given="""
            node n1 gpu=2
            node n2 gpu=4
            node n3 gpu=4
            pod  a  gpu=2
            pod  b  gpu=2
            pod  c  gpu=4
            pod  d  gpu=1
        """,
        policy=policy_with("resource_fit", (GpuPriority(), 5)),
        expect="""
            bind a n2
            bind b n2
            bind c n3
            bind d n1
        """,
    )


def test_a_cluster_without_gpus_is_judged_by_the_others_alone() -> None:
    check("node n1..n2 cpu=4 \n pod a cpu=1", "bind a n1", policy_with("resource_fit", (GpuPriority(), 5)))


def test_another_resource_can_be_meant() -> None:
    dongle = "example.com/dongle"
    given = f"node n1 {dongle}=1 \n node n2 {dongle}=2 \n pod a {dongle}=1"
    check(given, "bind a n2", policy_with("resource_fit", (GpuPriority(dongle), 5)))
    check(given, "bind a n1", policy_with("resource_fit", (GpuPriority(), 5)))
