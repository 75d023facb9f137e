"""KAI's objects on a real API server: its users' manifests run unchanged under the policy `kai`."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from phalanx.model.axis import GPU
from phalanx.testing.objects import Manifest, list_all, pod_manifest
from phalanx.testing.running import places
from tests.kube.queue_cluster import QueueCluster, gang, queue

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fresh_control_plane")]

DEFINITIONS = ("crd/queues.scheduling.run.ai", "crd/podgroups.scheduling.run.ai")
ANY = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


def definition(kind: str, version: str, scope: str) -> Manifest:
    """Return a definition that takes anything: what we make of it is looked at here, not what KAI's server refuses."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}}
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.scheduling.run.ai"},
        "spec": {
            "group": "scheduling.run.ai", "scope": scope,
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }  # fmt: skip


def kai_queue(name: str, quota: float, limit: float, **spec: Any) -> Manifest:
    gpu = {"quota": quota, "limit": limit, "overQuotaWeight": 1}
    return {
        "apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name},
        "spec": {"resources": {"gpu": gpu, "cpu": ANY, "memory": ANY}, **spec},
    }  # fmt: skip


def kai_group(name: str, minimum: int, of: str, **spec: Any) -> Manifest:
    return {
        "apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"}, "spec": {"minMember": minimum, "queue": of, **spec},
    }  # fmt: skip


def kai_pods(group: str, *numbers: int, **options: Any) -> list[Manifest]:
    pods = [pod_manifest(f"{group}-{number}", scheduler="kai-scheduler", **options) for number in numbers]
    for pod in pods:
        pod["metadata"]["annotations"] = {"pod-group-name": group}
    return pods


def install_kai(cluster: QueueCluster) -> None:
    for one in (definition("Queue", "v2", "Cluster"), definition("PodGroup", "v2alpha2", "Namespaced")):
        cluster.plane.kubectl("apply", "-f", "-", stdin=json.dumps(one))
    cluster.plane.kubectl("wait", "--for=condition=Established", *DEFINITIONS)


@pytest.fixture
def without_kai(cluster: QueueCluster) -> Iterator[QueueCluster]:
    yield cluster
    cluster.plane.kubectl("delete", *DEFINITIONS)


@pytest.fixture
def kai(without_kai: QueueCluster) -> QueueCluster:
    install_kai(without_kai)
    return without_kai


def test_objects_whose_definitions_come_after_the_scheduler_are_taken_up(without_kai: QueueCluster) -> None:
    """Nobody restarts a scheduler because something was installed; it looks twice a minute."""
    cluster = without_kai
    cluster.make(queue("team-a", {"limit": 2}), *gang("native", 2, "team-a"))
    cluster.make(kai_pods("train", 0, 1))
    cluster.run("--scheduler-name", "kai-scheduler")
    cluster.bound("native")
    missing = "metadata.annotations[pod-group-name]: there is no PodGroup.scheduling.run.ai default/train"
    assert cluster.told("train-0") == ("Held", missing)
    install_kai(cluster)
    cluster.make(kai_queue("department", -1, -1), kai_group("train", 2, "department"))
    cluster.bound("native", "train")


def test_kai_gangs_start_whole_in_kai_queues_under_the_policy_kai(kai: QueueCluster) -> None:
    kai.make(
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "build"}, "value": 100},
        kai_queue("department", -1, -1),
        kai_queue("team-a", 2, 3, parentQueue="department"),
        kai_queue("team-b", 2, -1, parentQueue="department"),
        kai_group("train", 3, "team-a"),
        kai_pods("train", 0, 1),
        kai_group("build", 3, "team-b", priorityClassName="build"),
        kai_pods("build", 0, 1, 2),
        kai_group("tune", 4, "team-b"),
        kai_pods("tune", 0, 1, 2, 3),
    )
    kai.run("--policy", "kai")
    kai.bound("tune")
    assert kai.told("train-0") == ("Held", "2 of 3 members are there")
    quota = f"queue team-b has 0 that is not preemptible, of its quota of 2 {GPU}"
    assert kai.told("build-0") == ("Held", f"{quota}: 3 asked, 1 too many")

    kai.make(kai_pods("train", 2))
    kai.bound("train", "tune")
    kai.make(kai_group("more", 1, "team-a"), kai_pods("more", 0))
    limit = f"queue team-a has 3 of its limit of 3 {GPU}: 1 asked, 1 too many"
    assert kai.told("more-0") == ("Held", limit)
    # Their status is their own system's to write.
    queues = list_all(kai.plane.kubeconfig, "/apis/scheduling.run.ai/v2/queues")
    assert [one for one in queues if "status" in one] == []


def test_a_kai_queue_of_the_same_name_as_ours_does_not_count_and_ours_says_nothing_wrong(kai: QueueCluster) -> None:
    kai.make(queue("team-a", {"limit": 1}))
    kai.run()
    kai.status("team-a", lambda status: bool(status["conditions"]))
    kai.make(kai_queue("team-a", -1, -1), gang("one", 1, "team-a"), gang("two", 1, "team-a"))
    kai.bound("one")
    assert kai.told("two-0")[1] == f"queue team-a has 1 of its limit of 1 {GPU}: 1 asked, 1 too many"
    assert kai.status("team-a", lambda status: status["pending"] == 1)["ready"] == ("True", "InOrder", "")
    assert len(places(kai.plane)) == 1
