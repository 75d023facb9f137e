"""The check after every fault must itself be able to fail: each broken promise, made up, is named."""

import json
from pathlib import Path

from phalanx.testing.objects import Manifest, gang_manifests, pod_manifest
from tests.faults.kubelet import Books
from tests.faults.verdict import faults


def test_nothing_is_said_of_a_whole_gang_on_nodes_with_room(tmp_path: Path) -> None:
    pods = on_nodes(gang_manifests("train", 2), "n1")
    assert faults(pods, [node("n1", 2)], audit(tmp_path, *pods)) == []


def test_a_split_gang_is_named(tmp_path: Path) -> None:
    pods = [*on_nodes(gang_manifests("train", 3)[:2], "n1"), *waiting(gang_manifests("train", 3)[2:])]
    assert faults(pods, [node("n1", 8)], audit(tmp_path)) == ["gang default/train has 2 of 3 on nodes"]


def test_members_that_failed_are_not_on_nodes(tmp_path: Path) -> None:
    pods = on_nodes(gang_manifests("train", 2), "n1", phase="Failed")
    assert faults(pods, [node("n1", 1)], audit(tmp_path)) == []


def test_an_overfull_node_is_named(tmp_path: Path) -> None:
    pods = on_nodes([pod_manifest("a"), pod_manifest("b")], "n1")
    assert faults(pods, [node("n1", 1)], audit(tmp_path)) == ["node n1 has more nvidia.com/gpu given away than it has"]


def test_a_pod_bound_twice_or_where_nobody_put_it_is_named(tmp_path: Path) -> None:
    pods = on_nodes([pod_manifest("a")], "n1")
    elsewhere = [{**pods[0], "spec": {**pods[0]["spec"], "nodeName": "n2"}}]
    log = audit(tmp_path, *pods, *pods)
    assert faults(elsewhere, [node("n1", 8), node("n2", 8)], log) == [
        "uid uid-a was bound 2 times",
        "a is on n2, where nobody has put it",
    ]


def test_the_strict_kubelet_turns_away_who_comes_later_and_lets_in_when_there_is_room() -> None:
    books = Books(allocatable={"n1": {"cpu": 2, "pods": 8}})
    assert books.admit("n1", "a", {"cpu": 2, "pods": 1}) is None
    assert books.admit("n1", "b", {"cpu": 1, "pods": 1}) == "cpu"
    books.leave("n1", "a")
    assert books.admit("n1", "b", {"cpu": 1, "pods": 1}) is None


def on_nodes(pods: list[Manifest], name: str, phase: str = "Running") -> list[Manifest]:
    """Return pods as the server has them when they are on a node."""
    return [pod | {"spec": pod["spec"] | {"nodeName": name}, "status": {"phase": phase}} for pod in waiting(pods)]


def waiting(pods: list[Manifest]) -> list[Manifest]:
    """Return pods as the server has them: with a uid, and with the limits as requests."""
    made = []
    for pod in pods:
        container = pod["spec"]["containers"][0]
        asked = {"limits": container["resources"]["limits"], "requests": container["resources"]["limits"]}
        spec = pod["spec"] | {"containers": [container | {"resources": asked}]}
        metadata = pod["metadata"] | {"uid": f"uid-{pod['metadata']['name']}"}
        made.append(pod | {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}})
    return made


def node(name: str, gpus: int) -> Manifest:
    allocatable = {"cpu": "8", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": str(gpus)}
    return {"metadata": {"name": name}, "status": {"allocatable": allocatable}}


def audit(folder: Path, *pods: Manifest) -> Path:
    """Write a log in which each of these pods was bound once more."""
    path = folder / "audit.log"
    entries = [
        {
            "user": {"username": "phalanx"},
            "objectRef": {"resource": "pods", "subresource": "binding", "namespace": "default", "name": "x"},
            "requestObject": {"metadata": {"uid": pod["metadata"]["uid"]}, "target": {"name": pod["spec"]["nodeName"]}},
            "responseStatus": {"code": 201},
            "requestReceivedTimestamp": "2026-11-16T12:00:00.000000Z",
        }
        for pod in pods
    ]
    path.write_text("\n".join(map(json.dumps, entries)))
    return path
