"""Percented devices: Koordinator writes on a node how many percent of GPUs it has, and how much memory, all in all.

Whole hundreds are GPUs. Where the device plugin counts GPUs too, its count decides, as ever.
"""

from collections.abc import Mapping

from phalanx.model.axis import GPU, Amounts, unit
from phalanx.model.device import DEVICES_MAX, Device

_PERCENT = ("koordinator.sh/gpu-memory-ratio", "koordinator.sh/gpu-core", "koordinator.sh/gpu")
_MEMORY = "koordinator.sh/gpu-memory"
#: Labels. The percentages of other vendors' devices have the same names.
VENDOR, MODEL = "node.koordinator.sh/gpu-vendor", "node.koordinator.sh/gpu-model"
NVIDIA = "nvidia"


def percented(labels: Mapping[str, str], allocatable: Amounts) -> list[Device]:
    """Return the GPUs of a node by its percentages; none where there are none, or of another vendor."""
    named = next((name for name in _PERCENT if name in allocatable), None)
    if named is None or labels.get(VENDOR, NVIDIA) != NVIDIA:
        return []
    count = allocatable[named] // unit(named) // 100
    if not 0 < count <= DEVICES_MAX:
        return []
    memory = allocatable.get(_MEMORY, 0) // count
    return [Device(GPU, index, model=labels.get(MODEL, ""), memory=memory) for index in range(count)]


def with_percented(labels: Mapping[str, str], allocatable: Amounts) -> Amounts:
    """Return what may be given out, with the GPUs that no device plugin counts under their own name."""
    if GPU in allocatable or "volcano.sh/vgpu-number" in allocatable:
        return allocatable
    found = percented(labels, allocatable)
    return {**allocatable, GPU: len(found) * unit(GPU)} if found else allocatable
