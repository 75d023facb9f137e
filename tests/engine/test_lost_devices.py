"""Stories about devices that fail while pods use them: who sits on one is known where both tell its id."""

from dataclasses import replace

from phalanx.model.device import Device
from phalanx.model.events import NodeSeen
from phalanx.testing.stage import Stage

GPU = "nvidia.com/gpu"
GIVEN = """
    node n1 gpu=2
    node n2 gpu=2
    gang g members=2 gpu-fraction=0.5 on=n1 gpu-group=GPU-a
    pod  h gpu-fraction=0.5 on=n1 gpu-group=GPU-b controlled
    """


def health(stage: Stage, *, first: bool, ids: tuple[str, str] = ("GPU-a", "GPU-b")) -> None:
    """Let n1 say how its first GPU is, as its register would."""
    node = stage.world.nodes["n1"]
    devices = (Device(GPU, 0, ids[0], healthy=first), Device(GPU, 1, ids[1]))
    amounts = dict(node.allocatable) | {GPU: 2000 if first else 1000}
    stage.world.apply(NodeSeen(replace(node, devices=devices, allocatable=amounts)))


def staged() -> Stage:
    stage = Stage(GIVEN)
    health(stage, first=True)
    stage.check("0s", "")
    return stage


def test_who_sits_on_a_gpu_that_failed_is_evicted_after_the_grace_and_comes_back_on_another() -> None:
    stage = staged()
    health(stage, first=False)
    stage.check("10s", "")
    stage.check("60s", "")
    stage.check(
        "75s",
        """
        evict g-0 n1: its device is no longer healthy
        evict g-1 n1: its device is no longer healthy
        """,
    )
    cycle = stage.cycle("200s")
    assert [(step.task, step.node, step.devices) for step in cycle.plan.binds] == [
        ("default/g-0", "n1", ("1",)),
        ("default/g-1", "n2", ("0",)),
    ]


def test_a_gpu_that_recovers_in_time_costs_nobody_anything() -> None:
    stage = staged()
    health(stage, first=False)
    stage.check("10s", "")
    health(stage, first=True)
    stage.check("40s", "")
    health(stage, first=False)
    stage.check("75s", "")
    stage.check("100s", "")


def test_where_the_node_tells_no_ids_nobody_is_known_to_sit_on_the_one_that_failed() -> None:
    stage = staged()
    health(stage, first=False, ids=("", ""))
    stage.check("10s", "")
    stage.check("300s", "")


def test_a_pod_that_nobody_would_make_again_stays() -> None:
    stage = Stage("node n1 gpu=2\npod bare gpu-fraction=0.5 on=n1 gpu-group=GPU-a")
    health(stage, first=False)
    stage.check("10s", "")
    stage.check("300s", "")
