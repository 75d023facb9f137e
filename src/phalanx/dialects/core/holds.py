"""Hard constraints that are not honoured yet: a pod that has one is never bound, and says why.

A pod that was bound against its own rules cannot be taken back, so what is not understood is held.
"""

from collections.abc import Iterator

from phalanx.dialects.core import pod_objects
from phalanx.model.quantity import shown
from phalanx.model.task import Hold

_LATER = "not honoured by this version"


def holds(pod: pod_objects.Pod) -> Iterator[Hold]:
    """Yield the constraints of the spec that this version does not honour."""
    spec = pod.spec
    if spec.scheduling_gates:
        names = ", ".join(shown(gate.name or "") for gate in spec.scheduling_gates[:3])
        yield Hold("spec.schedulingGates", f"waits until {names} is lifted")
    if spec.resource_claims:
        yield Hold("spec.resourceClaims", _LATER)
