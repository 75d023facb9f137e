"""A device that is shared counts once: those who share it count, the pod that keeps it from the kubelet does not."""

from typing import Any

from phalanx.dialects.read import read
from phalanx.model.events import TaskGone
from phalanx.model.plan import Bind, Plan
from phalanx.model.sharing import Sharing
from phalanx.world.world import World

GPU = "nvidia.com/gpu"
NODE = {
    "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
    "status": {"allocatable": {"pods": "9", GPU: "2"}},
}  # fmt: skip


def pod(name: str, scheduler: str, gpus: int, node: str | None = "n1", **annotations: str) -> dict[str, Any]:
    spec: dict[str, Any] = {"schedulerName": scheduler, "containers": [{"name": "a"}]}
    if gpus:
        spec["containers"][0]["resources"] = {"limits": {GPU: gpus}}
    if node:
        spec["nodeName"] = node
    said = {f"phalanx.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "uid": name, "annotations": said},
        "spec": spec,
    }


RESERVATION = pod("reservation", "default-scheduler", 1, gpu_group="0")


def half(name: str, **options: Any) -> dict[str, Any]:
    return pod(name, "phalanx", 0, gpu_fraction="0.5", gpu_group="0", **options)


def world_with(*documents: dict[str, Any]) -> World:
    world = World()
    world.sharings.set(Sharing(), live=True)
    see(world, *documents)
    return world


def see(world: World, *documents: dict[str, Any]) -> None:
    for document in documents:
        event = read(document, ["phalanx"])
        assert event is not None
        world.apply(event)


def free(world: World) -> int:
    """Return what is free of two GPUs, in thousandths, as amounts count them."""
    snapshot = world.compile(0.0)
    return int(snapshot.nodes.free[0, snapshot.axis.index[GPU]])


def test_a_reservation_counts_until_somebody_shares_its_gpu_and_again_after_the_last_one() -> None:
    world = world_with(NODE, RESERVATION)
    assert free(world) == 1000
    see(world, half("a"), half("b"))
    assert free(world) == 1000
    world.apply(TaskGone("a"))
    assert free(world) == 1500
    world.apply(TaskGone("b"))
    assert free(world) == 1000
    world.apply(TaskGone("reservation"))
    assert free(world) == 2000


def test_it_counts_no_longer_as_soon_as_a_bind_is_decided() -> None:
    world = world_with(NODE, RESERVATION, half("a", node=None))
    assert free(world) == 1000
    world.assume(Plan(0.0, (Bind("default/a", "a", "n1", "default/a", "Pod/a", ("0",)),)))
    assert free(world) == 1500
    # A late echo of the pod before its bind does not undo that, nor forget which GPU it shares.
    late = half("a", node=None)
    late["metadata"]["annotations"].pop("phalanx.dev/gpu-group")
    late["metadata"]["labels"] = {"echo": "late"}
    see(world, late)
    assert world.tasks["a"].groups == ("0",)
    assert free(world) == 1500


def test_an_annotation_on_a_pod_that_has_no_gpu_reserves_nothing() -> None:
    world = world_with(NODE, pod("stranger", "default-scheduler", 0, gpu_group="0"))
    assert free(world) == 2000


def test_it_is_the_same_in_any_order() -> None:
    seen = [free(world_with(NODE, *some)) for some in ([RESERVATION, half("a")], [half("a"), RESERVATION])]
    assert seen == [1500, 1500]
