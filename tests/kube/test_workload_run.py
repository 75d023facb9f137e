"""Kubernetes' own gangs on a real API server, bound by `phalanx run` with exactly the printed rights.

The server is of the release that K8S names; what a release cannot do is skipped and says so.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from phalanx.kube.local import ControlPlane, node_manifest
from phalanx.kube.local.versions import wanted
from phalanx.testing.control_plane import need_binaries
from phalanx.testing.objects import Manifest, create_all, list_all, pod_manifest
from phalanx.testing.running import Scheduler, condition, eventually, places, schedulers

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fresh_control_plane")]

VERSION = wanted()
API = {"1.35": "v1alpha1", "1.36": "v1alpha2", "1.37": "v1beta1"}[VERSION]
TYPE = "PodGroupScheduled" if VERSION == "1.36" else "PodGroupInitiallyScheduled"
_NUMBERS = count()

no_status = pytest.mark.skipif(VERSION == "1.35", reason="a Workload of Kubernetes 1.35 has no status")
no_job_integration = pytest.mark.skipif(
    VERSION == "1.35", reason="the Job controller of Kubernetes 1.35 makes no Workloads"
)
one_group_per_object = pytest.mark.skipif(
    VERSION != "1.35", reason=f"a PodGroup of Kubernetes {VERSION} is the group: there is no other inside it to name"
)
fixed_minimum = pytest.mark.skipif(VERSION != "1.37", reason=f"Kubernetes {VERSION} does not let minCount change")
kept_by_a_finalizer = pytest.mark.skipif(
    VERSION != "1.35", reason=f"a finalizer keeps a PodGroup of Kubernetes {VERSION} until its last pod has gone"
)


@dataclass
class Cluster:
    """A namespace of one's own, with room of its own: one `example.com/NAMESPACE` per pod."""

    plane: ControlPlane
    namespace: str
    start: Callable[..., Scheduler]

    def room(self, places: int) -> None:
        """Add a node for so many pods."""
        node = node_manifest(f"{self.namespace}-{next(_NUMBERS)}", gpus=0)
        for amounts in (node["status"]["capacity"], node["status"]["allocatable"]):
            amounts[f"example.com/{self.namespace}"] = str(places)
        create_all(self.plane.kubeconfig, [node])

    def group(self, name: str, minimum: int) -> None:
        """Make the object that says how many start together."""
        gang = {"gang": {"minCount": minimum}}
        kind, spec = "PodGroup", dict[str, Any](schedulingPolicy=gang)
        if VERSION == "1.35":
            kind, spec = "Workload", {"podGroups": [{"name": "workers", "policy": gang}]}
        about = {"name": name, "namespace": self.namespace}
        made = {"apiVersion": f"scheduling.k8s.io/{API}", "kind": kind, "metadata": about, "spec": spec}
        create_all(self.plane.kubeconfig, [made])

    def pods(self, group: str, *numbers: int, part: str = "workers", **options: Any) -> None:
        """Make pods that refer to a group."""
        reference: dict[str, Any] = {"schedulingGroup": {"podGroupName": group}}
        if VERSION == "1.35":
            reference = {"workloadRef": {"name": group, "podGroup": part}}
        options = {"requests": {f"example.com/{self.namespace}": "1"}, **reference, **options}
        made = [pod_manifest(f"{group}-{number}", namespace=self.namespace, **options) for number in numbers]
        create_all(self.plane.kubeconfig, made)

    def run(self) -> Scheduler:
        """Start the scheduler. What was made before, it sees all at once."""
        return self.start("--no-leader-election")

    def told(self, pod: str) -> tuple[str, str]:
        """Wait until a pod says why it waits."""
        said = eventually(f"{pod} says why", lambda: self._waiting(pod))
        return said["reason"], said["message"]

    def bound(self, *pods: str) -> dict[str, str]:
        """Wait until exactly these pods have nodes."""
        names = sorted(pods)
        there: dict[str, str] = eventually(f"{names} are bound", lambda: self._exactly(names))
        return there

    def object(self, name: str) -> Manifest:
        found: Manifest = json.loads(self.kubectl("get", "podgroup", name, "-o", "json"))
        return found

    def status(self, name: str, wanted: str) -> dict[str, Any]:
        """Wait until the one condition of a PodGroup is true or false, and return it without its time."""

        def look() -> dict[str, Any] | None:
            conditions = self.object(name).get("status", {}).get("conditions", [])
            return next((one for one in conditions if one["status"] == wanted), None)

        found: dict[str, Any] = eventually(f"the condition of {name} is {wanted}", look)
        return {key: value for key, value in found.items() if key != "lastTransitionTime"}

    def kubectl(self, *arguments: str) -> str:
        return self.plane.kubectl(*arguments, "-n", self.namespace)

    def _waiting(self, pod: str) -> dict[str, Any] | None:
        said = condition(self.plane, pod, self.namespace)
        return said if said.get("status") == "False" else None

    def _exactly(self, names: list[str]) -> dict[str, str] | None:
        there = places(self.plane, namespace=self.namespace)
        return there if sorted(there) == names else None


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    need_binaries()
    with ControlPlane(scheduler=True) as running:
        yield running


@pytest.fixture
def cluster(plane: ControlPlane, tmp_path: Path) -> Iterator[Cluster]:
    name = f"story-{next(_NUMBERS)}"
    plane.kubectl("create", "namespace", name)
    with schedulers(plane, tmp_path) as start:
        yield Cluster(plane, name, start)


def test_three_of_four_hold_nothing_and_the_fourth_starts_them_all(cluster: Cluster) -> None:
    cluster.room(8)
    cluster.group("train", 4)
    cluster.pods("train", 0, 1, 2)
    cluster.run()

    held = {pod: cluster.told(pod) for pod in ("train-0", "train-1", "train-2")}
    assert held == dict.fromkeys(held, ("Held", "3 of 4 members are there"))
    assert places(cluster.plane, namespace=cluster.namespace) == {}
    cluster.pods("train", 3)
    cluster.bound("train-0", "train-1", "train-2", "train-3")
    cluster.pods("train", 4)
    cluster.bound("train-0", "train-1", "train-2", "train-3", "train-4")


@no_status
def test_a_group_says_why_it_waits_and_when_it_has_started(cluster: Cluster) -> None:
    cluster.room(8)
    cluster.group("train", 4)
    cluster.pods("train", 0, 1, 2)
    cluster.run()

    held = {"type": TYPE, "status": "False", "reason": "Held", "message": "3 of 4 members are there"}
    assert cluster.status("train", "False") == held
    cluster.pods("train", 3)
    started = {"type": TYPE, "status": "True", "reason": "Scheduled", "message": ""}
    assert cluster.status("train", "True") == started


@no_status
def test_the_status_is_word_for_word_that_of_kube_scheduler_but_for_the_message(cluster: Cluster) -> None:
    cluster.room(4)
    for scheduler in ("phalanx", "default-scheduler"):
        for name, size in (("small", 2), ("large", 9)):
            cluster.group(f"{name}-{scheduler}", size)
            cluster.pods(f"{name}-{scheduler}", *range(size), scheduler=scheduler)
    cluster.run()

    for name, status in (("small", "True"), ("large", "False")):
        ours, theirs = (cluster.status(f"{name}-{by}", status) for by in ("phalanx", "default-scheduler"))
        assert ours | {"message": ""} == theirs | {"message": ""}
    assert "9 needed together" in cluster.status("large-phalanx", "False")["message"]


@no_job_integration
def test_a_gang_made_by_the_job_controller_waits_whole_until_there_is_room(cluster: Cluster) -> None:
    cluster.room(3)
    create_all(cluster.plane.kubeconfig, [job(cluster.namespace)])

    def pods() -> list[Manifest]:
        return list_all(cluster.plane.kubeconfig, f"/api/v1/namespaces/{cluster.namespace}/pods")

    made: list[Manifest] = eventually("four pods", lambda: len(found := pods()) == 4 and found)
    (group,) = {pod["spec"]["schedulingGroup"]["podGroupName"] for pod in made}
    assert cluster.object(group)["spec"]["schedulingPolicy"] == {"gang": {"minCount": 4}}
    cluster.run()
    names = [pod["metadata"]["name"] for pod in made]
    reason, message = cluster.told(names[0])
    assert (reason, message.partition(":")[0]) == ("Unschedulable", "4 needed together, 3 fit")
    assert places(cluster.plane, namespace=cluster.namespace) == {}
    cluster.room(1)
    cluster.bound(*names)
    assert cluster.status(group, "True")["reason"] == "Scheduled"


def test_pods_that_came_before_their_group_are_held_until_it_is_there(cluster: Cluster) -> None:
    cluster.room(4)
    cluster.pods("train", 0, 1)
    cluster.run()

    reason, message = cluster.told("train-0")
    field = "spec.schedulingGroup.podGroupName: there is no PodGroup"
    if VERSION == "1.35":
        field = "spec.workloadRef.name: there is no Workload"
    assert (reason, message) == ("Held", f"{field} {cluster.namespace}/train")
    cluster.group("train", 2)
    cluster.bound("train-0", "train-1")


@one_group_per_object
def test_pods_of_a_group_that_the_workload_does_not_have_are_held_and_named_those_it_has(cluster: Cluster) -> None:
    cluster.room(4)
    cluster.group("train", 1)
    cluster.pods("train", 0, part="worker")
    cluster.run()

    missing = f"Workload {cluster.namespace}/train has no group worker, it has workers"
    assert cluster.told("train-0") == ("Held", f"spec.workloadRef.podGroup: {missing}")
    assert places(cluster.plane, namespace=cluster.namespace) == {}


@fixed_minimum
def test_a_minimum_that_is_lowered_lets_those_who_wait_start(cluster: Cluster) -> None:
    cluster.room(4)
    cluster.group("train", 4)
    cluster.pods("train", 0, 1, 2)
    cluster.run()

    assert cluster.told("train-0") == ("Held", "3 of 4 members are there")
    minimum(cluster, 3)
    cluster.bound("train-0", "train-1", "train-2")


@fixed_minimum
def test_a_minimum_that_is_raised_evicts_nobody_and_holds_those_who_come(cluster: Cluster) -> None:
    cluster.room(8)
    cluster.group("train", 2)
    cluster.pods("train", 0, 1)
    first = cluster.run()
    cluster.bound("train-0", "train-1")
    first.stop()
    minimum(cluster, 4)
    cluster.pods("train", 2)
    cluster.run()

    assert cluster.told("train-2") == ("Held", "3 of 4 members are there")
    cluster.bound("train-0", "train-1")
    cluster.pods("train", 3)
    cluster.bound("train-0", "train-1", "train-2", "train-3")


def test_a_deleted_object_evicts_nobody_and_holds_those_who_come(cluster: Cluster) -> None:
    cluster.room(8)
    cluster.group("train", 2)
    cluster.pods("train", 0, 1)
    first = cluster.run()
    cluster.bound("train-0", "train-1")
    first.stop()
    delete(cluster)
    cluster.pods("train", 2)
    cluster.run()

    name = f"{cluster.namespace}/train"
    why = f"PodGroup {name}: metadata.deletionTimestamp: it is being deleted"
    if VERSION == "1.35":
        why = f"spec.workloadRef.name: there is no Workload {name}"
    assert cluster.told("train-2") == ("Held", why)
    cluster.bound("train-0", "train-1")


@kept_by_a_finalizer
def test_an_object_made_again_with_another_minimum_holds_at_once(cluster: Cluster) -> None:
    cluster.room(8)
    cluster.group("train", 4)
    cluster.pods("train", 0, 1, 2)
    cluster.run()

    assert cluster.told("train-0") == ("Held", "3 of 4 members are there")
    delete(cluster)
    cluster.group("train", 3)
    cluster.bound("train-0", "train-1", "train-2")


def job(namespace: str) -> Manifest:
    """Return a Job that its controller makes a gang of: 1.36 by itself, 1.37 when the Job says so."""
    container = {"name": "main", "image": "train", "resources": {"limits": {f"example.com/{namespace}": "1"}}}
    template = {"spec": {"schedulerName": "phalanx", "restartPolicy": "Never", "containers": [container]}}
    spec: dict[str, Any] = {"parallelism": 4, "completions": 4, "completionMode": "Indexed", "template": template}
    if VERSION == "1.37":
        spec["scheduling"] = {"schedulingPolicy": {"gang": {}}}
    return {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", "namespace": namespace}, "spec": spec,
    }  # fmt: skip


def minimum(cluster: Cluster, count: int) -> None:
    change = {"spec": {"schedulingPolicy": {"gang": {"minCount": count}}}}
    cluster.kubectl("patch", "podgroup", "train", "--type=merge", "-p", json.dumps(change))


def delete(cluster: Cluster) -> None:
    cluster.kubectl("delete", "workload" if VERSION == "1.35" else "podgroup", "train", "--wait=false")
