"""Wishes for devices: which models of GPU serve, with how much memory, and what is said when there are none."""

from dataclasses import replace

import pytest

from phalanx.loop import Loop
from phalanx.model.device import Device, DeviceWish, is_model
from phalanx.model.events import NodeSeen, TaskSeen
from phalanx.model.node import Node
from phalanx.model.task import Shape, State, Task
from phalanx.policy.load import load_policy
from phalanx.testing import check
from phalanx.world.world import World

GPU = "nvidia.com/gpu"
CLUSTER = """
    node t1..t3    gpu=4 gpu-model=Tesla-T4                gpu-memory=16Gi
    node a1        gpu=4 gpu-model=NVIDIA-A100-SXM4-40GB   gpu-memory=40Gi
    node h1        gpu=4 gpu-model=NVIDIA-H100-80GB-HBM3   gpu-memory=80Gi
    node plain     gpu=4
"""


def test_the_first_model_of_the_list_is_taken_while_there_is_one() -> None:
    check(
        given=CLUSTER + """
            gang g members=6 gpu=1 gpu-model=H100,A100
        """,
        expect="""
            bind g-0 h1
            bind g-1 h1
            bind g-2 h1
            bind g-3 h1
            bind g-4 a1
            bind g-5 a1
        """,
    )  # fmt: skip


def test_weights_say_what_each_model_is_worth_whatever_the_order() -> None:
    check(given=CLUSTER + "pod p gpu=1 gpu-model=H100=1,A100=2.5", expect="bind p a1")


def test_equal_weights_leave_the_choice_to_packing() -> None:
    check(
        given=CLUSTER + """
            pod there gpu=2 on=a1
            pod p     gpu=1 gpu-model=H100=1,A100=1 created=1s
        """,
        expect="bind p a1",
    )  # fmt: skip


def test_the_smallest_gpu_that_serves_is_taken() -> None:
    check(
        given=CLUSTER + """
            pod a gpu=1 gpu-memory-minimum=10Gi
            pod b gpu=1 gpu-memory-minimum=30Gi
            pod c gpu=1 gpu-memory-minimum=41Gi
        """,
        expect="""
            bind a t1
            bind b a1
            bind c h1
        """,
    )  # fmt: skip


def test_model_and_memory_are_asked_of_the_same_gpu() -> None:
    check(
        given="""
            node small gpu=2 gpu-model=A100 gpu-memory=40Gi
            node large gpu=2 gpu-model=A100 gpu-memory=80Gi
            pod  p     gpu=1 gpu-model=A100,T4 gpu-memory-minimum=64Gi
            gang q     members=3 gpu=1 gpu-model=A100 gpu-memory-minimum=64Gi created=1s
        """,
        expect="""
            bind p large
            wait q 3 never: 3 needed together, 1 fit: 1 of 2 nodes has room, \
1 without a device of model A100 of at least 64Gi (largest 80Gi, 1/2 nodes have one); on empty nodes, 2 would fit
        """,
    )


def test_a_model_that_nobody_has_is_never_and_the_models_here_are_named() -> None:
    check(
        given=CLUSTER + "pod p gpu=1 gpu-model=B200",
        expect="""
            wait p 1 never: 0/6 nodes: 6 without a device of model B200 (0/6 nodes have one; \
other models here: NVIDIA-A100-SXM4-40GB, NVIDIA-H100-80GB-HBM3, Tesla-T4)
        """,
    )


def test_a_model_that_others_have_in_use_is_full() -> None:
    check(
        given=CLUSTER + """
            gang there members=4 gpu=1 on=h1 movable=false
            pod  p     gpu=1 gpu-model=H100 created=1s
        """,
        expect="""
            wait p 1 full: 0/6 nodes: 5 without a device of model H100 (1/6 nodes have one; \
other models here: NVIDIA-A100-SXM4-40GB, Tesla-T4), 1 short of nvidia.com/gpu (most free on one node: 0 of 4)
        """,
    )  # fmt: skip


def test_more_memory_than_any_gpu_has_is_never() -> None:
    check(
        given=CLUSTER + "pod p gpu=1 gpu-memory-minimum=1Ti",
        expect="""
            wait p 1 never: 0/6 nodes: 5 without a device of at least 1Ti (largest 80Gi, 0/6 nodes have one), \
1 with devices of unknown memory (1Ti asked)
        """,
    )


def test_more_gpus_of_a_model_than_one_node_has_is_never() -> None:
    check(
        given=CLUSTER + "pod p gpu=8 gpu-model=H100",
        expect="""
            wait p 1 never: 0/6 nodes: 5 without a device of model H100 (1/6 nodes have one; \
other models here: NVIDIA-A100-SXM4-40GB, Tesla-T4), 1 with too few devices of model H100 (8 asked, most on one node: 4)
        """,
    )


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("gpu-model=H100", "it asks for no device, and phalanx.dev/gpu-model says which model of one"),
        ("gpu-memory-minimum=1Gi", "it asks for no device, and phalanx.dev/gpu-memory-minimum says how large a one"),
    ],
)
def test_a_wish_without_a_gpu_means_nothing_and_says_so(word: str, text: str) -> None:
    check(given=f"node n1 cpu=4\npod p cpu=1 {word}", expect=f"wait p 1 never: 0/1 nodes: 1 left aside: {text}")


def test_a_cordoned_gpu_is_a_place_less_and_touches_nobody() -> None:
    check(
        given="""
            node n1    gpu=4 gpu-model=H100 cordoned-gpus=1,2
            gang there members=3 gpu=1 on=n1
            gang g     members=1 gpu=1 created=1s
            gang all   members=1 gpu=4 gpu-model=H100 created=2s
        """,
        expect="""
            wait g 1 full: 0/1 nodes: 1 short of nvidia.com/gpu (most free on one node: 0 of 2)
            wait all 1 never: 0/1 nodes: 1 with too few devices of model H100 (4 asked, most on one node: 2)
        """,
    )


def test_the_wish_of_a_gang_is_part_of_its_shape_and_its_members_may_differ() -> None:
    check(
        given=CLUSTER + """
            gang g subgroup=train members=2 gpu=1 gpu-model=H100
            gang g subgroup=serve members=1 gpu=1 gpu-model=T4
        """,
        expect="""
            bind g-train-0 h1
            bind g-train-1 h1
            bind g-serve-0 t1
        """,
    )  # fmt: skip


MIXED = Node(
    "m1", allocatable={GPU: 4000, "pods": 99, "cpu": 9000},
    devices=tuple(Device(GPU, index, model="H100" if index < 2 else "T4") for index in range(4)),
)  # fmt: skip


def planned(*tasks: Task, nodes: tuple[Node, ...] = (MIXED,)) -> list[str]:
    world = World()
    for node in nodes:
        world.apply(NodeSeen(node))
    for task in tasks:
        world.apply(TaskSeen(task))
    return Loop(world, load_policy("default")).cycle(0.0).plan.text().splitlines()


def task(name: str, model: str | None = None, on: str | None = None, gpus: int = 1, created: float = 0.0) -> Task:
    wish = DeviceWish(((model, 1.0),)) if model else None
    shape = Shape(((GPU, gpus * 1000), ("pods", 1)), devices=wish)
    state = State.PENDING if on is None else State.RUNNING
    return Task(name, "default", name, shape, state, on, created=created)


def test_a_time_sliced_gpu_serves_as_many_pods_as_its_plugin_gives_it_to() -> None:
    sliced = Node(
        "s1", allocatable={GPU: 4000, "pods": 99},
        devices=tuple(Device(GPU, index, model="T4", replicas=2) for index in range(2)),
    )  # fmt: skip
    assert planned(task("four", "T4", gpus=4), nodes=(sliced,)) == ["bind default/four s1"]
    assert planned(task("five", "T4", gpus=5), nodes=(sliced,)) == [
        "wait default/five 1 never: 0/1 nodes: 1 with too few devices of model T4 (5 asked, most on one node: 4)"
    ]


def test_of_a_node_with_two_models_those_that_serve_are_counted() -> None:
    assert planned(*(task(f"h{n}", "H100", created=n) for n in range(3)), task("t", "T4", created=9)) == [
        "bind default/h0 m1",
        "bind default/h1 m1",
        "wait default/h2 1 full: 0/1 nodes: 1 whose devices that serve may all be in use (it has others)",
        "bind default/t m1",
    ]


def test_nobody_knows_on_which_gpu_a_pod_without_a_wish_is() -> None:
    """It is counted as on those that serve; one that can only be on the others is not."""
    assert planned(task("any", on="m1"), task("h", "H100", gpus=2)) == [
        "wait default/h 1 full: 0/1 nodes: 1 whose devices that serve may all be in use (it has others)"
    ]
    assert planned(task("other", "T4", on="m1"), task("h", "H100", gpus=2)) == ["bind default/h m1"]


def test_a_cordoned_gpu_of_a_mixed_node_serves_nobody() -> None:
    one_away = replace(MIXED, devices=(replace(MIXED.devices[0], cordoned=True), *MIXED.devices[1:]))
    assert planned(task("h", "H100", gpus=2), nodes=(one_away,)) == [
        "wait default/h 1 never: 0/1 nodes: 1 with too few devices of model H100 (2 asked, most on one node: 1)"
    ]


@pytest.mark.parametrize(
    ("asked", "model", "same"),
    [
        ("H100", "NVIDIA-H100-80GB-HBM3", True),
        ("h100-80gb", "NVIDIA-H100-80GB-HBM3", True),
        ("NVIDIA H100", "NVIDIA-NVIDIA-H100", True),
        ("A100", "NVIDIA-A1000", False),
        ("A100", "NVIDIA-A10", False),
        ("H100", "NVIDIA-GH100", False),
        ("80GB H100", "NVIDIA-H100-80GB-HBM3", False),
        ("H100", "", False),
        ("-", "NVIDIA-H100", False),
    ],
)
def test_a_model_is_told_by_whole_words(asked: str, model: str, same: bool) -> None:
    assert is_model(asked, model) is same


def test_the_formula_of_the_scores() -> None:
    wish = DeviceWish((("H100", 2.0), ("A100", 1.0), ("H100-80GB", 3.0)))
    assert [wish.worth(model) for model in ("NVIDIA-H100-80GB", "H100", "A100", "T4")] == [3.0, 2.0, 1.0, None]
    assert DeviceWish(memory=1).worth("T4") == 1.0
