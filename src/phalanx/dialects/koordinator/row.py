"""The row of Koordinator."""

from phalanx.dialects.dialect import Dialect, Kind, Version
from phalanx.dialects.koordinator import devices, parts
from phalanx.model.events import DevicesGone

KOORDINATOR = Dialect(
    name="koordinator",
    kinds=(
        Kind(
            kind=devices.KIND,
            group=devices.GROUP,
            plural="devices",
            namespaced=False,
            # On a cluster nobody reads them yet: the parts for which they matter are not given out there.
            versions=(Version("v1alpha1", devices.DeviceObject, devices.read_devices, watched=False),),
            gone=DevicesGone,
        ),
    ),
    part=parts.part,
    groups=parts.groups,
    holds=parts.holds,
)
