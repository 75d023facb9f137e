"""Queues on a real API server: one node of eight GPUs, and schedulers with exactly the printed rights.

Import the fixtures in a conftest.py: `from tests.kube.queue_cluster import *`.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from phalanx.kube.local import ControlPlane, node_manifest
from phalanx.kube.playground import grant
from phalanx.model.axis import GPU
from phalanx.testing.control_plane import need_binaries
from phalanx.testing.objects import Manifest, create_all, delete_all, list_all, pod_manifest
from phalanx.testing.running import Scheduler, condition, eventually, places, schedulers

__all__ = ["queue_cluster", "queue_plane"]

QUEUES = "/apis/scheduling.phalanx.dev/v1alpha1/queues"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
PODS = "/api/v1/namespaces/default/pods"


def queue(name: str, gpus: dict[str, Any] | None = None, **spec: Any) -> Manifest:
    """Return a Queue that lists GPUs, or nothing."""
    resources = {"resources": {GPU: gpus}} if gpus is not None else {}
    return {
        "apiVersion": "scheduling.phalanx.dev/v1alpha1", "kind": "Queue", "metadata": {"name": name},
        "spec": resources | spec,
    }  # fmt: skip


def gang(name: str, size: int, of: str | None, *, fixed: bool = False) -> list[Manifest]:
    """Return the pods of a gang in a queue, one GPU each; fixed: not preemptible."""
    pods = [pod_manifest(f"{name}-{number}", gang=name, minimum=size) for number in range(size)]
    for pod in pods:
        pod["metadata"]["labels"] = {"phalanx.dev/queue": of} if of is not None else {}
        if fixed:
            pod["metadata"]["annotations"]["phalanx.dev/preemptible"] = "false"
    return pods


@dataclass
class QueueCluster:
    """One node of eight GPUs, and a way to start schedulers."""

    plane: ControlPlane
    start: Callable[..., Scheduler]
    log: Path | None = None

    def run(self, *options: str) -> Scheduler:
        """Start a scheduler. What was made before, it sees all at once."""
        running = self.start("--no-leader-election", *options)
        self.log = running.log
        return running

    def make(self, *objects: Manifest | list[Manifest]) -> None:
        """Create objects, in this order."""
        for one in objects:
            create_all(self.plane.kubeconfig, one if isinstance(one, list) else [one])

    def change(self, name: str, **spec: Any) -> None:
        """Change a Queue."""
        self.plane.kubectl("patch", "pq", name, "--type=merge", "-p", json.dumps({"spec": spec}))

    def queues(self) -> dict[str, Manifest]:
        """Return the Queues as the server has them, by name."""
        return {one["metadata"]["name"]: one for one in list_all(self.plane.kubeconfig, QUEUES)}

    def status(self, name: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until a Queue's status is as it should be, and return it with its condition alone and no times."""

        def look() -> dict[str, Any] | None:
            status = self.queues()[name].get("status", {})
            return status if status and holds(status) else None

        found: dict[str, Any] = eventually(f"the status of {name}; now {self.queues()}", look, self.log)
        (ready,) = found.pop("conditions")
        return found | {"ready": (ready["status"], ready["reason"], ready["message"])}

    def bound(self, *gangs: str) -> None:
        """Wait until exactly these gangs have nodes, whole."""

        def look() -> bool:
            there = [name.rpartition("-")[0] for name in places(self.plane)]
            return set(there) == set(gangs)

        eventually(f"{gangs} are bound", look, self.log)

    def told(self, pod: str) -> tuple[str, str]:
        """Wait until a pod says why it waits."""
        said = eventually(f"{pod} says why", lambda: condition(self.plane, pod).get("reason"), self.log)
        return said, condition(self.plane, pod)["message"]

    def events(self, reason: str) -> list[str]:
        """Wait for events of this reason, which are written behind everything else; return what they say, of what."""

        def look() -> list[str]:
            return [
                f"{event['regarding']['kind']} {event['regarding']['name']}: {event['note']}"
                for event in list_all(self.plane.kubeconfig, EVENTS)
                if event["reason"] == reason
            ]

        found: list[str] = eventually(f"an event {reason}", look, self.log)
        return found


@pytest.fixture(scope="module")
def queue_plane() -> Iterator[ControlPlane]:
    """A control plane with what is printed installed."""
    need_binaries()
    with ControlPlane() as running:
        grant(running)
        running.kubectl("wait", "--for=condition=Established", "crd/queues.scheduling.phalanx.dev")
        yield running


@pytest.fixture(name="cluster")
def queue_cluster(queue_plane: ControlPlane, tmp_path: Path) -> Iterator[QueueCluster]:
    """An empty cluster with one node."""
    kubeconfig = queue_plane.kubeconfig
    with schedulers(queue_plane, tmp_path) as start:
        create_all(kubeconfig, [node_manifest("n1", gpus=8)])
        yield QueueCluster(queue_plane, start)
    for path in (PODS, "/api/v1/nodes", QUEUES, EVENTS):
        delete_all(kubeconfig, list_all(kubeconfig, path))
