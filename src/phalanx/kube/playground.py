"""A cluster for people who have none: a real control plane, pretend GPU nodes, and Phalanx scheduling them."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from phalanx.kube.install import Installation, objects
from phalanx.kube.installation.values import Values
from phalanx.kube.local import ControlPlane, LocalError, node_manifest
from phalanx.kube.local.folders import temporary_folder
from phalanx.kube.local.processes import Processes

#: How long the scheduler may take until it leads, on a machine that is busy with other things.
LEADS_WITHIN = 120.0
#: How long the first gang of the example runs, so that somebody who watches sees the second one start.
_RUNTIME = "2m"
_NAMESPACE = "phalanx-system"
_USER = f"system:serviceaccount:{_NAMESPACE}:phalanx"
#: What needs a node that can pull our image; here the scheduler is a process.
_IN_PODS = {"Deployment", "PodDisruptionBudget"}


@dataclass(frozen=True, slots=True)
class Size:
    """The pretend nodes: how many, with how many GPUs of which model, in how many racks."""

    nodes: int = 8
    gpus: int = 8
    model: str = "H100"
    racks: int = 2

    def manifests(self) -> list[dict[str, Any]]:
        """Return the nodes, as evenly over the racks as they go."""
        digits = len(str(self.nodes))
        return [
            node_manifest(
                f"gpu-{number + 1:0{digits}}",
                gpus=self.gpus,
                model=self.model,
                rack=f"rack-{number * self.racks // self.nodes + 1}",
            )
            for number in range(self.nodes)
        ]


@dataclass(frozen=True, slots=True)
class Playground:
    """What runs, for as long as the block lasts."""

    plane: ControlPlane
    #: Manifests to try: two gangs that do not fit at the same time.
    example: Path
    _processes: Processes

    def log(self) -> str:
        """Return all that the scheduler has said."""
        return self._processes.log("phalanx")

    def check(self) -> None:
        """Raise when the scheduler has ended by itself."""
        self._processes.check()


@contextmanager
def playground(version: str, size: Size, policy: str) -> Iterator[Playground]:
    """Start everything and yield when Phalanx leads; nothing outlives the block or this process."""
    with ControlPlane(version, scheduler=True, kwok=True, flags=without_job_groups(version)) as plane:
        nodes = {"apiVersion": "v1", "kind": "List", "items": size.manifests()}
        plane.kubectl("create", "-f", "-", stdin=json.dumps(nodes))
        kubeconfig = grant(plane)
        folder = temporary_folder()
        with closing(Processes(folder, removed_at_end=True)) as processes:
            manifest = folder / "example.yaml"
            manifest.write_text("---\n".join(yaml.safe_dump(pod, sort_keys=False) for pod in example(size)))
            run = ["run", f"--kubeconfig={kubeconfig}", f"--policy={policy}", "--port=0"]
            processes.start("phalanx", [sys.executable, "-m", "phalanx", *run])
            running = Playground(plane, manifest, processes)
            _wait_until_it_leads(running)
            yield running


def without_job_groups(version: str) -> dict[str, list[str]]:
    """Return flags that turn an alpha gate off, as in most clusters: with it Jobs' pods get a PodGroup as well."""
    # 1.35 does not know the gate, and refuses to start with it.
    return {} if version == "1.35" else {"kube-controller-manager": ["--feature-gates=WorkloadWithJob=false"]}


def grant(plane: ControlPlane, values: Values | None = None) -> Path:
    """Give the service account the rights that `phalanx install` prints; return a kubeconfig of that user."""
    installation = Installation(namespace=_NAMESPACE, values=values or Values())
    wanted = [item for item in objects(installation) if item["kind"] not in _IN_PODS]
    plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(wanted))
    return plane.user(_USER, ["system:serviceaccounts", f"system:serviceaccounts:{_NAMESPACE}"])


def example(size: Size) -> list[dict[str, Any]]:
    """Return the pods of two gangs, each taking a whole node: half of the nodes for a while, then all of them.

    Pods and not Jobs: kubectl makes them in this order, so that the first gang is the first to be whole. Should both
    be seen whole at once, made within the same second, names decide: the first gang's comes first.
    """
    return [*_gang("finetune", (size.nodes + 1) // 2, size.gpus, _RUNTIME), *_gang("pretrain", size.nodes, size.gpus)]


def _gang(name: str, pods: int, gpus: int, runtime: str | None = None) -> list[dict[str, Any]]:
    annotations = {"phalanx.dev/gang": name, "phalanx.dev/minimum": str(pods)}
    if runtime is not None:
        annotations["phalanx.dev/expected-runtime"] = runtime
    resources = {"limits": {"nvidia.com/gpu": str(gpus)}}
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-{number}", "annotations": dict(annotations)},
            "spec": {
                "schedulerName": "phalanx",
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "example.com/train:1", "resources": resources}],
            },
        }
        for number in range(pods)
    ]


def _wait_until_it_leads(running: Playground) -> None:
    until = time.monotonic() + LEADS_WITHIN
    while " leading " not in running.log():
        running.check()
        if time.monotonic() > until:
            raise LocalError(f"phalanx run does not lead after {LEADS_WITHIN:.0f} s; its last words:\n{running.log()}")
        time.sleep(0.1)
