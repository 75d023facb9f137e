"""Who is measured at a reclaim: two queues of the same quota in each system's own words, one pod per job."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.cluster import peers
from bench.cluster.contenders import Commands, python
from phalanx.kube.local import ControlPlane
from phalanx.kube.playground import grant
from phalanx.testing.objects import Manifest, create_all, pod_manifest

GPU = "nvidia.com/gpu"
#: Makes a job of one pod, given its name, its queue and its node; None: it waits.
Job = Callable[[str, str, str | None], list[Manifest]]
_VOLCANO_CONF = """\
actions: "enqueue, allocate, reclaim"
tiers:
- plugins:
  - name: priority
  # Of a job of one pod it would let nobody go.
  - {name: gang, enableReclaimable: false}
  - name: conformance
  - name: capacity
- plugins:
  - name: predicates
  - name: nodeorder
"""
_YUNIKORN_QUEUES = """\
partitions:
- name: default
  placementrules: [{{name: provided, create: false}}]
  queues:
  - name: root
    submitacl: "*"
    queues:
    - {{name: a, resources: {{guaranteed: {{nvidia.com/gpu: {half}}}}}, properties: {{preemption.delay: 1s}}}}
    - {{name: b, resources: {{guaranteed: {{nvidia.com/gpu: {half}}}}}, properties: {{preemption.delay: 1s}}}}
"""


@dataclass(frozen=True, slots=True)
class Reclaimer:
    """One row of the table."""

    name: str
    job: Job
    commands: Commands
    #: Makes the queues; the number is how many GPUs each is guaranteed.
    prepare: Callable[[ControlPlane, Path, int], None]


def _pod(
    name: str, node: str | None, scheduler: str, annotations: dict[str, str], labels: dict[str, str]
) -> list[Manifest]:
    pod = pod_manifest(name, scheduler=scheduler, node=node)
    pod["metadata"] |= {"annotations": annotations, "labels": labels}
    return [pod]


def _null_job(name: str, _: str, node: str | None) -> list[Manifest]:
    return _pod(name, node, "null", {}, {})


def _null(plane: ControlPlane, _: Path, *more: str) -> dict[str, Sequence[str]]:
    return {"null": python(str(Path(__file__).with_name("null_reclaimer.py")), str(plane.kubeconfig), *more)}


def _nothing(plane: ControlPlane, folder: Path, half: int) -> None:
    del plane, folder, half


def _phalanx_job(name: str, queue: str, node: str | None) -> list[Manifest]:
    return _pod(name, node, "phalanx", {}, {"phalanx.dev/queue": queue})


def _phalanx_prepare(plane: ControlPlane, _: Path, half: int) -> None:
    grant(plane)
    plane.kubectl("wait", "--for=condition=Established", "crd/queues.scheduling.phalanx.dev")
    spec = {"resources": {GPU: {"quota": half}}}
    create_all(
        plane.kubeconfig, [peers.custom("scheduling.phalanx.dev/v1alpha1", "Queue", name, spec) for name in ("a", "b")]
    )


def _phalanx(plane: ControlPlane, _: Path) -> dict[str, Sequence[str]]:
    words = ("--kubeconfig", str(plane.kubeconfig), "--no-leader-election", "--port", "0")
    return {"phalanx": python("-m", "phalanx", "run", *words)}


def _volcano_job(name: str, queue: str, node: str | None) -> list[Manifest]:
    spec = {"minMember": 1, "queue": queue}
    group = peers.custom("scheduling.volcano.sh/v1beta1", "PodGroup", name, spec, namespace="default")
    annotations = {"scheduling.k8s.io/group-name": name, "volcano.sh/preemptable": "true"}
    return [group, *_pod(name, node, "volcano", annotations, {})]


def _volcano_prepare(plane: ControlPlane, folder: Path, half: int) -> None:
    queues = {name: {"weight": 1, "reclaimable": True, "deserved": {GPU: str(half)}} for name in ("a", "b")}
    peers.volcano_queues(plane, {"root": {"weight": 1}} | queues)
    (folder / "volcano").mkdir()
    (folder / "volcano" / "volcano-scheduler.conf").write_text(_VOLCANO_CONF)


def _kai_job(name: str, queue: str, node: str | None) -> list[Manifest]:
    spec = {"minMember": 1, "queue": queue, "priorityClassName": "train"}
    group = peers.custom("scheduling.run.ai/v2alpha2", "PodGroup", name, spec, namespace="default")
    return [group, *_pod(name, node, "kai-scheduler", {"pod-group-name": name}, {"kai.scheduler/queue": queue})]


def _kai_prepare(plane: ControlPlane, _: Path, half: int) -> None:
    unlimited = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    gpus = {"quota": half, "limit": -1, "overQuotaWeight": 1}
    peers.kai_queues(plane, {name: {"gpu": gpus, "cpu": unlimited, "memory": unlimited} for name in ("a", "b")})


def _yunikorn_job(name: str, queue: str, node: str | None) -> list[Manifest]:
    return _pod(name, node, "yunikorn", {}, {"applicationId": name, "queue": f"root.{queue}"})


def _yunikorn_prepare(plane: ControlPlane, _: Path, half: int) -> None:
    peers.yunikorn_config(plane, _YUNIKORN_QUEUES.format(half=half))


NULL = Reclaimer("API server alone", _null_job, _null, _nothing)
PLACES = Reclaimer(
    "API server alone with places", _null_job, lambda plane, path: _null(plane, path, "--places"), _nothing
)
PHALANX = Reclaimer("Phalanx", _phalanx_job, _phalanx, _phalanx_prepare)
PEERS = (
    Reclaimer("Volcano", _volcano_job, peers.volcano, _volcano_prepare),
    Reclaimer("KAI", _kai_job, peers.kai, _kai_prepare),
    Reclaimer("YuniKorn", _yunikorn_job, peers.yunikorn, _yunikorn_prepare),
)
