"""Stories about GPUs that several pods share: who sits on which, what is left, and who has to wait."""

import pytest

from phalanx.engine.invariants import Violation
from phalanx.engine.invariants import check as check_plan
from phalanx.loop import Loop
from phalanx.model.plan import Bind, Plan
from phalanx.policy.load import parse_policy
from phalanx.testing import check
from phalanx.testing.scenario import plan
from phalanx.testing.stage import Stage
from phalanx.world.sharing import NO_PLUGIN

GPU = "nvidia.com/gpu"
SPREAD = parse_policy(
    "{extends: default, actions: [{name: allocate}], plugins: [{name: resource_fit}, {name: gang},"
    " {name: shared_devices, arguments: {placement: spread}}, {name: arrival}]}",
    "spread",
)
ASSUMING = parse_policy(
    "{extends: default, actions: [{name: allocate}], plugins: [{name: resource_fit}, {name: gang},"
    " {name: shared_devices, arguments: {assumedMemory: 16Gi}}, {name: arrival}]}",
    "assuming",
)
BLIND = parse_policy(
    "{extends: default, actions: [{name: allocate}], plugins: [{name: resource_fit}, {name: arrival}]}", "blind"
)


def test_sixteen_halves_that_come_at_once_fill_exactly_eight_gpus() -> None:
    steps = plan("node n1 gpu=8\ngang h members=16 gpu-fraction=0.5").binds
    assert [step.devices for step in steps] == [(str(number // 2),) for number in range(16)]


def test_a_half_and_a_whole_never_share() -> None:
    check(
        """
        node n1 gpu=2
        pod  half  gpu-fraction=0.5
        pod  whole gpu=1 created=1s
        pod  two   gpu=1 created=2s
        pod  late  gpu-fraction=0.5 created=3s
        """,
        """
        bind half n1 nvidia.com/gpu=0
        bind whole n1
        wait two 1 full: 0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 500m of 2)
        bind late n1 nvidia.com/gpu=0
        """,
    )


def test_two_halves_on_two_gpus_are_no_whole_one() -> None:
    check(
        """
        node n1 gpu=2
        pod  one   gpu-fraction=0.5 gpu-group=0 on=n1
        pod  other gpu-fraction=0.5 gpu-group=1 on=n1
        pod  whole gpu=1 created=1s
        """,
        "wait whole 1 full: 0/1 nodes: 1 short of nvidia.com/gpu that nobody shares",
    )


def test_three_times_thirty_percent_and_ten_percent_fill_one_gpu() -> None:
    check(
        """
        node n1 gpu=1
        pod  a1..a3 gpu-fraction=0.3
        pod  b gpu-fraction=0.1 created=1s
        pod  c gpu-fraction=0.1 created=2s
        """,
        """
        bind a1 n1 nvidia.com/gpu=0
        bind a2 n1 nvidia.com/gpu=0
        bind a3 n1 nvidia.com/gpu=0
        bind b n1 nvidia.com/gpu=0
        wait c 1 full: 0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 0 of 1)
        """,
    )


def test_twelve_and_twelve_gib_share_a_gpu_of_24_and_thirteen_and_twelve_do_not() -> None:
    check(
        """
        node n1 gpu=1 gpu-memory=24576
        node n2 gpu=1 gpu-memory=24576
        pod  chat  gpu-memory=12Gi
        pod  embed gpu-memory=12Gi created=1s
        pod  large gpu-memory=13Gi created=2s
        pod  small gpu-memory=12Gi created=3s
        """,
        """
        bind chat n1 nvidia.com/gpu=0
        bind embed n1 nvidia.com/gpu=0
        bind large n2 nvidia.com/gpu=0
        wait small 1 full: 0/2 nodes: 2 short of nvidia.com/gpu (most free on one node: 459m of 1)
        """,
    )


def test_a_fraction_takes_as_much_of_the_memory() -> None:
    check(
        """
        node n1 gpu=1 gpu-memory=40960
        pod  half gpu-fraction=0.5
        pod  rest gpu-memory=20Gi created=1s
        pod  more gpu-memory=1Mi created=2s
        """,
        """
        bind half n1 nvidia.com/gpu=0
        bind rest n1 nvidia.com/gpu=0
        wait more 1 full: 0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 0 of 1)
        """,
    )


def test_memory_above_every_device_never_fits_and_says_so() -> None:
    check(
        """
        node n1 gpu=1 gpu-memory=24576
        node n2 cpu=4
        pod  a gpu-memory=30Gi
        """,
        """
        wait a 1 never: 0/2 nodes: 1 too small in nvidia.com/gpu (30Gi asked, largest 24Gi), 1 without nvidia.com/gpu
        """,
    )


def test_where_a_node_does_not_say_its_memory_a_request_for_memory_waits_unless_the_policy_assumes_one() -> None:
    given = "node n1 gpu=1\npod a gpu-memory=13Gi"
    check(given, "wait a 1 never: 0/1 nodes: 1 on which the memory of nvidia.com/gpu is not known")
    check(given, "bind a n1 nvidia.com/gpu=0", policy=ASSUMING)


def test_a_gang_of_four_halves_starts_whole_or_not_at_all() -> None:
    check(
        """
        node n1 gpu=1
        node n2 gpu=1
        pod  other gpu-fraction=0.6 gpu-group=0 on=n2
        gang g members=4 gpu-fraction=0.5 created=1s
        """,
        """
        wait g 4 full: 4 needed together, 2 fit: 1 of 2 nodes has room, 1 short of nvidia.com/gpu (most free on one …
        """,
    )
    check(
        "node n1..n2 gpu=1\ngang g members=4 gpu-fraction=0.5",
        """
        bind g-0 n1 nvidia.com/gpu=0
        bind g-1 n1 nvidia.com/gpu=0
        bind g-2 n2 nvidia.com/gpu=0
        bind g-3 n2 nvidia.com/gpu=0
        """,
    )


def test_a_part_of_several_gpus_takes_different_ones() -> None:
    check(
        """
        node n1 gpu=3
        pod  one   gpu-fraction=0.5 gpu-group=0 on=n1
        gang pairs members=2 gpu-fraction=0.5 gpu-devices=2 created=1s
        pod  last  gpu-fraction=0.5 created=2s
        """,
        """
        bind pairs-0 n1 nvidia.com/gpu=0,1
        bind pairs-1 n1 nvidia.com/gpu=1,2
        bind last n1 nvidia.com/gpu=2
        """,
    )


def test_a_pair_leaves_the_gpus_that_the_next_pair_needs() -> None:
    """One GPU holds three more copies and two hold one each: two pairs fit, if each takes of the large one."""
    check(
        """
        node n1 gpu=3
        pod  x gpu-fraction=0.7 gpu-group=0 on=n1
        pod  y gpu-fraction=0.7 gpu-group=1 on=n1
        gang pairs members=2 gpu-fraction=0.3 gpu-devices=2 created=1s
        """,
        """
        bind pairs-0 n1 nvidia.com/gpu=0,2
        bind pairs-1 n1 nvidia.com/gpu=1,2
        """,
    )


def test_the_fullest_gpu_that_has_room_comes_first_and_the_policy_may_spread() -> None:
    given = """
        node n1 gpu=4
        pod  a gpu-fraction=0.2 gpu-group=0 on=n1
        pod  b gpu-fraction=0.6 gpu-group=1 on=n1
        pod  c gpu-fraction=0.8 gpu-group=2 on=n1
        gang new members=3 gpu-fraction=0.4 created=1s
        """
    check(
        given,
        """
        bind new-0 n1 nvidia.com/gpu=1
        bind new-1 n1 nvidia.com/gpu=0
        bind new-2 n1 nvidia.com/gpu=0
        """,
    )
    check(
        given,
        """
        bind new-0 n1 nvidia.com/gpu=3
        bind new-1 n1 nvidia.com/gpu=0
        bind new-2 n1 nvidia.com/gpu=3
        """,
        policy=SPREAD,
    )


def test_pods_join_others_before_they_break_into_another_gpu_even_on_a_fuller_node() -> None:
    check(
        """
        node n1 gpu=4
        node n2 gpu=4
        pod  whole gpu=3 on=n1
        pod  half  gpu-fraction=0.5 gpu-group=0 on=n2
        pod  new   gpu-fraction=0.5 created=1s
        """,
        "bind new n2 nvidia.com/gpu=0",
    )


def test_a_pod_whose_gpu_nobody_names_has_one_for_itself() -> None:
    """Two that do not say what they share may be anywhere: they count as two GPUs, not as one."""
    check(
        """
        node n1 gpu=2
        pod  r1..r2 gpu-fraction=0.5 on=n1
        pod  large  gpu-fraction=0.6 created=1s
        """,
        "wait large 1 full: 0/1 nodes: 1 short of nvidia.com/gpu with 0.6 left (most left of one: 500m)",
    )


def test_groups_of_another_scheduler_keep_their_ids_and_more_of_them_than_gpus_leave_no_room() -> None:
    check(
        """
        node n1 gpu=2
        pod  a scheduler=other gpu-fraction=0.5 gpu-group=f3 on=n1
        pod  b gpu-fraction=0.5 created=1s
        pod  c gpu-fraction=0.5 created=2s
        """,
        """
        bind b n1 nvidia.com/gpu=f3
        bind c n1 nvidia.com/gpu=1
        """,
    )
    check(
        """
        node n1 gpu=1
        pod  a scheduler=other gpu-fraction=0.5 gpu-group=f3 on=n1
        pod  b scheduler=other gpu-fraction=0.2 gpu-group=f4 on=n1
        pod  w gpu=1 created=1s
        """,
        "wait w 1 full: 0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 300m of 1)",
    )


def test_a_pod_that_reserves_a_gpu_for_those_who_share_it_takes_none_beside_them() -> None:
    """A cluster of KAI's as files: the reservation pod has the whole GPU, and stands for its group."""
    stage = Stage(
        """
        node n1 gpu=2
        pod  a scheduler=kai gpu-fraction=0.5 gpu-group=f3 on=n1
        pod  reservation scheduler=kai gpu=1 on=n1
        pod  w gpu=1 created=1s
        pod  b gpu-fraction=0.5 created=2s
        """
    )
    stage.change("reservation", groups=("f3",))
    stage.check("2s", "bind w n1\nbind b n1 nvidia.com/gpu=f3")


def test_a_wish_for_a_model_holds_for_the_very_gpu_that_is_shared() -> None:
    check(
        """
        node n1 gpu=4 gpu-model=NVIDIA-H100-80GB-HBM3
        node n2 gpu=4 gpu-model=Tesla-T4
        gang g members=8 gpu-fraction=0.5 gpu-model=H100
        """,
        "\n".join(f"bind g-{number} n1 nvidia.com/gpu={number // 2}" for number in range(8)),
    )


def test_consolidation_moves_two_halves_together_so_that_a_whole_gpu_is_free() -> None:
    check(
        """
        node n1..n2 gpu=1
        pod  r1 gpu-fraction=0.5 gpu-group=0 on=n1 controlled
        pod  r2 gpu-fraction=0.5 gpu-group=0 on=n2 controlled
        pod  w  gpu=1 created=1s
        """,
        """
        evict r1 n1 for w: moved together with others, so that it fits
        nominate w n1
        nominate r1 n2 nvidia.com/gpu=0
        cycle 2
        bind r1 n2 nvidia.com/gpu=0
        bind w n1
        cycle 3
        """,
        cycles=3,
    )


def test_who_is_more_important_clears_one_gpu_and_not_a_part_of_each() -> None:
    """A half that leaves each GPU would be one GPU in all, and no whole one."""
    check(
        """
        node n1 gpu=2
        pod  a1 gpu-fraction=0.5 gpu-group=0 on=n1
        pod  b1 gpu-fraction=0.5 gpu-group=1 on=n1
        pod  a2 gpu-fraction=0.5 gpu-group=0 on=n1 created=1s
        pod  b2 gpu-fraction=0.5 gpu-group=1 on=n1 created=1s
        pod  w  gpu=1 priority=10 created=2s
        """,
        """
        evict b2 n1 for w: of higher priority in its queue (10)
        evict b1 n1 for w: of higher priority in its queue (10)
        nominate w n1
        cycle 2
        bind w n1
        """,
        cycles=2,
    )


def test_a_queue_that_claims_its_share_takes_back_one_half_where_it_needs_one() -> None:
    check(
        """
        node  n1 gpu=1
        queue a quota:gpu=500m
        queue b quota:gpu=500m
        pod   b1..b2 gpu-fraction=0.5 gpu-group=0 on=n1 queue=b
        pod   a1 gpu-fraction=0.5 queue=a created=1s
        """,
        """
        evict b2 n1 for a1: queue a reclaims its share
        nominate a1 n1 nvidia.com/gpu=0
        cycle 2
        bind a1 n1 nvidia.com/gpu=0
        """,
        cycles=2,
    )


def test_queues_count_a_fraction_as_a_fraction_and_memory_as_that_of_the_smallest_gpu_that_holds_it() -> None:
    check(
        """
        node  n1 gpu=4
        queue a quota:gpu=1 limit:gpu=1
        pod   x1..x3 gpu-fraction=0.5 queue=a
        """,
        """
        bind x1 n1 nvidia.com/gpu=0
        bind x2 n1 nvidia.com/gpu=0
        wait x3 1 held: queue a has 1 of its limit of 1 nvidia.com/gpu: 500m asked, 500m too many
        """,
    )
    check(
        """
        node  n1 gpu=4 gpu-memory=81920
        node  n2 gpu=4 gpu-memory=40960
        queue a quota:gpu=1 limit:gpu=1
        pod   x1..x3 gpu-memory=20Gi queue=a
        """,
        """
        bind x1 n1 nvidia.com/gpu=0
        bind x2 n1 nvidia.com/gpu=0
        wait x3 1 held: queue a has 1 of its limit of 1 nvidia.com/gpu: 500m asked, 500m too many
        """,
    )


def test_a_place_that_is_promised_is_a_certain_gpu_and_others_do_not_get_it() -> None:
    stage = Stage(
        """
        node n1 gpu=2
        pod  old   gpu-fraction=0.7 gpu-group=0 on=n1
        pod  stays gpu-fraction=0.9 gpu-group=1 on=n1 priority=20
        pod  new   gpu-fraction=0.6 priority=10 created=1s
        pod  small gpu-fraction=0.3 created=2s
        pod  tiny  gpu-fraction=0.1 created=3s
        """
    )
    stage.check(
        "3s",
        """
        bind small n1 nvidia.com/gpu=0
        bind tiny n1 nvidia.com/gpu=1
        evict old n1 for new: of higher priority in its queue (10)
        nominate new n1 nvidia.com/gpu=0
        """,
    )
    stage.check("4s", "nominate new n1 nvidia.com/gpu=0")
    stage.check("40s", "bind new n1 nvidia.com/gpu=0")
    assert stage.pod("new").groups == ("0",)


def test_a_nomination_that_names_no_gpu_gets_one() -> None:
    stage = Stage("node n1 gpu=1\npod a gpu-fraction=0.5 gpu-group=0 on=n1\npod b gpu-fraction=0.5 created=1s")
    stage.cycle("0s")
    stage._come(1.0)
    stage.change("b", nominated="n1")
    stage.check("2s", "bind b n1 nvidia.com/gpu=0")


@pytest.mark.parametrize("live", [False, True])
def test_where_the_policy_shares_no_gpu_who_asks_for_a_part_is_held_and_others_go_on(live: bool) -> None:
    stage = Stage("node n1 gpu=2\npod a gpu-fraction=0.5\npod b gpu=2 created=1s", policy=BLIND)
    stage.loop = Loop(stage.world, stage.loop.policy, live=live)
    # Who decides pod by pod names the pod.
    stage.check("1s", f"wait a 1 held: a metadata.annotations[phalanx.dev/gpu-fraction]: {NO_PLUGIN}\nbind b n1")


def test_the_check_of_production_knows_who_shares_what() -> None:
    """A checker that cannot fail would be worth nothing."""
    stage = Stage("node n1 gpu=2\ngang h members=3 gpu-fraction=0.5\npod w gpu=1 created=1s")
    cycle = stage.cycle("1s")
    check_plan(cycle.snapshot, cycle.policy, cycle.plan)

    def broken(*devices: str) -> str:
        steps = tuple(
            step._replace(devices=devices) if isinstance(step, Bind) and step.task == "default/h-2" else step
            for step in cycle.plan.steps
        )
        with pytest.raises(Violation) as caught:
            check_plan(cycle.snapshot, cycle.policy, Plan(cycle.plan.now, steps))
        return caught.value.promise

    beyond = "no device is shared beyond what it has, and none that somebody has whole"
    assert broken("0") == beyond
    wrong = "who asks for parts of devices gets as many devices of the node"
    assert [broken("7"), broken(), broken("0", "1"), broken("1", "1")] == [wrong] * 4
