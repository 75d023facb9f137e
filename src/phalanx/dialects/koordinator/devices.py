"""Koordinator's Device (`scheduling.koordinator.sh/v1alpha1`): every device of the node of its name."""

from typing import Any

from msgspec import Struct, field

from phalanx.dialects.core import objects
from phalanx.dialects.core.percented_devices import MODEL, NVIDIA, VENDOR
from phalanx.dialects.koordinator.parts import SIDE
from phalanx.dialects.mistakes import FieldError, check_name, under
from phalanx.model.axis import GPU
from phalanx.model.device import DEVICES_MAX, UNKNOWN, Device
from phalanx.model.events import DevicesSeen
from phalanx.model.quantity import QuantityError, capacity, shown
from phalanx.model.reference import Reference

GROUP, KIND = "scheduling.koordinator.sh", "Device"
_TYPE = "gpu"
_MEMORY = "koordinator.sh/gpu-memory"
_MINOR_MAX = 4096


class Topology(Struct, gc=False):
    """Where a device sits."""

    node: objects.Int32 | None = field(default=None, name="nodeID")
    switch: str | None = field(default=None, name="pcieID")


class Listed(Struct, gc=False):
    """One device."""

    type: str | None = None
    id: str | None = None
    minor: Any = None
    health: bool = False
    resources: objects.Amounts = None
    topology: Topology | None = None


class Spec(Struct, gc=False):
    """What a Device says."""

    devices: list[Listed] | None = None


class DeviceObject(Struct, gc=False):
    """A Device."""

    metadata: objects.Metadata
    spec: Spec | None = None


def read_devices(one: DeviceObject) -> DevicesSeen:
    """Return the GPUs of a node; none of another vendor's, whose resource nobody names."""
    meta = one.metadata
    check_name(meta.name, "metadata.name")
    labels, listed = meta.labels or {}, (one.spec.devices if one.spec else None) or []
    gpus = [(f"spec.devices[{at}]", each) for at, each in enumerate(listed) if each.type == _TYPE]
    if len(gpus) > DEVICES_MAX:
        raise FieldError("spec.devices", f"found {len(gpus)} GPUs, allowed are at most {DEVICES_MAX}")
    # What shares a PCIe switch has the fastest link that is known.
    switches = sorted({_place(each) for _, each in gpus if _place(each)[1]})
    found: dict[int, Device] = {}
    for path, each in gpus:
        minor, place = _minor(each, path), _place(each)
        if minor in found:
            raise FieldError(f"{path}.minor", f"found {minor} for the second time, allowed is one device of a number")
        found[minor] = Device(
            GPU, minor, id=_id(each, path), model=labels.get(MODEL, ""), memory=_memory(each, path), numa=place[0],
            group=switches.index(place) if place[1] else UNKNOWN, healthy=each.health,
        )  # fmt: skip
    ours = labels.get(VENDOR, NVIDIA) == NVIDIA
    devices = tuple(found[minor] for minor in sorted(found)) if ours else ()
    return DevicesSeen(Reference(f"{KIND}.{GROUP}", meta.name), devices, meta.uid or "", SIDE)


def _place(one: Listed) -> tuple[int, str]:
    """Return its NUMA node and its PCIe switch."""
    where = one.topology or Topology()
    return (UNKNOWN if where.node is None else max(where.node, UNKNOWN), where.switch or "")


def _minor(one: Listed, path: str) -> int:
    minor = one.minor
    if isinstance(minor, bool) or not isinstance(minor, int) or not 0 <= minor <= _MINOR_MAX:
        raise FieldError(f"{path}.minor", f"found {shown(minor)}, allowed is a whole number from 0 to {_MINOR_MAX}")
    return minor


def _id(one: Listed, path: str) -> str:
    if one.id is not None and (len(one.id) > 128 or not one.id.isprintable()):
        raise FieldError(f"{path}.id", f"found {shown(one.id)}, allowed is a short word")
    return one.id or ""


def _memory(one: Listed, path: str) -> int:
    value = (one.resources or {}).get(_MEMORY)
    if value is None:
        return 0
    try:
        return capacity(value, _MEMORY)
    except QuantityError as error:
        raise FieldError(under(f"{path}.resources", _MEMORY), str(error)) from None
