"""Queues of Volcano are opened and closed by Commands on a real API server, where Volcano's own controller is not."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from phalanx.kube.installation.values import Values
from phalanx.kube.playground import grant
from phalanx.testing.objects import Manifest, list_all, pod_manifest
from phalanx.testing.running import eventually
from tests.kube.queue_cluster import QueueCluster
from tests.kube.test_volcano import QUEUES, group, queue, status
from tests.kube.volcano_modules import definitions

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fresh_control_plane")]

BUS = "bus.volcano.sh/v1alpha1"
COMMANDS = f"/apis/{BUS}/namespaces/default/commands"
PLURALS = (QUEUES, "scheduling.volcano.sh_podgroups", "bus.volcano.sh_commands", "batch.volcano.sh_jobs")


@pytest.fixture(name="volcano")
def volcano_cluster(cluster: QueueCluster) -> Iterator[QueueCluster]:
    """A cluster with Volcano's definitions and nothing else of it, and the rights of its controllers."""
    grant(cluster.plane, Values(volcano_jobs=True))
    files = [word for file in definitions(*PLURALS) for word in ("-f", str(file))]
    cluster.plane.kubectl("apply", "--server-side", *files)
    names = [f"crd/{plural.partition('_')[2]}.{plural.partition('_')[0]}" for plural in PLURALS]
    cluster.plane.kubectl("wait", "--for=condition=Established", *names)
    yield cluster
    cluster.plane.kubectl("delete", *names)
    grant(cluster.plane)


def order(cluster: QueueCluster, name: str, action: str) -> Manifest:
    """Return a Command as `vcctl queue operate` makes it."""
    found = list_all(cluster.plane.kubeconfig, "/apis/scheduling.volcano.sh/v1beta1/queues")
    uid = next(one["metadata"]["uid"] for one in found if one["metadata"]["name"] == name)
    target = {
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": name, "uid": uid, "controller": True,
        "blockOwnerDeletion": True,
    }  # fmt: skip
    meta = {"name": f"{name}-{action.lower()}", "namespace": "default", "ownerReferences": [target]}
    return {"apiVersion": BUS, "kind": "Command", "metadata": meta, "action": action, "target": target}


def state(cluster: QueueCluster, expected: str, *names: str) -> None:
    def look() -> bool:
        return all(status(cluster, "queues", name).get("state") == expected for name in names)

    def now() -> dict[str, Any]:
        return {name: status(cluster, "queues", name) for name in names}

    eventually(f"{names} are {expected}; now {now()}", look, cluster.log)


def test_a_closed_queue_takes_no_new_work_and_closing_ends_with_its_last_group(volcano: QueueCluster) -> None:
    volcano.make(queue("lab"), queue("a", parent="lab"), queue("b", parent="lab"), group("old", 1, queue="a"))
    volcano.run("--scheduler-name", "volcano", "--volcano-jobs")
    state(volcano, "Open", "lab", "a", "b")
    volcano.make(order(volcano, "lab", "CloseQueue"))
    state(volcano, "Closed", "lab", "b")
    state(volcano, "Closing", "a")
    assert list_all(volcano.plane.kubeconfig, COMMANDS) == []
    volcano.make(group("late", 1, queue="b"))
    eventually(
        "late is not let in", lambda: status(volcano, "podgroups", "late").get("phase") == "Pending", volcano.log
    )
    volcano.plane.kubectl("delete", "podgroups.scheduling.volcano.sh", "old")
    state(volcano, "Closed", "a")
    # The queue above must be opened first; then those that it closed open with it.
    volcano.make(order(volcano, "a", "OpenQueue"))
    refused = "Queue a: the queue lab above it is Closed: open that first"
    eventually("it is refused", lambda: refused in volcano.events("OpenQueue"), volcano.log)
    volcano.make(order(volcano, "lab", "OpenQueue"))
    state(volcano, "Open", "lab", "a", "b")
    eventually("late is let in", lambda: status(volcano, "podgroups", "late").get("phase") == "Inqueue", volcano.log)


def _told(one: Manifest) -> tuple[str, int, str]:
    name, phase = one["metadata"]["name"].partition("-")[0], one.get("status", {}).get("phase", "")
    return name, one["spec"]["minMember"], phase


def test_pods_in_no_group_get_the_group_that_volcanos_controller_would_make(volcano: QueueCluster) -> None:
    """A Deployment that starts three at once, a Job, and a pod alone: all are seen by `kubectl get podgroup`."""
    plain = {"schedulerName": "volcano", "containers": [{"name": "main", "image": "x"}], "restartPolicy": "Always"}
    meta = {"labels": {"app": "web"}}
    minimum = {"scheduling.volcano.sh/group-min-member": "3"}
    web: Manifest = {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "annotations": minimum},
        "spec": {
            "replicas": 3, "selector": {"matchLabels": meta["labels"]}, "template": {"metadata": meta, "spec": plain},
        },
    }  # fmt: skip
    work: Manifest = {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work", "namespace": "default"},
        "spec": {"parallelism": 2, "completions": 2, "template": {"spec": {**plain, "restartPolicy": "Never"}}},
    }  # fmt: skip
    lone = pod_manifest("lone", scheduler="volcano", requests={"cpu": "1"})
    volcano.run("--scheduler-name", "volcano", "--volcano-jobs")
    volcano.make(web, work, lone)
    path = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"

    def look() -> dict[str, tuple[str, int, str]]:
        groups = list_all(volcano.plane.kubeconfig, path)
        seen = {one["metadata"]["ownerReferences"][0]["kind"]: _told(one) for one in groups}
        return seen if len(groups) == 3 and {phase for *_, phase in seen.values()} == {"Running"} else {}

    found = eventually("three groups run", look, volcano.log)
    assert found == {
        "ReplicaSet": ("podgroup", 3, "Running"), "Job": ("podgroup", 1, "Running"), "Pod": ("podgroup", 1, "Running"),
    }  # fmt: skip
    noted = [
        one["metadata"]["annotations"]["scheduling.k8s.io/group-name"]
        for one in list_all(volcano.plane.kubeconfig, "/api/v1/namespaces/default/pods")
    ]
    assert sorted(Counter(noted).values()) == [1, 2, 3]
    volcano.plane.kubectl("delete", "deployment/web", "job/work", "--cascade=foreground", "--wait=false")
