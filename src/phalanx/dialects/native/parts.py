"""Parts of a GPU by annotation: `phalanx.dev/gpu-fraction` or `gpu-memory`, on so many `gpu-devices`."""

import re
from functools import lru_cache

from phalanx.dialects.core.parts import Asked, Fields, part_of
from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.mistakes import FieldError
from phalanx.dialects.native.device_wishes import MEMORY, MEMORY_ALLOWED
from phalanx.model.keys import GPU_DEVICES, GPU_FRACTION, GPU_GROUP, GPU_MEMORY, annotation
from phalanx.model.quantity import capacity, shown

#: Ids of groups: as many as the pod shares devices.
GROUPS = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.#:/,]{0,998}[A-Za-z0-9])?", re.ASCII)
GROUPS_ALLOWED = "ids with commas between them, such as 0 or 0,1"
PART_KEYS = (GPU_FRACTION, GPU_MEMORY, GPU_DEVICES, GPU_GROUP)
_FIELDS = Fields(annotation(GPU_FRACTION), annotation(GPU_MEMORY), annotation(GPU_DEVICES))


def part(pod: Pod) -> Asked | None:
    """Return the part that a pod asks for."""
    annotations = pod.metadata.annotations
    if not annotations:
        return None
    return _part(annotations.get(GPU_FRACTION), annotations.get(GPU_MEMORY), annotations.get(GPU_DEVICES))


def groups(pod: Pod) -> tuple[str, ...]:
    """Return the ids of the groups whose devices a pod shares; none where they cannot be read."""
    said = (pod.metadata.annotations or {}).get(GPU_GROUP, "")
    return tuple(filter(None, said.split(","))) if GROUPS.fullmatch(said) else ()


@lru_cache(maxsize=1024)
def _part(fraction: str | None, memory: str | None, devices: str | None) -> Asked | None:
    return part_of(fraction, _bytes(memory), devices, _FIELDS)


def _bytes(text: str | None) -> int | None:
    if text is not None and not MEMORY.fullmatch(text):
        raise FieldError(annotation(GPU_MEMORY), f"found {shown(text)}, allowed is {MEMORY_ALLOWED}")
    return None if text is None else capacity(text, "memory")
