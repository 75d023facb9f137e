"""Hard constraints that are not honoured yet: a pod that has one is never bound, and says why.

A pod that was bound against its own rules cannot be taken back, so what is not understood is held.
"""

from collections.abc import Iterable, Iterator

from phalanx.dialects.core import pod_objects
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
_FREE = pod_objects.Volume()


def holds(pod: pod_objects.Pod) -> Iterator[Hold]:
    """Yield the constraints of the spec that this version does not honour."""
    spec = pod.spec
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


def _of_volumes(volumes: Iterable[pod_objects.Volume]) -> Iterator[Hold]:
    for index, volume in enumerate(volumes):
        for own, (name, why) in _VOLUMES.items() if volume != _FREE else ():
            if getattr(volume, own) is not None:
                yield Hold(f"spec.volumes[{index}].{name}", why)


def _of_affinity(affinity: pod_objects.Affinity) -> Iterator[Hold]:
    if affinity.pod_affinity is not None and affinity.pod_affinity.required:
        yield Hold(f"spec.affinity.podAffinity.{_REQUIRED}", _LATER)
    if affinity.pod_anti_affinity is not None and affinity.pod_anti_affinity.required:
        yield Hold(f"spec.affinity.podAntiAffinity.{_REQUIRED}", _LATER)
