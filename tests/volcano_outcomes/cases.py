"""Small random clusters with Volcano's objects: nodes, queues, groups with pods. All follows from a seed."""

import random
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from phalanx.kube.local import node_manifest

Manifest = dict[str, Any]
API = "scheduling.volcano.sh/v1beta1"
GROUP_NAME, TASK = "scheduling.k8s.io/group-name", "volcano.sh/task-spec"
GPU = "nvidia.com/gpu"
CLASSES = {"low": 10, "high": 1000}
_MIDNIGHT = 1_793_491_200


@dataclass(frozen=True)
class Case:
    """One cluster. Groups are made one after the other, more than a second apart: that is as exact as times are."""

    seed: int
    nodes: list[Manifest]
    queues: list[Manifest]
    #: Each group with its pods.
    groups: list[list[Manifest]]

    @property
    def objects(self) -> list[Manifest]:
        """Return everything, with times, as files have it."""
        classes = [
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
            for name, value in CLASSES.items()
        ]
        return [*classes, *self.nodes, *self.queues, *(one for group in self.groups for one in group)]


def case(seed: int) -> Case:
    """Return the cluster of a seed."""
    lot = random.Random(seed)  # noqa: S311 (a draw, no secret)
    nodes = [
        node_manifest(f"n{at}", gpus=lot.choice((0, 2, 4)), cpu=str(lot.choice((4, 6, 8))), memory="32Gi")
        for at in range(lot.randint(2, 4))
    ]
    names = [f"q{at}" for at in range(lot.randint(1, 3))]
    queues = [_queue(name, lot) for name in names]
    groups = [_group(f"g{at}", lot.choice(names), at, lot) for at in range(lot.randint(3, 8))]
    return Case(seed, nodes, queues, groups)


def _queue(name: str, lot: random.Random) -> Manifest:
    spec: Manifest = {"weight": lot.randint(1, 4), "parent": "root"}
    if lot.random() < 0.3:
        spec["capability"] = {"cpu": str(lot.randint(2, 10)), "memory": "64Gi"}
    return {"apiVersion": API, "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def _group(name: str, queue: str, at: int, lot: random.Random) -> list[Manifest]:
    size = lot.randint(1, 5)
    minimum = size if lot.random() < 0.6 else lot.randint(1, size)
    asks = {"cpu": str(lot.randint(1, 3)), "memory": f"{lot.randint(1, 6)}Gi"}
    if lot.random() < 0.4:
        asks[GPU] = str(lot.randint(1, 2))
    created = _stamp(at)
    least = {"cpu": str(int(asks["cpu"]) * minimum), "memory": f"{int(asks['memory'][:-2]) * minimum}Gi"}
    if GPU in asks:
        least[GPU] = str(int(asks[GPU]) * minimum)
    spec: Manifest = {"minMember": minimum, "queue": queue, "minResources": least}
    if lot.random() < 0.3:
        spec["priorityClassName"] = lot.choice(list(CLASSES))
    meta = {"name": name, "namespace": "default", "creationTimestamp": created}
    group = {"apiVersion": API, "kind": "PodGroup", "metadata": meta, "spec": spec}
    return [group, *(_pod(name, number, asks, created) for number in range(size))]


def _pod(group: str, number: int, asks: dict[str, str], created: str) -> Manifest:
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": f"{group}-{number}", "namespace": "default", "creationTimestamp": created,
            "annotations": {GROUP_NAME: group, TASK: "worker"},
        },
        "spec": {
            "schedulerName": "volcano", "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "x", "resources": {"requests": asks, "limits": asks}}],
        },
    }  # fmt: skip


def _stamp(at: int) -> str:
    return datetime.fromtimestamp(_MIDNIGHT + 2 * at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
