"""Images are in a snapshot where some plugin looks at them, and nowhere else."""

from typing import Any

import numpy as np
import pytest

from phalanx.dialects.read import read
from phalanx.loop import Loop
from phalanx.model.events import TaskSeen
from phalanx.policy.load import load_policy
from phalanx.world.world import World

TORCH, BASE = "registry.example/torch:2.1", "registry.example/base:latest"


def node(name: str, *images: str, size: int = 10**9) -> dict[str, Any]:
    listed = [{"names": [image, f"{image}@sha256:0"], "sizeBytes": size} for image in images]
    status = {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "9"}, "images": listed}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def pod(name: str, *images: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": f"c{number}", "image": image} for number, image in enumerate(images)]
    spec = {"schedulerName": "phalanx", "containers": containers, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "uid": name}, "spec": spec}


def stage(policy: str, *documents: dict[str, Any]) -> Loop:
    loop = Loop(World(), load_policy(policy))
    show(loop, *documents)
    return loop


def show(loop: Loop, *documents: dict[str, Any]) -> None:
    for document in documents:
        event = read(document, ["phalanx"])
        assert event is not None
        loop.world.apply(event)


def test_a_pod_goes_where_its_image_is_and_elsewhere_once_it_is_gone_there() -> None:
    loop = stage("pod-by-pod", node("a"), node("b", TORCH), pod("first", TORCH))
    assert loop.cycle(0.0).plan.text() == "bind default/first b"
    show(loop, node("a", TORCH), node("b"), pod("second", TORCH))
    assert loop.cycle(1.0).plan.text() == "bind default/second a"


def test_the_default_policy_looks_at_no_images_and_so_do_its_snapshots() -> None:
    loop = stage("default", node("a"), node("b", TORCH), pod("one", TORCH), pod("two", BASE))
    snapshot = loop.cycle(0.0).snapshot
    assert (snapshot.nodes.images, len(snapshot.shapes), snapshot.shapes[0].images) == ((), 1, None)


def test_when_the_policy_changes_every_shape_does() -> None:
    loop = stage("default", node("a"), node("b", TORCH), pod("one", TORCH), pod("two", BASE))
    loop.policy = load_policy("pod-by-pod")
    snapshot = loop.world.compile(1.0)
    assert len(snapshot.shapes) == 2
    assert {name: found.nodes.tolist() for name, found in snapshot.nodes.holders.items()} == {
        TORCH: [1], f"{TORCH}@sha256:0": [1]
    }  # fmt: skip
    loop.policy = load_policy("default")
    assert loop.world.compile(2.0).nodes.images == ()


def test_what_changes_on_a_node_leaves_who_has_the_images_known() -> None:
    loop = stage("pod-by-pod", node("a"), node("b", TORCH), pod("one", TORCH))
    before = loop.cycle(0.0).snapshot.nodes
    assert before.holders
    after = loop.cycle(1.0).snapshot.nodes
    assert after is not before
    assert after.holders is before.holders


@pytest.mark.parametrize(
    ("images", "spec", "names", "containers"),
    [
        (["a", "b/c:1"], {}, ("a:latest", "b/c:1"), 2),
        (["host:5000/a"], {}, ("host:5000/a:latest",), 1),
        (["a@sha256:0"], {}, ("a@sha256:0",), 1),
        (["a:1", "a:1"], {"initContainers": [{"name": "i", "image": "a:1"}]}, ("a:1", "a:1", "a:1"), 3),
        (["a:1"], {"volumes": [{"name": "v", "image": {"reference": "data:1"}}]}, ("a:1", "data:1"), 1),
    ],
)
def test_which_images_a_pod_starts_from(
    images: list[str], spec: dict[str, Any], names: tuple[str, ...], containers: int
) -> None:
    event = read(pod("one", *images, **spec), ["phalanx"])
    assert isinstance(event, TaskSeen)
    assert event.task.images is not None
    assert (event.task.images.names, event.task.images.containers) == (names, containers)


@pytest.mark.parametrize(("size", "kept"), [(-1, 0), (2**62, 2**53), (5, 5)])
def test_a_size_that_no_image_has_does_no_harm(size: int, kept: int) -> None:
    loop = stage("pod-by-pod", node("a", TORCH, size=size), node("b"), pod("one", TORCH))
    snapshot = loop.cycle(0.0).snapshot
    assert snapshot.nodes.holders[TORCH].size == kept
    assert np.array_equal(snapshot.nodes.holders[TORCH].nodes, [0])
