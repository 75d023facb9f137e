"""Making room on a real API server, with the printed rights, pretend kubelets and the real controllers."""

import time
from collections import Counter
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
from phalanx.testing.running import Scheduler, eventually, places, schedulers
from tests.kube.queue_cluster import EVENTS, PODS, QUEUES, gang, queue

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fresh_control_plane")]

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
SETS = "/apis/apps/v1/namespaces/default/replicasets"
POLICY = """\
extends: default
actions: [{name: allocate}, {name: consolidate}, {name: reclaim}, {name: preempt},
          {name: evict_stale, arguments: {grace: 1s}}]
"""


def pods(names: str, count: int, of: str | None = None, gpus: int = 1, **options: Any) -> list[Manifest]:
    """Return pods in no gang, each with the label `app` that tells it from all others."""
    asked = {"cpu": "1", GPU: str(gpus)}
    found = [pod_manifest(f"{names}-{number}", requests=asked, **options) for number in range(count)]
    for pod in found:
        labels = {"app": pod["metadata"]["name"]} | ({"phalanx.dev/queue": of} if of else {})
        pod["metadata"]["labels"] = labels
    return found


def budget(*apps: str) -> Manifest:
    """Return a budget that lets none of these pods go."""
    chosen = {"matchExpressions": [{"key": "app", "operator": "In", "values": list(apps)}]}
    return {
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "keep", "namespace": "default"},
        "spec": {"minAvailable": len(apps), "selector": chosen},
    }  # fmt: skip


def urgent() -> Manifest:
    return {
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 1000,
    }  # fmt: skip


@dataclass
class Cluster:
    """A real control plane with kubelets that only pretend, and a scheduler that makes room."""

    plane: ControlPlane
    start: Callable[..., Scheduler]
    policy: Path
    log: Path | None = None

    def run(self) -> Scheduler:
        running = self.start("--no-leader-election", f"--policy={self.policy}")
        self.log = running.log
        return running

    def make(self, *objects: Manifest | list[Manifest]) -> None:
        for one in objects:
            create_all(self.plane.kubeconfig, one if isinstance(one, list) else [one])

    def bound(self, names: str, count: int) -> dict[str, str]:
        """Wait until so many pods of a name have nodes and run."""

        def look() -> dict[str, str] | None:
            running = [pod["status"]["phase"] for pod in self.pods(names) if "nodeName" in pod["spec"]]
            return places(self.plane, f"{names}-") if running == ["Running"] * count else None

        found: dict[str, str] = eventually(f"{count} of {names} run", look, self.log)
        return found

    def protected(self) -> None:
        """Wait until the disruption controller has looked at the budget."""

        def look() -> bool:
            found = list_all(self.plane.kubeconfig, BUDGETS)
            return bool(found) and found[0].get("status", {}).get("expectedPods", 0) > 0

        eventually("the budget is worked out", look, self.log)

    def pods(self, names: str = "") -> list[Manifest]:
        return [pod for pod in list_all(self.plane.kubeconfig, PODS) if pod["metadata"]["name"].startswith(names)]

    def told(self, reason: str, count: int = 1) -> dict[str, str]:
        """Return what events of this reason say, by the name of the object, once there are so many."""

        def said() -> list[tuple[str, str]]:
            events = list_all(self.plane.kubeconfig, EVENTS)
            found = [(one["regarding"]["name"], one["note"]) for one in events if one["reason"] == reason]
            return found if len(found) >= count else []

        # Events are written after binds and evictions.
        found = eventually(f"{count} events {reason}", said, self.log)
        names = Counter(name for name, _ in found)
        assert all(times == 1 for times in names.values()), f"{reason} was told more than once: {found}"
        return dict(found)

    def quiet(self) -> None:
        """Nothing is written, evicted or moved any more."""

        def versions() -> list[str]:
            events = [one for one in list_all(self.plane.kubeconfig, EVENTS) if one["reportingController"] == "phalanx"]
            return sorted(item["metadata"]["resourceVersion"] for item in (*self.pods(), *events))

        def still() -> bool:
            before = versions()
            time.sleep(2)
            return versions() == before

        eventually("all is written", still, self.log)
        before = versions()
        # A cycle is tried every second; status writes have their own pace.
        time.sleep(6)
        assert versions() == before
        assert not any(pod["status"].get("nominatedNodeName") for pod in self.pods())


@pytest.fixture(scope="module")
def room_plane() -> Iterator[ControlPlane]:
    need_binaries()
    with ControlPlane(kwok=True) as running:
        grant(running)
        running.kubectl("wait", "--for=condition=Established", "crd/queues.scheduling.phalanx.dev")
        yield running


@pytest.fixture
def cluster(room_plane: ControlPlane, tmp_path: Path) -> Iterator[Cluster]:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    with schedulers(room_plane, tmp_path) as start:
        yield Cluster(room_plane, start, policy)
    for path in (SETS, JOBS, BUDGETS, PODS, "/api/v1/nodes", QUEUES, EVENTS):
        delete_all(room_plane.kubeconfig, list_all(room_plane.kubeconfig, path))
    delete_all(room_plane.kubeconfig, [urgent()])
    eventually("the cluster is empty", lambda: not list_all(room_plane.kubeconfig, PODS))


def test_a_queue_takes_back_its_share_and_nobody_leaves_whom_a_budget_protects(cluster: Cluster) -> None:
    cluster.make(node_manifest("n1", gpus=8), queue("team-a", {"quota": 4}), queue("team-b", {"quota": 4}))
    cluster.make(pods("a", 8, "team-a"))
    cluster.run()
    cluster.bound("a", 8)
    cluster.make(budget("a-6", "a-7"))
    cluster.protected()
    cluster.make(gang("b", 4, "team-b"))
    cluster.bound("b", 4)
    cluster.make(gang("more", 2, "team-b"))
    cluster.quiet()
    left = {pod["metadata"]["name"] for pod in cluster.pods("a")}
    gone = {f"a-{number}" for number in range(8)} - left
    assert len(left) == 4
    assert {"a-6", "a-7"} <= left
    note = "evicted for default/b: queue team-b reclaims its share"
    assert cluster.told("Reclaimed", len(gone)) == dict.fromkeys(gone, note)
    (asked,) = cluster.told("MakingRoom").values()
    assert asked.startswith("4 pods are asked to leave for it (reclaim): default/a-")


def test_the_more_important_gang_of_a_queue_goes_first_and_a_budget_is_kept(cluster: Cluster) -> None:
    cluster.make(node_manifest("n1", gpus=2), node_manifest("n2", gpus=2), urgent())
    cluster.make(pods("low", 4))
    cluster.run()
    placed = cluster.bound("low", 4)
    kept = [name for name, node in placed.items() if node == "n2"]
    cluster.make(budget(*kept))
    cluster.protected()
    high = [
        pod_manifest(f"high-{number}", gang="high", minimum=2, requests={GPU: "1"}, priorityClassName="urgent")
        for number in range(2)
    ]
    cluster.make(high)

    assert cluster.bound("high", 2) == {"high-0": "n1", "high-1": "n1"}
    cluster.quiet()
    assert sorted(pod["metadata"]["name"] for pod in cluster.pods("low")) == sorted(kept)
    gone = placed.keys() - set(kept)
    note = "evicted for default/high: of higher priority in its queue (1000)"
    assert cluster.told("Preempted", len(gone)) == dict.fromkeys(gone, note)


def test_nobody_is_evicted_where_everybody_is_protected(cluster: Cluster) -> None:
    cluster.make(node_manifest("n1", gpus=2), urgent(), pods("low", 2))
    cluster.run()
    cluster.bound("low", 2)
    cluster.make(budget("low-0", "low-1"))
    cluster.protected()
    cluster.make(pods("high", 1, priorityClassName="urgent"))
    time.sleep(3)
    cluster.quiet()
    assert len(cluster.bound("low", 2)) == 2
    # With the budget gone there is a reason to try again, and nobody had to ask for it.
    cluster.plane.kubectl("delete", "pdb", "keep")
    cluster.bound("high", 1)
    assert len(cluster.told("Preempted")) == 1


def test_small_work_is_moved_together_and_comes_back(cluster: Cluster) -> None:
    """Half of each node is taken and one half is given back elsewhere: only together there is a whole node free."""
    template = pods("small", 1, gpus=2)[0]
    made = {
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "small", "namespace": "default"},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": "small"}},
            "template": {"metadata": {"labels": {"app": "small"}}, "spec": template["spec"]},
        },
    }  # fmt: skip
    cluster.make(node_manifest("n1", gpus=4), node_manifest("n2", gpus=4))
    cluster.make(pods("fixed", 1, gpus=2, node="n1"), pods("guest", 1, gpus=2, node="n2"), made)
    cluster.run()
    (small, node), *_ = cluster.bound("small", 1).items()
    other = {"n1": "n2", "n2": "n1"}[node]
    # Whoever is beside it leaves; the one on the other node stays, and it has no controller that would bring it back.
    leaving = {"n1": "fixed-0", "n2": "guest-0"}[node]
    cluster.plane.kubectl("delete", "pod", leaving)
    cluster.make(pods("big", 1, gpus=4))

    assert cluster.bound("big", 1) == {"big-0": node}
    (again, elsewhere), *_ = cluster.bound("small", 1).items()
    assert again != small
    assert elsewhere == other
    cluster.quiet()
    assert cluster.told("Consolidated") == {
        small: "evicted for default/big-0: moved together with others, so that it fits; "
        f"a place on {other} is kept for its successor"
    }


def test_nobody_takes_the_place_of_who_is_moved_before_his_controller_made_him_again(cluster: Cluster) -> None:
    """The Job's pod takes its time to leave, and only then another is made; meanwhile comes one who would fit there."""
    slow = node_manifest("n1", gpus=4)
    del slow["metadata"]["annotations"]
    spec = pods("small", 1, gpus=2, node="n1", terminationGracePeriodSeconds=3600)[0]["spec"]
    node = spec.pop("nodeName")
    job = {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "small", "namespace": "default"},
        "spec": {
            "podReplacementPolicy": "Failed", "backoffLimit": 9,
            "template": {"spec": spec | {"restartPolicy": "Never"}},
        },
    }  # fmt: skip
    cluster.make(slow, job)
    cluster.run()
    eventually("it is bound", lambda: places(cluster.plane, "small"), cluster.log)
    cluster.make(node_manifest("n2", gpus=4), pods("fixed", 1, gpus=2, node="n2"))
    cluster.make(pods("big", 1, gpus=4))
    eventually("it is asked to leave", lambda: cluster.told("Consolidated"), cluster.log)
    cluster.make(pods("rival", 1, gpus=2))
    time.sleep(3)
    assert places(cluster.plane, "rival") == {}
    # What its kubelet would do: it has ended, and then it is gone.
    name = cluster.pods("small")[0]["metadata"]["name"]
    cluster.plane.kubectl("patch", "pod", name, "--subresource=status", "-p", '{"status":{"phase":"Failed"}}')
    cluster.plane.kubectl("delete", "pod", name, "--grace-period=0", "--force", "--wait=false")
    eventually("big has its place", lambda: places(cluster.plane, "big") == {"big-0": node}, cluster.log)
    eventually("the next one is there", lambda: list(places(cluster.plane, "small").values()) == ["n2"], cluster.log)
    assert places(cluster.plane, "rival") == {}


def test_a_gang_that_lost_a_member_for_good_gives_back_what_it_holds(cluster: Cluster) -> None:
    cluster.make(node_manifest("n1", gpus=4), gang("train", 3, None))
    cluster.run()
    cluster.bound("train", 3)
    cluster.plane.kubectl("delete", "pod", "train-1")
    eventually("all of it is gone", lambda: not cluster.pods("train"), cluster.log)
    note = "evicted: its gang is broken: 2 of the 3 that it needs are there"
    assert cluster.told("StaleGang", 2) == {"train-0": note, "train-2": note}
    cluster.quiet()


def test_what_is_written_says_who_waits_for_which_place(cluster: Cluster) -> None:
    """A victim with a long grace and no kubelet that ends it: the place is kept, and nobody else is asked to leave."""
    slow = node_manifest("n1", gpus=1)
    del slow["metadata"]["annotations"]
    low = pods("low", 1, terminationGracePeriodSeconds=3600)
    cluster.make(slow, urgent(), low)
    cluster.run()
    eventually("it is bound", lambda: places(cluster.plane, "low"), cluster.log)
    cluster.make(pods("high", 1, priorityClassName="urgent"))

    def nominated() -> str | None:
        found: str | None = cluster.pods("high")[0]["status"].get("nominatedNodeName")
        return found

    assert eventually("its place is written", nominated, cluster.log) == "n1"
    eventually("the victim is leaving", lambda: "deletionTimestamp" in cluster.pods("low")[0]["metadata"])
    assert cluster.pods("low")[0]["metadata"]["deletionGracePeriodSeconds"] == 3600
    cluster.make(pods("late", 1, priorityClassName="urgent"))
    time.sleep(3)
    assert list(cluster.told("Preempted")) == ["low-0"]
    delete_all(cluster.plane.kubeconfig, low)
    eventually("it has its place", lambda: places(cluster.plane, "high"), cluster.log)
    assert places(cluster.plane, "late") == {}
