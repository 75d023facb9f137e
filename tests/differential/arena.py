"""A control plane with the real kube-scheduler, whose pods of the name `asked` are judged and never bound."""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from phalanx.kube.client import MERGE_PATCH, Client
from phalanx.kube.local import ControlPlane
from phalanx.testing.objects import Manifest, create_all, delete_all, list_all, path_of, with_client
from tests.differential.case import NAMESPACES, NEIGHBOUR, PRIORITIES, SCHEDULER, Case
from tests.differential.extender import Extender

_CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {{kubeconfig: kube-scheduler.kubeconfig, qps: 5000, burst: 5000}}
leaderElection: {{leaderElect: false}}
percentageOfNodesToScore: 100
podInitialBackoffSeconds: 600
podMaxBackoffSeconds: 600
profiles:
- {{schedulerName: {scheduler}, plugins: {{postFilter: {{disabled: [{{name: "*"}}]}}}}}}
- {{schedulerName: {neighbour}, plugins: {{postFilter: {{disabled: [{{name: "*"}}]}}}}}}
extenders:
- {{urlPrefix: "{url}", filterVerb: filter, bindVerb: bind, nodeCacheCapable: true, httpTimeout: 60s}}
"""
#: Nobody is there who would take its finalizers off, or would fill in a service account.
_ADMISSION = "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,StorageObjectInUseProtection"
#: The server takes fields only where their gate is on, and kube-scheduler looks at them only then.
_GATES = "--feature-gates=" + ",".join(
    f"{gate}=true"
    for gate in ("NodeDeclaredFeatures", "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport")
)
#: What a case may have made, in the order in which it goes: who is asked first, so that nobody asks again.
_KINDS = (
    "/api/v1/nodes",
    "/api/v1/persistentvolumes",
    "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/storage.k8s.io/v1/csinodes",
    "/apis/storage.k8s.io/v1/csidrivers",
    "/apis/storage.k8s.io/v1/volumeattachments",
)
_NAMESPACED = (
    "/api/v1/namespaces/{}/pods",
    "/api/v1/namespaces/{}/persistentvolumeclaims",
    "/apis/apps/v1/namespaces/{}/replicasets",
    "/api/v1/namespaces/{}/services",
    "/apis/storage.k8s.io/v1/namespaces/{}/csistoragecapacities",
)
#: Of these the server drops the status when they are made.
_STATED = {"PersistentVolume", "PersistentVolumeClaim", "Pod"}
_PATIENCE = 120.0


#: kube-scheduler's own words about each score, already weighed, and about their sum.
_LOGGED = re.compile(
    r'"(?:Plugin scored node for pod|Calculated node\'s final score for pod)" pod="(?P<pod>[^"]+)"'
    r'(?: plugin="(?P<plugin>[^"]+)")? node="(?P<node>[^"]+)" score=(?P<score>-?\d+)'
)


@dataclass
class Scored:
    """What kube-scheduler says of the nodes for a pod."""

    chosen: str
    #: By plugin and node; the sum of all has no plugin's name.
    scores: dict[str, dict[str, int]] = field(default_factory=dict)

    def take(self, plugin: str, node: str, score: int) -> None:
        """Take in one line."""
        self.scores.setdefault(plugin, {})[node] = score

    @property
    def best(self) -> set[str]:
        """Return the nodes with the most; empty where it had no choice, and scored none."""
        total = self.scores.get("", {})
        return {node for node, score in total.items() if score == max(total.values())}


@dataclass
class Arena:
    """A control plane, its kube-scheduler, and who looks on."""

    plane: ControlPlane
    extender: Extender

    @property
    def kubeconfig(self) -> Path:
        return self.plane.kubeconfig

    def stand(self, case: Case) -> None:
        """Make the cluster of a case."""
        # A pod needs its node's name alone, but a claim must be there before its pod is seen.
        for batch in case.batches:
            create_all(self.kubeconfig, batch)
            stated = [item for item in batch if item["kind"] in _STATED and "status" in item]
            with_client(self.kubeconfig, partial(_state, stated))
        # Each kind reaches kube-scheduler on a watch of its own. Who differs is asked again, so this only saves time.
        time.sleep(0.3)

    def ask(self, pods: Sequence[Manifest]) -> dict[str, set[str]]:
        """Return, for each pod, the nodes that passed all of kube-scheduler's filters."""
        create_all(self.kubeconfig, pods)
        wanted = {name_of(pod) for pod in pods}
        ends = time.monotonic() + _PATIENCE
        while missing := wanted - self.judged():
            assert time.monotonic() < ends, f"no word about {sorted(missing)[:5]}"
            time.sleep(0.1)
        return {name: self.extender.passed.get(name, set()) for name in wanted}

    def score(self, pods: Sequence[Manifest]) -> dict[str, "Scored"]:
        """Return how kube-scheduler scores the nodes that passed, and its choice; one pod after the other.

        One that is chosen for counts as placed until its bind has failed, so the next one is made after that.
        """
        said = len(self.plane.logs("kube-scheduler"))
        for pod in pods:
            self.ask([pod])
            delete_all(self.kubeconfig, [pod])
        found = {name_of(pod): Scored(self.extender.chosen.get(name_of(pod), "")) for pod in pods}
        for words in _LOGGED.finditer(self.plane.logs("kube-scheduler"), said):
            if words["pod"] in found:
                found[words["pod"]].take(words["plugin"] or "", words["node"], int(words["score"]))
        return found

    def judged(self) -> set[str]:
        """Return the pods of which kube-scheduler, or the API server for gates, has said something."""
        found = set()
        for pod in list_all(self.kubeconfig, "/api/v1/pods"):
            conditions = (pod.get("status") or {}).get("conditions") or []
            if any(one["type"] == "PodScheduled" for one in conditions):
                found.add(name_of(pod))
        return found

    def clear(self) -> None:
        """Remove everything that a case made."""
        for paths in ([path.format(name) for path in _NAMESPACED for name in NAMESPACES], _KINDS):
            with_client(self.kubeconfig, partial(_delete, paths))
        self.extender.passed.clear()
        self.extender.chosen.clear()


def name_of(pod: Manifest) -> str:
    """Return `namespace/name`."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


async def _state(items: Sequence[Manifest], client: Client) -> None:
    """Write what the server drops when objects are made."""
    for item in items:
        path = f"{path_of(item)}/{item['metadata']['name']}/status"
        body = msgspec.json.encode({"status": item["status"]})
        reply = await client.request("PATCH", path, body=body, content_type=MERGE_PATCH)
        assert reply.ok, reply.message


async def _delete(paths: Sequence[str], client: Client) -> None:
    for path in paths:
        await client.request("DELETE", path, query={"gracePeriodSeconds": "0"}, timeout=60.0)


@contextmanager
def arena(version: str | None = None, **options: Any) -> Iterator[Arena]:
    """Start all of it."""
    with TemporaryDirectory() as folder, Extender() as extender:
        config = Path(folder) / "config.yaml"
        config.write_text(_CONFIG.format(scheduler=SCHEDULER, neighbour=NEIGHBOUR, url=extender.url))
        flags = {
            "kube-apiserver": [_ADMISSION, _GATES],
            "kube-scheduler": [f"--config={config}", "--vmodule=schedule_one=10", _GATES],
        }
        words = [version] if version else []
        with ControlPlane(*words, controller_manager=False, scheduler=True, flags=flags, **options) as plane:
            namespaces = [
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
                for name, labels in NAMESPACES.items()
            ]
            classes = [
                {
                    "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
                    "value": value, "preemptionPolicy": policy,
                }
                for name, (value, policy) in PRIORITIES.items()
            ]  # fmt: skip
            create_all(plane.kubeconfig, [*namespaces, *classes])
            yield Arena(plane, extender)
