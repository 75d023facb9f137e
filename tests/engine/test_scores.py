"""Scores, on numbers worked out by hand from the published formulas."""

from collections.abc import Mapping

import numpy as np
import pytest

from phalanx.engine.kernels import fit_scores
from phalanx.engine.opening import open_session
from phalanx.engine.plugin import Plugin, Score
from phalanx.engine.plugins.balanced_allocation import BalancedAllocation
from phalanx.engine.plugins.image_locality import ImageLocality
from phalanx.engine.plugins.resource_fit import Point, ResourceFit, Weight
from phalanx.engine.plugins.scarce_resources import ScarceResources
from phalanx.engine.policy import Policy, Weighted
from phalanx.engine.session.request import Request
from phalanx.model.axis import AMOUNT_MAX
from phalanx.model.events import NodeSeen, TaskSeen
from phalanx.model.image import Image, ImageWish
from phalanx.model.node import Node
from phalanx.model.task import Shape, State, Task
from phalanx.world.world import World

GIB, MEBI = 2**30, 2**20


def amounts(**given: int) -> dict[str, int]:
    names = {"gpu": "nvidia.com/gpu", "dongle": "example.com/dongle"}
    units = {"cpu": 1000, "gpu": 1000, "memory": GIB}
    return {names.get(name, name): amount * units.get(name, 1) for name, amount in given.items()}


def shape(**given: int) -> Shape:
    asked = amounts(**given)
    return Shape(
        tuple(sorted((asked | {"pods": 1}).items())), scored=(asked.get("cpu", 100), asked.get("memory", 200 * 2**20))
    )


def hundredths(
    plugin: Plugin, nodes: Mapping[str, tuple[dict[str, int], Shape | None]], asked: Shape
) -> dict[str, float]:
    """Score one copy of `asked` on nodes of some capacity with, perhaps, something running; 0 to 100."""
    world = World()
    for name, (capacity, running) in nodes.items():
        world.apply(NodeSeen(Node(name, allocatable={"pods": 110} | capacity)))
        if running is not None:
            world.apply(TaskSeen(Task(f"on-{name}", "d", f"on-{name}", running, State.RUNNING, name, ours=False)))
    world.apply(TaskSeen(Task("new", "d", "new", asked)))
    snapshot = world.compile(0.0)
    session = open_session(snapshot, Policy("one", (), (Weighted(plugin),)))
    rows = np.arange(len(snapshot.nodes))
    assert isinstance(plugin, Score)
    scores = plugin.score(session, Request(0, candidates=rows), rows, np.zeros(len(rows), np.int64))
    assert scores is not None
    return {name: round(float(score) * 100, 6) for name, score in zip(snapshot.nodes.names, scores, strict=True)}


def test_packing_six_of_eight_gpus_gives_seven_and_a_half_of_ten() -> None:
    packing = ResourceFit("PerResource", {"nvidia.com/gpu": Weight(1, "MostAllocated")})
    eight = amounts(gpu=8)
    nodes = {"full": (eight, shape(gpu=4)), "idle": (eight, None)}
    found = {name: score / 10 for name, score in hundredths(packing, nodes, shape(gpu=2)).items()}
    assert found == {"full": 7.5, "idle": 2.5}


def test_the_worked_example_of_node_resources_fit_plus() -> None:
    plus = ResourceFit(
        "PerResource",
        {
            "nvidia.com/gpu": Weight(2, "MostAllocated"),
            "cpu": Weight(1, "LeastAllocated"),
            "memory": Weight(1, "LeastAllocated"),
        },
    )
    large = amounts(cpu=96, memory=512, gpu=8)
    nodes = {"node1": (large, shape(cpu=16, memory=32, gpu=4)), "node2": (large, None)}
    # By hand, node1: (75*2 + 66 + 87) / 4 = 75; node2: (25*2 + 83 + 93) / 4 = 56
    assert hundredths(plus, nodes, shape(cpu=16, memory=32, gpu=2)) == {"node1": 75, "node2": 56}


def test_weights_of_20_2_and_1_for_dongle_cpu_and_memory() -> None:
    weights = {"example.com/dongle": Weight(20), "cpu": Weight(2), "memory": Weight(1)}
    node = amounts(cpu=10, memory=100, dongle=8)
    nodes = {"n1": (node, shape(cpu=4, memory=10, dongle=4)), "n2": (node, shape(cpu=8, memory=80, dongle=2))}
    # n1: (75*20 + 50*2 + 20*1) / 23 = 1620 / 23 = 70; n2: (50*20 + 90*2 + 90*1) / 23 = 1270 / 23 = 55
    assert hundredths(ResourceFit("PerResource", weights), nodes, shape(cpu=1, memory=10, dongle=2)) == {
        "n1": 70,
        "n2": 55,
    }


def test_per_resource_counts_only_what_the_task_asks_for_and_is_listed() -> None:
    only_gpu = ResourceFit("PerResource", {"nvidia.com/gpu": Weight(1)})
    assert hundredths(only_gpu, {"n1": (amounts(cpu=4, gpu=8), None)}, shape(cpu=2)) == {"n1": 100}


def test_the_star_stands_for_every_extended_resource_that_is_not_listed() -> None:
    star = ResourceFit("PerResource", {"*": Weight(3), "example.com/dongle": Weight(1, "LeastAllocated")})
    node = amounts(dongle=4, gpu=8)
    # gpu by the star: 25 * 3; dongle by name: 75 * 1
    assert hundredths(star, {"n1": (node, None)}, shape(dongle=1, gpu=2)) == {"n1": (25 * 3 + 75) // 4}


def test_least_and_most_allocated_divide_as_kube_scheduler_does() -> None:
    node = amounts(cpu=7, memory=10)
    nodes = {"n1": (node, shape(cpu=1, memory=2))}
    # cpu: (7-2)*100//7 = 71, memory: (10-3)*100//10 = 70 -> 141//2 = 70; used: 28 and 30 -> 29
    assert hundredths(ResourceFit("LeastAllocated"), nodes, shape(cpu=1, memory=1)) == {"n1": 70}
    assert hundredths(ResourceFit("MostAllocated"), nodes, shape(cpu=1, memory=1)) == {"n1": 29}


def test_a_container_that_asks_for_nothing_counts_as_a_little() -> None:
    node = {"cpu": 1000, "memory": 1000 * 2**20}
    # 100m of 1 core and 200Mi of 1000Mi
    assert hundredths(ResourceFit("MostAllocated"), {"n1": (node, None)}, shape()) == {"n1": (10 + 20) // 2}


def test_a_resource_that_a_node_has_not_is_left_out_of_the_mean() -> None:
    nodes = {"n1": (amounts(cpu=4), None)}
    assert hundredths(ResourceFit("MostAllocated"), nodes, shape(cpu=2)) == {"n1": 50}


def test_requested_to_capacity_ratio_follows_its_shape_points() -> None:
    bent = ResourceFit("RequestedToCapacityRatio", {"cpu": Weight()}, [Point(0, 0), Point(50, 10), Point(100, 0)])
    nodes = {
        "a-empty": (amounts(cpu=8), None),
        "b-some": (amounts(cpu=8), shape(cpu=1)),
        "c-half": (amounts(cpu=8), shape(cpu=3)),
        "d-full": (amounts(cpu=8), shape(cpu=7)),
    }
    # 12% -> 0+100*12/50 = 24; 25% -> 50; 50% -> 100; 100% -> 0, and a zero leaves its weight out: 0
    assert hundredths(bent, nodes, shape(cpu=1)) == {"a-empty": 24, "b-some": 50, "c-half": 100, "d-full": 0}


def test_the_ratio_is_flat_beyond_its_ends_and_truncates_towards_zero() -> None:
    used = np.array([0, 10, 33, 90, 100, 150])
    total = np.full(6, 100)
    points, scores = np.array([10, 40, 80]), np.array([70, 0, 30])
    # 33%: 70 + (-70 * 23) / 30 = 70 - 53 = 17
    assert fit_scores.ratio(used, total, points, scores).tolist() == [70, 70, 17, 30, 30, 30]


def test_scores_at_the_largest_amounts_do_not_wrap() -> None:
    used = np.array([AMOUNT_MAX, AMOUNT_MAX - 1, 2**62])
    total = np.full(3, AMOUNT_MAX)
    assert fit_scores.most_allocated(used, total).tolist() == [100, 99, 100]
    assert fit_scores.least_allocated(used, total).tolist() == [0, 0, 0]


def test_balanced_allocation_scores_the_change_in_balance() -> None:
    node = amounts(cpu=10, memory=10)
    nodes = {"even": (node, shape(cpu=2, memory=2)), "tilted": (node, shape(cpu=6, memory=2))}
    # even: with (3,5)/10: 1-0.1 = 90, without 100 -> 50+(50-10)//2 = 70
    # tilted: with (7,5)/10: 90, without (6,2)/10: 80 -> 50+(50+10)//2 = 80
    assert hundredths(BalancedAllocation(), nodes, shape(cpu=1, memory=3)) == {"even": 70, "tilted": 80}


def test_balanced_allocation_has_no_opinion_on_a_task_that_asks_for_nothing() -> None:
    assert hundredths(BalancedAllocation(), {"n1": (amounts(cpu=10, memory=10), None)}, shape()) == {"n1": 0}


def test_an_image_counts_by_its_size_and_by_how_many_nodes_have_it() -> None:
    """As kube-scheduler reckons: 23Mi count as nothing, 1000Mi for each container as all."""
    big, small = Image(("big:1", "big@sha256:1"), 800 * MEBI), Image(("small:latest",), 20 * MEBI)
    both = located({"a": (big, small), "b": (small,), "c": (), "d": (big,)}, "big:1", "small:latest", containers=2)
    # big: 800Mi * 2/4 = 400Mi; small: 20Mi * 2/4 = 10Mi; 100 * (410Mi - 23Mi) // (2000Mi - 23Mi)
    assert both == {"a": 19, "b": 0, "c": 0, "d": 19}
    twice = located({"a": (big,), "b": ()}, "big@sha256:1", "big@sha256:1", containers=2)
    # 400Mi twice: 100 * (800Mi - 23Mi) // 1977Mi
    assert twice == {"a": 39, "b": 0}
    assert located({"a": (Image(("huge:1",), 2**52),)}, "huge:1", containers=1) == {"a": 100}


def located(nodes: Mapping[str, tuple[Image, ...]], *names: str, containers: int) -> dict[str, float]:
    """Score one pod that starts from these images."""
    policy = Policy("one", (), (Weighted(ImageLocality()),))
    world = World()
    world.said.images = policy.reads_images
    for name, images in nodes.items():
        world.apply(NodeSeen(Node(name, allocatable={"pods": 110}, images=images)))
    world.apply(TaskSeen(Task("new", "d", "new", shape(), images=ImageWish(names, containers))))
    snapshot = world.compile(0.0)
    rows = np.arange(len(snapshot.nodes))
    scores = ImageLocality().score(open_session(snapshot, policy), Request(0, candidates=rows), rows, rows * 0)
    assert scores is not None
    return {name: round(float(score) * 100, 6) for name, score in zip(snapshot.nodes.names, scores, strict=True)}


def test_a_task_without_gpus_stays_away_from_gpu_nodes() -> None:
    nodes = {"cpu": (amounts(cpu=8, memory=8), None), "gpu": (amounts(cpu=8, memory=8, gpu=8), None)}
    # On the gpu node memory and gpu are unasked, one of the two scarce: (2-1)*100//2
    assert hundredths(ScarceResources(), nodes, shape(cpu=1)) == {"cpu": 100, "gpu": 50}
    assert hundredths(ScarceResources(), nodes, shape(cpu=1, gpu=1)) == {"cpu": 100, "gpu": 100}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shape": [Point(50, 1), Point(10, 2)]}, "rising numbers from 0 to 100"),
        ({"shape": []}, "rising numbers from 0 to 100"),
        ({"shape": [Point(0, 11)]}, "score outside 0 to 10"),
        ({"resources": {"cpu": Weight(0)}}, "resources.cpu.weight: found 0, allowed is 1 to 1000000"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ResourceFit(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        # In hundredths of binpack.weight: 700 and 137.5 of 10 are 70 and 13.75.
        ({"cpu": 2, "memory": 3, "nvidia.com/gpu": 7, "example.com/foo": 8},
         {"p1": {"n1": 70.0, "n2": 13.75}, "p2": {"n2": 37.5}, "p3": {"n2": 53.125}, "p4": {"n2": 17.3077}}),
        ({"cpu": 1, "memory": 1, "nvidia.com/gpu": 23},
         {"p1": {"n1": 75.0, "n2": 15.625}, "p2": {"n2": 37.5}, "p3": {"n2": 50.5}, "p4": {"n2": 50.0}}),
    ],
)  # fmt: skip
def test_the_numbers_of_volcanos_binpack(weights: dict[str, int], expected: dict[str, dict[str, float]]) -> None:
    """To a hundredth downwards: scores of one resource, and their mean, are whole numbers here."""
    packing = ResourceFit("PerResource", {name: Weight(weight, "MostAllocated") for name, weight in weights.items()})
    half = Shape((("cpu", 1500), ("pods", 1)), scored=(1500, 200 * MEBI))
    nodes: dict[str, tuple[dict[str, int], Shape | None]] = {
        "n1": (amounts(cpu=2, memory=4), shape(cpu=1, memory=1)), "n2": (amounts(cpu=4, memory=16, gpu=4), None),
        "n3": (amounts(cpu=2, memory=4) | {"example.com/foo": 16}, half),
    }  # fmt: skip
    asks = {
        "p1": shape(cpu=1, memory=1), "p2": half, "p3": shape(cpu=2, memory=10, gpu=2),
        "p4": Shape((("cpu", 3000), ("example.com/foo", 3), ("memory", 4 * GIB), ("pods", 1)), scored=(3000, 4 * GIB)),
    }  # fmt: skip
    for pod, on in expected.items():
        found = hundredths(packing, nodes, asks[pod])
        for node, score in on.items():
            assert score - 2 < found[node] <= score, (pod, node)
