"""Parts that other systems' device plugins count, on a cluster and in files."""

from typing import Any

from phalanx.dialects.read import read
from phalanx.loop import Loop
from phalanx.model.device import UNLISTED
from phalanx.model.events import NodeSeen
from phalanx.model.sharing import MIB, Part, Sharing
from phalanx.policy.load import load_policy
from phalanx.world.sharing import NO_PLUGIN
from phalanx.world.views import tasks_of
from phalanx.world.world import World

GPU = "nvidia.com/gpu"
NODE: dict[str, Any] = {
    "apiVersion": "v1", "kind": "Node",
    "metadata": {"name": "n1", "annotations": {
        "hami.io/node-nvidia-register": "GPU-a,10,24576,100,NVIDIA-L4,0,true:GPU-b,10,24576,100,NVIDIA-L4,0,true:"}},
    "status": {"allocatable": {"pods": "9", GPU: "20"}},
}  # fmt: skip


def pod(name: str, node: str | None) -> dict[str, Any]:
    limits = {GPU: 2, "nvidia.com/gpumem": 3000, "nvidia.com/gpucores": 25}
    spec = {"schedulerName": "phalanx", "containers": [{"name": "a", "resources": {"limits": limits}}]}
    metadata = {"name": name, "uid": name}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec | ({"nodeName": node} if node else {}),
    }


def said(world: World) -> dict[str, tuple[int, Part | None, str | None]]:
    world.compile(0.0)
    return {
        uid: (dict(task.shape.requests)[GPU], task.shape.part, task.hold.message if task.hold else None)
        for uid, task in tasks_of(world).items()
    }


def test_who_shares_counts_whole_and_is_held_where_nothing_is_shared() -> None:
    world = World()
    for document in (NODE, pod("there", "n1"), pod("waits", None)):
        event = read(document, ["phalanx"])
        assert event is not None
        world.apply(event)
    part = Part(2, memory=3000 * MIB, cores=250, side="hami")
    for _ in range(2):
        world.sharings.set(Sharing())
        assert said(world) == {"there": (244, part, None), "waits": (244, part, None)}
        world.sharings.set(Sharing(), live=True)
        assert said(world) == {"there": (244, part, None), "waits": (244, part, None)}
        world.sharings.set(None, live=True)
        assert said(world) == {"there": (2000, None, None), "waits": (2000, None, NO_PLUGIN)}


def test_on_a_cluster_no_part_is_given_of_a_gpu_that_a_device_plugin_shares_itself() -> None:
    """A pod of ours that asks the kubelet for one would keep a tenth of a GPU; in files the books are enough."""
    plain = {**NODE, "metadata": {"name": "n2"}, "status": {"allocatable": {"pods": "9", GPU: "1"}}}
    metadata = {"name": "half", "uid": "half", "annotations": {"phalanx.dev/gpu-fraction": "0.5"}}
    half = {**pod("half", None), "metadata": metadata}
    half["spec"] = half["spec"] | {"containers": [{"name": "a"}]}

    def planned(*nodes: dict[str, Any], live: bool) -> str:
        world = World()
        for document in (*nodes, half):
            event = read(document, ["phalanx"])
            assert event is not None
            world.apply(event)
        return Loop(world, load_policy("default"), live=live).cycle(0.0).plan.text()

    assert planned(NODE, live=False) == f"bind default/half n1 {GPU}=0"
    why = f"0/1 nodes: 1 whose device plugin gives out its own parts of {GPU}"
    assert planned(NODE, live=True) == f"wait default/half 1 never: {why}"
    assert planned(NODE, plain, live=True) == f"bind default/half n2 {GPU}=0"


def test_nor_of_one_that_the_kubelet_counts_by_another_name() -> None:
    percents = {"pods": "9", "koordinator.sh/gpu-core": "200", "koordinator.sh/gpu-memory-ratio": "200"}
    node = {**NODE, "metadata": {"name": "n1"}, "status": {"allocatable": percents}}
    event = read(node, ["phalanx"])
    assert isinstance(event, NodeSeen)
    assert [one.side for one in event.node.devices] == [UNLISTED, UNLISTED]
