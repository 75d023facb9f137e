"""Backlogs in the shapes of Kubernetes' own scheduler benchmark: pods that look at other pods, at domains, at volumes.

Its nodes (4 cores, 32 Gi, 110 pods, three zones) and its pods (100m, 500 Mi), in smaller numbers. Pods that are there
already are put on their nodes by us, in turn, so that everybody starts from the same cluster.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.cluster.settings import Size
from phalanx.kube.local import node_manifest
from phalanx.testing.objects import Manifest, pod_manifest

_ZONE, _HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_REQUESTS = {"cpu": "100m", "memory": "500Mi"}
_COLOUR = {"color": "blue"}
_BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
_DRIVER = "ebs.csi.aws.com"

#: What the pods of a shape have in their spec.
Spec = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """One shape of pods."""

    name: str
    #: Of the pods that wait, by number.
    spec: Callable[[int], Spec]
    #: Those that run already have it too.
    running: bool = True
    zones: int = 3
    #: One claim and its volume for each pod, by the pod's name.
    volumes: bool = False


def _apart(_: int) -> Spec:
    return {"affinity": {"podAntiAffinity": {_REQUIRED: [_term(_HOST)]}}}


def _together(_: int) -> Spec:
    return {"affinity": {"podAffinity": {_REQUIRED: [_term(_ZONE)]}}}


def _spread(when: str) -> Callable[[int], Spec]:
    constraint = {"maxSkew": 5, "topologyKey": _ZONE, "whenUnsatisfiable": when}
    return lambda _: {"topologySpreadConstraints": [constraint | {"labelSelector": {"matchLabels": _COLOUR}}]}


def _claiming(number: int) -> Spec:
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": f"claim-{number:05}"}}]}


def _term(key: str) -> Spec:
    return {"topologyKey": key, "labelSelector": {"matchLabels": _COLOUR}}


SHAPES = (
    Shape("SchedulingPodAntiAffinity", _apart),
    Shape("SchedulingPodAffinity", _together, zones=1),
    Shape("TopologySpreading", _spread("DoNotSchedule"), running=False),
    Shape("PreferredTopologySpreading", _spread("ScheduleAnyway"), running=False),
    Shape("SchedulingCSIPVs", _claiming, volumes=True),
)


def machines(shape: Shape, size: Size) -> list[Manifest]:
    """Return the nodes, and what is said of the volumes that they can attach."""
    made: list[Manifest] = []
    for number in range(size.nodes):
        name, zone = f"node-{number:05}", f"zone-{number % shape.zones}"
        made.append(node_manifest(name, gpus=0, cpu="4", memory="32Gi", zone=zone))
        if shape.volumes:
            driver = {"name": _DRIVER, "nodeID": name, "allocatable": {"count": 39}, "topologyKeys": []}
            metadata = {"name": name}
            spec = {"drivers": [driver]}
            made.append({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": metadata, "spec": spec})
    return made


def crowd(shape: Shape, size: Size, there: int, scheduler: str) -> list[Manifest]:
    """Return the pods that run already, then those that wait, with their volumes before them."""
    made: list[Manifest] = []
    for number in range(there + size.pods):
        runs = number < there
        spec = shape.spec(number) if shape.running or not runs else {}
        node = f"node-{number % size.nodes:05}" if runs else None
        name = f"running-{number:05}" if runs else f"waiting-{number:05}"
        pod = pod_manifest(name, scheduler="someone" if runs else scheduler, requests=_REQUESTS, node=node, **spec)
        pod["metadata"]["labels"] = dict(_COLOUR)
        made += [*(_volume(number) if shape.volumes else ()), pod]
    return made


def _volume(number: int) -> list[Manifest]:
    """Return a claim that is bound, and its volume."""
    volume, claim = f"volume-{number:05}", f"claim-{number:05}"
    common = {"accessModes": ["ReadOnlyMany"], "storageClassName": ""}
    reference = {"kind": "PersistentVolumeClaim", "name": claim, "namespace": "default"}
    return [
        {
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume},
            "spec": {
                **common, "capacity": {"storage": "1Gi"}, "claimRef": reference,
                "csi": {"driver": _DRIVER, "volumeHandle": volume},
            },
        },
        {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": claim, "namespace": "default", "annotations": _BOUND},
            "spec": {**common, "resources": {"requests": {"storage": "1Gi"}}, "volumeName": volume},
        },
    ]  # fmt: skip
