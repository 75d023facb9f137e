"""Other gang schedulers, built from their own modules: what each needs on a fresh control plane, and how it is started.

Client limits are raised for all alike; otherwise each runs with the configuration that it ships.
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.cluster.building import Source, build
from bench.cluster.contenders import Contender
from phalanx.kube.local import ControlPlane
from phalanx.testing.objects import Manifest, create_all, pod_manifest

_QPS = "5000"
_NAMESPACE = {"namespace": "default"}

_VOLCANO = Source(
    "volcano.sh/volcano",
    "v1.14.1",
    {"volcano-scheduler": "./cmd/scheduler"},
    ("volcano.sh/apis=volcano.sh/apis@v1.14.0",),
)
_KAI = Source(
    "github.com/NVIDIA/KAI-scheduler", "v0.12.0", {"kai-scheduler": "./cmd/scheduler", "kai-binder": "./cmd/binder"}
)
_YUNIKORN = Source("github.com/apache/yunikorn-k8shim", "v1.8.0", {"yunikorn": "./pkg/cmd/shim"})

_KAI_UNLIMITED = {key: {"quota": -1, "limit": -1, "overQuotaWeight": 1} for key in ("gpu", "cpu", "memory")}

_YUNIKORN_QUEUES = """\
partitions:
- name: default
  placementrules: [{name: tag, value: namespace, create: true}]
  queues: [{name: root, submitacl: "*"}]
"""


def _members(
    name: str, size: int, scheduler: str, annotations: dict[str, str], labels: dict[str, str] | None = None
) -> list[Manifest]:
    made = []
    for number in range(size):
        pod = pod_manifest(f"{name}-{number}", scheduler=scheduler)
        pod["metadata"] |= {"annotations": annotations, "labels": labels or {}}
        made.append(pod)
    return made


def custom(version: str, kind: str, name: str, spec: dict[str, Any], **metadata: str) -> Manifest:
    """Return an object that only has a spec."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def _install(plane: ControlPlane, folder: Path) -> None:
    """Install custom resources, and wait until the server serves them."""
    plane.kubectl("create", "-f", str(folder))
    # `kubectl wait` gives up on a resource that has no conditions yet.
    time.sleep(2.0)
    plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")


def _volcano_gang(name: str, size: int) -> list[Manifest]:
    spec = {"minMember": size, "queue": "default"}
    group = custom("scheduling.volcano.sh/v1beta1", "PodGroup", name, spec, **_NAMESPACE)
    return [group, *_members(name, size, "volcano", {"scheduling.k8s.io/group-name": name})]


def volcano_queues(plane: ControlPlane, queues: dict[str, dict[str, Any]]) -> None:
    """Install Volcano's resources and open these queues."""
    _install(plane, build(_VOLCANO) / "config/crd/volcano/bases")
    kind = "queues.scheduling.volcano.sh"
    for queue, spec in queues.items():
        create_all(plane.kubeconfig, [custom("scheduling.volcano.sh/v1beta1", "Queue", queue, spec)])
        # Its controller would say so; nothing is allocated in a queue that is not open.
        opened = json.dumps({"status": {"state": "Open"}})
        plane.kubectl("patch", kind, queue, "--subresource=status", "--type=merge", "-p", opened)


def _volcano_prepare(plane: ControlPlane, folder: Path) -> None:
    volcano_queues(plane, {"root": {"weight": 1}, "default": {"weight": 1, "parent": "root"}})
    # In a folder where nobody else writes: any write there makes it read its configuration again.
    (folder / "volcano").mkdir()
    shipped = build(_VOLCANO) / "installer/helm/chart/volcano/config/volcano-scheduler.conf"
    (folder / "volcano" / "volcano-scheduler.conf").write_text(shipped.read_text())


def volcano(plane: ControlPlane, folder: Path) -> dict[str, Sequence[str]]:
    """Return Volcano's command line; its configuration was written before."""
    sources, config = build(_VOLCANO), folder / "volcano" / "volcano-scheduler.conf"
    words = [
        f"--kubeconfig={plane.kubeconfig}", f"--scheduler-conf={config}", "--leader-elect=false",
        "--cache-dumper=false", f"--kube-api-qps={_QPS}", f"--kube-api-burst={_QPS}",
    ]  # fmt: skip
    return {"volcano": [str(sources / "bin/volcano-scheduler"), *words]}


def _kai_gang(name: str, size: int) -> list[Manifest]:
    spec = {"minMember": size, "queue": "leaf", "priorityClassName": "train"}
    group = custom("scheduling.run.ai/v2alpha2", "PodGroup", name, spec, **_NAMESPACE)
    return [group, *_members(name, size, "kai-scheduler", {"pod-group-name": name}, {"kai.scheduler/queue": "leaf"})]


def kai_queues(plane: ControlPlane, leaves: dict[str, dict[str, Any]]) -> None:
    """Install KAI's resources and make queues of these resources under one parent."""
    _install(plane, build(_KAI) / "deployments/kai-scheduler/crds")
    train = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "train"}, "value": 50}
    names = ("kai-scheduler", "kai-resource-reservation")
    namespaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in names]
    parent = custom("scheduling.run.ai/v2", "Queue", "parent", {"resources": _KAI_UNLIMITED})
    queues = [
        custom("scheduling.run.ai/v2", "Queue", name, {"resources": resources, "parentQueue": "parent"})
        for name, resources in leaves.items()
    ]
    create_all(plane.kubeconfig, [*namespaces, train, parent, *queues])


def _kai_prepare(plane: ControlPlane, _: Path) -> None:
    kai_queues(plane, {"leaf": _KAI_UNLIMITED})


def kai(plane: ControlPlane, _: Path) -> dict[str, Sequence[str]]:
    """Return the command lines of KAI's scheduler and binder."""
    programs = build(_KAI) / "bin"
    where = ["env", f"KUBECONFIG={plane.kubeconfig}"]
    limits = [f"--qps={_QPS}", f"--burst={_QPS}"]
    return {
        "kai-scheduler": [
            *where, str(programs / "kai-scheduler"), *limits, "--listen-address=127.0.0.1:0", "--plugin-server-port=0",
        ],
        "kai-binder": [
            *where, str(programs / "kai-binder"), *limits, "--max-concurrent-reconciles=48",
            "--metrics-bind-address=0", "--health-probe-bind-address=0",
        ],
    }  # fmt: skip


def _yunikorn_gang(name: str, size: int) -> list[Manifest]:
    """Every member tells of the whole group, as its own examples do."""
    least = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}
    groups = json.dumps([{"name": "workers", "minMember": size, "minResource": least}])
    annotations = {"yunikorn.apache.org/task-group-name": "workers", "yunikorn.apache.org/task-groups": groups}
    return _members(name, size, "yunikorn", annotations, {"applicationId": name, "queue": "root.default"})


def yunikorn_config(plane: ControlPlane, queues: str) -> None:
    """Tell YuniKorn of its queues."""
    data = {"queues.yaml": queues, "kubernetes.qps": _QPS, "kubernetes.burst": _QPS}
    metadata = {"name": "yunikorn-configs", "namespace": "default"}
    create_all(plane.kubeconfig, [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}])


def _yunikorn_prepare(plane: ControlPlane, _: Path) -> None:
    yunikorn_config(plane, _YUNIKORN_QUEUES)


def yunikorn(plane: ControlPlane, _: Path) -> dict[str, Sequence[str]]:
    """Return YuniKorn's command line."""
    where = ["env", f"KUBECONFIG={plane.kubeconfig}", "NAMESPACE=default"]
    return {"yunikorn": [*where, str(build(_YUNIKORN) / "bin/yunikorn")]}


PEERS = (
    Contender("Volcano", _volcano_gang, volcano, _volcano_prepare, version=_VOLCANO.version),
    Contender("KAI", _kai_gang, kai, _kai_prepare, version=_KAI.version),
    Contender("YuniKorn", _yunikorn_gang, yunikorn, _yunikorn_prepare, version=_YUNIKORN.version),
)
