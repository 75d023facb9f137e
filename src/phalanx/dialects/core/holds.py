"""Hard constraints that are not honoured yet: a pod that has one is never bound, and says why.

A pod that was bound against its own rules cannot be taken back, so what is not understood is held.
"""

from collections.abc import Iterator

from phalanx.dialects.core import pod_objects
from phalanx.model.quantity import shown
from phalanx.model.task import Hold

_LATER = "not honoured by this version"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


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
    if spec.resource_claims:
        yield Hold("spec.resourceClaims", _LATER)


def _of_affinity(affinity: pod_objects.Affinity) -> Iterator[Hold]:
    if affinity.pod_affinity is not None and affinity.pod_affinity.required:
        yield Hold(f"spec.affinity.podAffinity.{_REQUIRED}", _LATER)
    if affinity.pod_anti_affinity is not None and affinity.pod_anti_affinity.required:
        yield Hold(f"spec.affinity.podAntiAffinity.{_REQUIRED}", _LATER)
