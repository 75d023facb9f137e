"""Stories about memory and compute of one GPU: each has a bound of its own, and neither stands for the other."""

from datetime import UTC, datetime
from typing import Any

from phalanx.dialects.read import read
from phalanx.loop import Loop
from phalanx.model.plan import Bind
from phalanx.policy.load import load_policy
from phalanx.sim.cycles import carry_out
from phalanx.world.world import World

POLICY = load_policy("default")
#: A minute after the first pod was made.
NOW = datetime(2026, 11, 1, 12, 1, tzinfo=UTC).timestamp()
GPU, MIB, PERCENT, CORES = "nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores"
KOORDINATOR = "koordinator.sh/gpu"
MOST = "1000Mi and {} of the cores left (most of the cores of one: {})".format


def hami(gpus: int, *, places: int = 10, name: str = "n1", model: str = "NVIDIA-L4", mib: int = 20_000) -> Any:
    text = "".join(f"GPU-{name}-{at},{places},{mib},100,{model},0,true:" for at in range(gpus))
    metadata = {"name": name, "annotations": {"hami.io/node-nvidia-register": text}}
    amounts = {"pods": "99", GPU: str(places * gpus)}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": amounts}}


def plain(gpus: int, *, name: str = "n1") -> Any:
    labels = {f"{GPU}.memory": "20000", f"{GPU}.count": str(gpus), f"{GPU}.product": "NVIDIA-L4"}
    metadata = {"name": name, "labels": labels}
    amounts = {"pods": "99", GPU: str(gpus)}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": amounts}}


def pod(name: str, limits: Any = None, *, at: int = 0, annotations: Any = None, **spec: Any) -> Any:
    containers = [{"name": "main", "resources": {"limits": limits or {}}}]
    created = f"2026-11-01T12:00:{at:02d}Z"
    metadata = {"name": name, "uid": name, "creationTimestamp": created, "annotations": annotations or {}}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
        "spec": {"schedulerName": "phalanx", "containers": containers, **spec},
    }  # fmt: skip


def told(*objects: Any, live: bool = False) -> str:
    """Return the plan for these objects, pod by pod as they were made."""
    world = World(POLICY.label_keys, POLICY.devices)
    loop = Loop(world, POLICY, live=live)
    for one in objects:
        event = read(one, ["phalanx"])
        assert event is not None
        world.apply(event)
    cycle = loop.cycle(NOW)
    assert not cycle.broken
    carry_out(world, cycle.plan)
    lines = []
    for step in cycle.plan.steps:
        where = f"bind {step.task} {step.node} {','.join(step.devices)}" if isinstance(step, Bind) else step.text()
        lines.append(where.replace("default/", "").strip())
    return "\n".join(lines)


def test_much_memory_with_few_cores_and_little_memory_with_many_cores_share_a_gpu() -> None:
    assert told(
        hami(1),
        pod("large", {GPU: 1, MIB: 16_000, CORES: 10}),
        pod("busy", {GPU: 1, MIB: 2_000, CORES: 80}, at=1),
        pod("more", {GPU: 1, MIB: 1_000, CORES: 20}, at=2),
        pod("rest", {GPU: 1, MIB: 1_000, CORES: 10}, at=3),
    ).splitlines() == [
        "bind large n1 0",
        "bind busy n1 0",
        f"wait more 1 full: 0/1 nodes: 1 short of {GPU} with {MOST(0.2, 0.1)}",
        "bind rest n1 0",
    ]  # fmt: skip


def test_who_takes_all_cores_is_alone_and_who_limits_none_finds_no_room_where_all_are_taken() -> None:
    """As at HAMi, whose scheduler asks both."""
    assert told(
        hami(2),
        pod("all", {GPU: 1, MIB: 1_000, CORES: 100}),
        pod("half1", {GPU: 1, MIB: 1_000, CORES: 50}, at=1),
        pod("half2", {GPU: 1, MIB: 1_000, CORES: 50}, at=2),
        pod("any", {GPU: 1, MIB: 1_000}, at=3),
    ).splitlines() == [
        "bind all n1 0",
        "bind half1 n1 1",
        "bind half2 n1 1",
        f"wait any 1 full: 0/1 nodes: 1 short of {GPU} with 1000Mi left (most of the cores of one: 0)",
    ]  # fmt: skip


def test_no_more_pods_share_a_gpu_than_its_plugin_has_places() -> None:
    text = told(hami(1, places=2), *(pod(f"p{at}", {GPU: 1, MIB: 1_000}, at=at) for at in range(3)))
    assert text.splitlines()[:2] == ["bind p0 n1 0", "bind p1 n1 0"]
    assert text.splitlines()[2].startswith("wait p2 1 full: 0/1 nodes: 1 short of")


def test_percent_of_cores_and_of_memory_are_two_numbers_for_koordinator_too() -> None:
    ratio, core = f"{KOORDINATOR}-memory-ratio", f"{KOORDINATOR}-core"
    assert told(
        plain(1),
        pod("large", {ratio: 80, core: 10}),
        pod("busy", {ratio: 20, core: 90}, at=1),
        pod("late", {ratio: 1, core: 1}, at=2),
    ).splitlines()[:2] == ["bind large n1 0", "bind busy n1 0"]  # fmt: skip


def test_half_a_gpu_is_half_of_its_compute_too() -> None:
    assert told(
        plain(1),
        pod("half", annotations={"phalanx.dev/gpu-fraction": "0.5"}),
        pod("busy", {GPU: 1, MIB: 1_000, CORES: 60}, at=1),
        pod("fits", {GPU: 1, MIB: 1_000, CORES: 50}, at=2),
    ).splitlines() == [
        "bind half n1 0",
        f"wait busy 1 full: 0/1 nodes: 1 short of {GPU} with {MOST(0.6, 0.5)}",
        "bind fits n1 0",
    ]  # fmt: skip


def side_by_side(name: str, fraction: str, at: int, **more: Any) -> Any:
    said = {"gpu-fraction": fraction, "nvidia.com/container.main.gpu-compute.mode": "sm-sharing"}
    return pod(name, at=at, annotations=said | more)


def in_turns(name: str, fraction: str, at: int) -> Any:
    return pod(name, at=at, annotations={"gpu-fraction": fraction})


def test_who_computes_side_by_side_is_never_on_a_gpu_with_who_takes_turns() -> None:
    """As in KAI 0.18: both GPUs have room, and each mode has its own."""
    assert told(
        plain(2),
        in_turns("turns1", "0.3", 0),
        side_by_side("beside1", "0.3", 1),
        in_turns("turns2", "0.3", 2),
        side_by_side("beside2", "0.6", 3),
        side_by_side("beside3", "0.3", 4),
        in_turns("turns3", "0.4", 5),
    ).splitlines() == [
        "bind turns1 n1 0",
        "bind beside1 n1 1",
        "bind turns2 n1 0",
        "bind beside2 n1 1",
        f"wait beside3 1 full: 0/1 nodes: 1 short of {GPU} with 0.3 left (most left of one: 0)",
        "bind turns3 n1 0",
    ]  # fmt: skip


def test_who_is_more_important_gets_cores_that_others_have_though_memory_is_left() -> None:
    """Amounts are memory alone: by them there is room, and who must go is known from the books of the GPU."""
    there = {"hami.io/vgpu-devices-allocated": "GPU-n1-0,NVIDIA,1000,10:;"}
    text = told(
        hami(1),
        pod("low", {GPU: 1, MIB: 1_000, CORES: 80}, annotations=there, priority=0, nodeName="n1"),
        pod("small", {GPU: 1, MIB: 1_000, CORES: 10}, annotations=there, priority=0, nodeName="n1"),
        pod("high", {GPU: 1, MIB: 1_000, CORES: 50}, at=1, priority=10),
    )
    assert text.splitlines() == [
        "evict low n1 for high: of higher priority in its queue (10)",
        "nominate high n1 nvidia.com/gpu=0",
    ]


def test_on_a_cluster_whole_gpus_are_told_where_one_kind_of_program_gives_out_all_of_them() -> None:
    """Beside plain GPUs nobody knows to which a pod goes: there it says so in the words of the program."""
    whole, all_of_it = pod("whole", {GPU: 2}), pod("all", {GPU: 1, PERCENT: 100}, at=1)
    assert told(hami(3), whole, all_of_it, live=True).splitlines() == ["bind whole n1 0,1", "bind all n1 2"]
    assert told(hami(3), plain(2, name="n2"), whole, all_of_it, live=True).splitlines() == [
        "bind whole n2", "bind all n1 0",
    ]  # fmt: skip
    other = pod("other", {GPU: 1}, at=2)
    assert told(hami(3), plain(2, name="n2"), whole, other, live=True).splitlines()[1] == (
        f"wait other 1 full: 0/2 nodes: 1 short of {GPU} (most free on one node: 0 of 2), 1 whose device plugin must be"
        f" told which {GPU} is whose: ask for all of it there in its own words"
    )
    assert told(hami(3), whole, all_of_it).splitlines() == ["bind whole n1", "bind all n1 0"]


def test_on_a_cluster_parts_go_to_the_nodes_of_their_own_words() -> None:
    half, ours = pod("hami", {GPU: 1, MIB: 9_000}), pod("ours", at=1, annotations={"phalanx.dev/gpu-fraction": "0.5"})
    assert told(hami(1), plain(1, name="n2"), half, ours, live=True).splitlines() == [
        "bind hami n1 0",
        "bind ours n2 0",
    ]
    assert told(plain(1), half, live=True) == (
        f"wait hami 1 never: 0/1 nodes: 1 whose device plugin gives out no such parts of {GPU}"
    )
    nameless = hami(1)
    text = nameless["metadata"]["annotations"]["hami.io/node-nvidia-register"].replace("GPU-n1-0", "")
    nameless["metadata"]["annotations"]["hami.io/node-nvidia-register"] = text
    assert told(nameless, half, live=True) == (
        f"wait hami 1 never: 0/1 nodes: 1 whose device plugin gives out no such parts of {GPU}"
    )
