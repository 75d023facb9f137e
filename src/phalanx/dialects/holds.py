"""Hard constraints that are not honoured yet: a pod that has one is never bound, and says why.

A pod that was bound against its own rules cannot be taken back, so what is not understood is held.
"""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from phalanx.dialects import kai_pods, native, objects
from phalanx.model.quantity import shown
from phalanx.model.task import Hold

_LATER = "not honoured by this version"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

#: Volume field of ours -> the field's name in the object, and why it ties the pod to some nodes.
_VOLUMES = {
    "persistent_volume_claim": ("persistentVolumeClaim", "claims are not read by this version, bound ones neither"),
    "ephemeral": ("ephemeral", "claims are not read by this version, bound ones neither"),
    "gce_persistent_disk": ("gcePersistentDisk", _LATER),
    "aws_elastic_block_store": ("awsElasticBlockStore", _LATER),
    "azure_disk": ("azureDisk", _LATER),
    "cinder": ("cinder", _LATER),
    "iscsi": ("iscsi", _LATER),
    "rbd": ("rbd", _LATER),
    "vsphere_volume": ("vsphereVolume", _LATER),
}

#: A volume that is the same on every node.
_FREE = objects.Volume()

#: Annotations and labels by which other systems mark a gang or a part of a GPU.
_ANNOTATIONS = {
    "gpu-fraction": "parts of a GPU are not given out by this version",
    "gpu-memory": "parts of a GPU are not given out by this version",
    "gpu-fraction-num-devices": "parts of a GPU are not given out by this version",
    "scheduling.k8s.io/group-name": "gangs of Volcano are not read by this version",
    "gang.scheduling.koordinator.sh/name": "gangs of Koordinator are not read by this version",
    "yunikorn.apache.org/task-group-name": "gangs of YuniKorn are not read by this version",
    "yunikorn.apache.org/task-groups": "gangs of YuniKorn are not read by this version",
    native.TOPOLOGY_REQUIRED: _LATER,
}
_LABELS = {
    "pod-group.scheduling.sigs.k8s.io": "gangs of coscheduling are not read by this version",
    "pod-group.scheduling.sigs.k8s.io/name": "gangs of coscheduling are not read by this version",
    "scheduling.x-k8s.io/pod-group": "gangs of coscheduling are not read by this version",
    "kueue.x-k8s.io/pod-group-name": "gangs of Kueue are not read by this version",
}


def hold(pod: objects.Pod) -> Hold | None:
    """Return the first constraint that this version does not honour, or None."""
    annotations, labels = pod.metadata.annotations or {}, pod.metadata.labels or {}
    return (
        next(_of_spec(pod.spec), None)
        or next(_of_two_gangs(pod.spec, annotations), None)
        or next(_of_markers(annotations, labels), None)
    )


def _of_spec(spec: objects.PodSpec) -> Iterator[Hold]:
    if spec.scheduling_gates:
        names = ", ".join(shown(gate.name or "") for gate in spec.scheduling_gates[:3])
        yield Hold("spec.schedulingGates", f"waits until {names} is lifted")
    if spec.affinity is not None:
        yield from _of_affinity(spec.affinity)
    for index, spread in enumerate(spec.topology_spread_constraints or ()):
        if spread.when_unsatisfiable != "ScheduleAnyway":
            yield Hold(f"spec.topologySpreadConstraints[{index}]", f"DoNotSchedule is {_LATER}")
    yield from _of_volumes(spec.volumes or ())
    if spec.resource_claims:
        yield Hold("spec.resourceClaims", _LATER)
    yield from _of_node_features(spec)


def _of_volumes(volumes: Iterable[objects.Volume]) -> Iterator[Hold]:
    for index, volume in enumerate(volumes):
        for own, (name, why) in _VOLUMES.items() if volume != _FREE else ():
            if getattr(volume, own) is not None:
                yield Hold(f"spec.volumes[{index}].{name}", why)


def _of_affinity(affinity: objects.Affinity) -> Iterator[Hold]:
    if affinity.pod_affinity is not None and affinity.pod_affinity.required:
        yield Hold(f"spec.affinity.podAffinity.{_REQUIRED}", _LATER)
    if affinity.pod_anti_affinity is not None and affinity.pod_anti_affinity.required:
        yield Hold(f"spec.affinity.podAntiAffinity.{_REQUIRED}", _LATER)


def _of_node_features(spec: objects.PodSpec) -> Iterator[Hold]:
    """Yield what only nodes that declare the feature can run; their declarations are not read."""
    if spec.host_users is False and spec.host_network:
        yield Hold("spec.hostUsers", f"false together with hostNetwork is {_LATER}")
    for listed, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for index, container in enumerate(containers or ()):
            for rule in container.restart_policy_rules or ():
                if rule.action == "RestartAllContainers":
                    yield Hold(f"spec.{listed}[{index}].restartPolicyRules", f"RestartAllContainers is {_LATER}")


def _of_two_gangs(spec: objects.PodSpec, annotations: dict[str, str]) -> Iterator[Hold]:
    references = (
        ("spec.schedulingGroup", spec.scheduling_group),
        ("spec.workloadRef", spec.workload_ref),
        (f"metadata.annotations[{kai_pods.POD_GROUP}]", annotations.get(kai_pods.POD_GROUP)),
    )
    named = [field for field, value in references if value is not None]
    given = [key for key in native.DEFINING if key in annotations]
    # A gang with its minimum can be compared with what the object of the reference says; anything less cannot.
    if named and given[:2] != [native.GANG, native.MINIMUM]:
        named += [f"metadata.annotations[{key}]" for key in given]
    if len(named) > 1:
        yield Hold(named[0], f"contradicts {named[1]}: a pod is in one gang, and one of them says which")


def _of_markers(annotations: dict[str, str], labels: dict[str, str]) -> Iterator[Hold]:
    if native.GANG not in annotations:
        for key in (native.MINIMUM, native.MAXIMUM, native.SUBGROUP, native.SUBGROUP_MINIMUM):
            if key in annotations:
                yield Hold(f"metadata.annotations[{key}]", f"means nothing without {native.GANG}")
    for key in sorted(annotations):
        if key in _ANNOTATIONS:
            yield Hold(f"metadata.annotations[{key}]", _ANNOTATIONS[key])
        elif key.startswith(native.PREFIX) and key not in native.ANNOTATIONS:
            yield _unknown("annotation", key, native.ANNOTATIONS, ("label", (native.QUEUE,)))
    for key in sorted(labels):
        if key in _LABELS:
            yield Hold(f"metadata.labels[{key}]", _LABELS[key])
        elif key.startswith(native.PREFIX) and key != native.QUEUE:
            yield _unknown("label", key, (native.QUEUE,), ("annotation", native.ANNOTATIONS))


def _unknown(kind: str, key: str, known: tuple[str, ...], other: tuple[str, tuple[str, ...]]) -> Hold:
    """Return the hold for a key of ours that does not exist: a slip there would lose a whole gang."""
    field = f"metadata.{kind}s[{key if key.isascii() and key.isprintable() and len(key) < 80 else shown(key)}]"
    if key in other[1]:
        return Hold(field, f"is read as {other[0]} only, not as {kind}")
    near = get_close_matches(key[:80], known, n=1)
    meant = f", did you mean {near[0]}? Known" if near else "; known"
    names = ", ".join(one.removeprefix(native.PREFIX) for one in known)
    return Hold(field, f"unknown {kind}{meant} under {native.PREFIX} are {names}")
