"""The row of Koordinator."""

from collections.abc import Iterator

from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.dialect import Dialect, Kind, Version
from phalanx.dialects.koordinator import devices, numa, parts, telling
from phalanx.model.events import DevicesGone
from phalanx.model.task import Hold


def _holds(pod: Pod) -> Iterator[Hold]:
    yield from parts.holds(pod)
    yield from numa.holds(pod)


KOORDINATOR = Dialect(
    name="koordinator",
    kinds=(
        Kind(
            kind=devices.KIND,
            group=devices.GROUP,
            plural="devices",
            namespaced=False,
            versions=(Version("v1alpha1", devices.DeviceObject, devices.read_devices),),
            gone=DevicesGone,
        ),
    ),
    part=parts.part,
    groups=parts.groups,
    sides=(telling.NODE_SIDE,),
    wishes=numa.wishes,
    holds=_holds,
)
