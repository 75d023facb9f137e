"""Users of one queue on a real API server: who has less goes first when a place is free."""

from pathlib import Path

import pytest

from phalanx.testing.objects import Manifest, pod_manifest
from phalanx.testing.running import eventually, places
from tests.kube.queue_cluster import QueueCluster

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fresh_control_plane")]

POLICY = """
extends: default
actions: [{name: allocate}]
plugins: [{name: node_ready}, {name: resource_fit}, {name: gang}, {name: quota}, {name: fairness}, {name: priority},
          {name: user_fairness, arguments: {label: user}}, {name: arrival}]
"""


def pod(name: str, user: str) -> Manifest:
    made = pod_manifest(name, requests={"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "4"})
    made["metadata"]["labels"] = {"user": user}
    return made


def test_the_next_free_place_goes_to_the_user_who_has_less(cluster: QueueCluster, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    cluster.make(pod("a-1", "alice"), pod("a-2", "alice"))
    cluster.run("--policy", str(tmp_path / "policy.yaml"))
    eventually("alice has all", lambda: set(places(cluster.plane)) == {"a-1", "a-2"}, cluster.log)
    cluster.make(pod("a-3", "alice"), pod("b-1", "bob"))
    cluster.told("b-1")
    cluster.plane.kubectl("delete", "pod", "a-1")
    eventually("bob has the place", lambda: set(places(cluster.plane)) == {"a-2", "b-1"}, cluster.log)
    cluster.told("a-3")
