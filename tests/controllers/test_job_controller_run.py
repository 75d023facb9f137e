"""`phalanx run --volcano-jobs` on a real API server with Volcano's own definitions, and exactly the printed rights."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phalanx.kube.installation.values import Values
from phalanx.kube.local import ControlPlane, node_manifest
from phalanx.kube.playground import grant
from phalanx.testing.control_plane import need_binaries
from phalanx.testing.objects import Manifest, create_all, list_all
from phalanx.testing.running import Scheduler, eventually
from tests.controllers.pretend import on, task
from tests.faults.kubelet import StrictKubelet
from tests.kube.volcano_modules import module

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fresh_control_plane")]

BATCH = "batch.volcano.sh/v1alpha1"
JOBS = f"/apis/{BATCH}/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
WORDS = ("--no-leader-election", "--volcano-jobs", "--scheduler-name=volcano")


class Cluster:
    """A node, a strict kubelet, Volcano's definitions, and Phalanx."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self.plane, self._folder = plane, folder
        self.kubeconfig = grant(plane, Values(volcano_jobs=True))
        self.log = folder / "phalanx.log"
        self.running: list[Scheduler] = []

    def define(self) -> None:
        bases = module() / "config/crd/volcano/bases"
        self.plane.kubectl("apply", "--server-side", "-f", str(bases))
        self.plane.kubectl("wait", "--for=condition=Established", "crd", "--all")

    def start(self) -> Scheduler:
        self.running.append(Scheduler(self.kubeconfig, self.log, *WORDS))
        return self.running[-1]

    def make(self, name: str, *tasks: Any, **spec: Any) -> None:
        body = {"apiVersion": BATCH, "kind": "Job", "metadata": {"name": name, "namespace": "default"}}
        create_all(self.plane.kubeconfig, [{**body, "spec": {"tasks": list(tasks), **spec}}])

    def job(self, name: str) -> Manifest:
        found = list_all(self.plane.kubeconfig, JOBS)
        return next((one for one in found if one["metadata"]["name"] == name), {})

    def becomes(self, name: str, phase: str) -> dict[str, Any]:
        def look() -> Any:
            status = self.job(name).get("status") or {}
            return status if status.get("state", {}).get("phase") == phase else None

        found: dict[str, Any] = eventually(f"{name} is {phase}; now {self.job(name).get('status')}", look, self.log)
        return found

    def names(self, of: str) -> list[str]:
        pods = list_all(self.plane.kubeconfig, PODS)
        return sorted(one["metadata"]["name"] for one in pods if one["metadata"]["name"].startswith(f"{of}-"))

    def command(self, name: str, action: str) -> None:
        uid = self.job(name)["metadata"]["uid"]
        owner = {"apiVersion": BATCH, "kind": "Job", "name": name, "uid": uid, "controller": True}
        body = {
            "apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "action": action, "target": owner,
            "metadata": {"generateName": f"{name}-", "namespace": "default", "ownerReferences": [owner]},
        }  # fmt: skip
        self.plane.kubectl("create", "-f", "-", stdin=json.dumps(body))

    def end(self, phase: str, *pods: str, code: int = 0) -> None:
        for pod in pods:
            ended = {"exitCode": code, "startedAt": None, "finishedAt": None}
            container = {"name": "main", "ready": False, "restartCount": 0, "image": "x", "imageID": ""}
            status = {"phase": phase, "containerStatuses": [container | {"state": {"terminated": ended}}]}
            patch = json.dumps({"status": status})
            self.plane.kubectl("patch", "pod", pod, "--subresource=status", "--type=merge", "-p", patch)

    def events(self, reason: str) -> list[str]:
        def look() -> list[str]:
            found = list_all(self.plane.kubeconfig, "/apis/events.k8s.io/v1/namespaces/default/events")
            return [f"{one['regarding']['name']}: {one['note']}" for one in found if one["reason"] == reason]

        found: list[str] = eventually(f"an event {reason}", look, self.log)
        return found


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    need_binaries()
    with ControlPlane() as plane:
        create_all(plane.kubeconfig, [node_manifest("n1", gpus=8)])
        with StrictKubelet(plane.kubeconfig):
            found = Cluster(plane, tmp_path)
            yield found
            for scheduler in found.running:
                if scheduler.process.poll() is None:
                    scheduler.stop(signal.SIGKILL)


def test_jobs_run_are_answered_suspended_and_resumed_and_a_mistake_stops_only_its_own(cluster: Cluster) -> None:
    cluster.define()
    running = cluster.start()
    cluster.make("train", task("worker", 2), plugins={"svc": [], "env": []}, policies=[on("RestartJob", "PodFailed")])
    cluster.becomes("train", "Running")
    assert cluster.names("train") == ["train-worker-0", "train-worker-1"]
    cluster.end("Failed", "train-worker-0", code=3)
    eventually("it was restarted", lambda: cluster.job("train")["status"].get("retryCount") == 1, cluster.log)
    status = cluster.becomes("train", "Running")
    assert status["version"] == 1
    assert cluster.events("ExecuteAction") == [
        "train: RestartJob, because of PodFailed of train-worker-0 with exit code 3"
    ]
    cluster.command("train", "AbortJob")
    cluster.becomes("train", "Aborted")
    assert cluster.names("train") == []
    cluster.command("train", "ResumeJob")
    cluster.becomes("train", "Running")
    cluster.end("Succeeded", *cluster.names("train"))
    assert cluster.becomes("train", "Completed")["succeeded"] == 2
    eventually("it is cleared", lambda: not cluster.job("train")["status"].get("controlledResources"), cluster.log)
    cluster.make("wrong", task("worker", 1, dependsOn={"name": ["nobody"]}))
    cluster.make("right", task("worker", 1))
    cluster.becomes("right", "Running")
    line = "spec.tasks[0].dependsOn.name: found 'nobody', allowed is worker"
    assert cluster.events("Refused") == [f"wrong: {line}"]
    assert cluster.job("wrong")["status"]["state"]["message"] == line
    assert running.stop() == 0
    assert "Traceback" not in cluster.log.read_text()


def test_a_cron_job_makes_jobs_that_run_and_says_which(cluster: Cluster) -> None:
    cluster.define()
    running = cluster.start()
    spec = {
        "schedule": "@every 3s",
        "successfulJobsHistoryLimit": 0,
        "jobTemplate": {"spec": {"tasks": [task("w", 1)]}},
    }
    meta = {"name": "often", "namespace": "default"}
    cluster.plane.kubectl(
        "create", "-f", "-", stdin=json.dumps({"apiVersion": BATCH, "kind": "CronJob", "metadata": meta, "spec": spec})
    )

    def look() -> Any:
        (cron,) = list_all(cluster.plane.kubeconfig, JOBS.replace("/jobs", "/cronjobs"))
        return (cron.get("status") or {}).get("active")

    active = eventually("a Job is active", look, cluster.log)
    cluster.becomes(active[0]["name"], "Running")
    assert cluster.job(active[0]["name"])["metadata"]["ownerReferences"][0]["kind"] == "CronJob"
    cluster.plane.kubectl(
        "patch", "cronjobs.batch.volcano.sh", "often", "--type=merge", "-p", '{"spec":{"suspend":true}}'
    )
    cluster.end("Succeeded", *cluster.names(active[0]["name"]))
    eventually("no history is kept", lambda: not cluster.job(active[0]["name"]), cluster.log)
    assert running.stop() == 0
    assert "Traceback" not in cluster.log.read_text()


def test_it_rests_while_volcanos_own_controller_holds_its_lease(cluster: Cluster) -> None:
    cluster.define()
    create_all(cluster.plane.kubeconfig, [{
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "vc-controller-manager", "namespace": "kube-system"},
        "spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 4, "renewTime": "2026-11-01T12:00:00.000000Z"},
    }])  # fmt: skip
    cluster.start()
    cluster.make("theirs", task("worker", 1))
    eventually("it says so", lambda: "jobs-of-volcano-left-alone" in cluster.log.read_text(), cluster.log)
    assert cluster.job("theirs").get("status") is None
    # The lease is not renewed: after its four seconds nobody holds it.
    cluster.becomes("theirs", "Running")
    said = [line.split(" ")[1] for line in cluster.log.read_text().splitlines() if "jobs-of-volcano" in line]
    assert said == ["jobs-of-volcano-left-alone", "jobs-of-volcano-taken"]
