"""Two installations side by side, one by kubectl and one by helm: they share nothing but the definition of Queues."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from phalanx.kube.install import Installation, Values, manifests, removal
from phalanx.kube.installation.values import Admission
from phalanx.kube.local import ControlPlane, LocalError, node_manifest
from phalanx.model.keys import QUEUE
from phalanx.testing.objects import create_all, gang_manifests
from phalanx.testing.running import eventually, places
from tests.kube.deployed import Deployed

pytestmark = pytest.mark.slow

QUEUES = """
{apiVersion: scheduling.phalanx.dev/v1alpha1, kind: Queue, metadata: {name: research}}
---
{apiVersion: scheduling.phalanx.dev/v1alpha1, kind: Queue, metadata: {name: vision}, spec: {parent: research}}
"""
OURS = (
    "all,clusterroles,clusterrolebindings,roles,rolebindings,serviceaccounts,configmaps,networkpolicies,pdb,leases,"
    "validatingadmissionpolicies,validatingadmissionpolicybindings"
)
RED = Installation("red", "team-red", Values(scheduler_names=["red"], admission=Admission(enabled=True)))
#: Who removes it may have forgotten what was chosen.
FORGOTTEN = Installation("red", "team-red")


@pytest.fixture
def plane(fresh_control_plane: Callable[..., ControlPlane]) -> ControlPlane:
    plane = fresh_control_plane(controller_manager=False)
    create_all(plane.kubeconfig, [node_manifest(f"n{number}") for number in range(4)])
    return plane


@pytest.fixture
def deployed(plane: ControlPlane, tmp_path: Path) -> Iterator[Callable[..., Deployed]]:
    running: list[Deployed] = []

    def start(namespace: str, name: str) -> Deployed:
        running.append(Deployed(plane, tmp_path, namespace, name))
        running[-1].start()
        return running[-1]

    yield start
    for one in running:
        one.end()


def queues(plane: ControlPlane) -> dict[str, str]:
    found = json.loads(plane.kubectl("get", "queues.scheduling.phalanx.dev", "-o", "json"))["items"]
    return {one["metadata"]["name"]: one["metadata"]["uid"] for one in found}


def left(plane: ControlPlane, name: str) -> set[str]:
    """What there still is of an installation, and its lease."""
    listed = plane.kubectl("get", OURS, "-A", "-o", "json")
    found: list[dict[str, Any]] = [one["metadata"] | {"kind": one["kind"]} for one in json.loads(listed)["items"]]
    return {
        f"{one['kind']} {one['name']}"
        for one in found
        if one["name"] == name or one.get("labels", {}).get("app.kubernetes.io/name") == name
    }


def bound(plane: ControlPlane, name: str, scheduler: str, one: Deployed) -> None:
    pods = gang_manifests(name, 4, scheduler=scheduler)
    for pod in pods:
        pod["metadata"]["labels"] = {QUEUE: "vision"}
    create_all(plane.kubeconfig, pods)
    eventually(f"{name} is bound", lambda: len(places(plane, f"{name}-")) == 4, one.log)
    assert "invariant-broken" not in one.log.read_text()


def test_one_of_two_is_removed_and_the_other_schedules_on_with_every_queue(
    plane: ControlPlane,
    deployed: Callable[..., Deployed],
    helm: Callable[..., str],
    pytestconfig: pytest.Config,
) -> None:
    plane.kubectl("apply", "--validate=strict", "-f", "-", stdin=manifests(RED))
    chart = pytestconfig.rootpath / "charts" / "phalanx"
    blue_names = "--set=schedulerNames={blue}"
    helm("install", "blue", chart, "--namespace=team-blue", "--create-namespace", blue_names,
         kubeconfig=plane.kubeconfig)  # fmt: skip
    plane.kubectl("apply", "-f", "-", stdin=QUEUES)
    before = queues(plane)
    red, blue = deployed("team-red", "red"), deployed("team-blue", "blue")
    bound(plane, "a", "red", red)
    bound(plane, "b", "blue", blue)

    helm("upgrade", "blue", chart, "--namespace=team-blue", blue_names, "--set=replicas=3", kubeconfig=plane.kubeconfig)
    assert plane.kubectl("get", "deployment/blue", "-n", "team-blue", "-o", "jsonpath={.spec.replicas}") == "3"
    helm("rollback", "blue", "1", "--namespace=team-blue", kubeconfig=plane.kubeconfig)
    assert plane.kubectl("get", "deployment/blue", "-n", "team-blue", "-o", "jsonpath={.spec.replicas}") == "2"

    red.stop()
    theirs = left(plane, "blue")
    plane.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=removal(FORGOTTEN))
    assert left(plane, "red") == set()
    assert left(plane, "blue") == theirs
    bound(plane, "c", "blue", blue)
    blue.stop()
    helm("uninstall", "blue", "--namespace=team-blue", kubeconfig=plane.kubeconfig)
    # The scheduler made the lease, and helm knows nothing of it.
    assert left(plane, "blue") == {"Lease blue"}
    assert queues(plane) == before


def test_not_even_deleting_all_that_was_printed_deletes_a_queue_unless_it_is_meant(plane: ControlPlane) -> None:
    """As was documented once: `phalanx install --print | kubectl delete -f -`."""
    plane.kubectl("apply", "-f", "-", stdin=manifests(RED))
    plane.kubectl("apply", "-f", "-", stdin=QUEUES)
    before = queues(plane)
    crd = ("delete", "crd", "queues.scheduling.phalanx.dev")

    def refused() -> bool:
        try:
            plane.kubectl(*crd, "--dry-run=server")
        except LocalError as error:
            return "every Queue of the cluster would be deleted" in str(error)
        return False

    # A policy is in force a moment after it was made.
    eventually("the definition is guarded", refused)
    with pytest.raises(
        LocalError, match="every Queue of the cluster would be deleted with it; if that is meant, first: "
    ):
        plane.kubectl("delete", "--wait=false", "-f", "-", stdin=manifests(RED))
    assert left(plane, "red") == set()
    assert queues(plane) == before

    plane.kubectl("annotate", "crd", "queues.scheduling.phalanx.dev", "phalanx.dev/delete-queues=true")
    plane.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=removal(RED, queues=True))
    with pytest.raises(LocalError, match="the server doesn't have a resource type"):
        queues(plane)
