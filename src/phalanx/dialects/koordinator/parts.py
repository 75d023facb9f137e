"""Parts of GPUs as Koordinator's users ask for them: percent of cores and memory of all GPUs of a container together.

Without `gpu.shared`, which says of how many GPUs, 100 percent are one, and more must be whole ones.
"""

import json
from collections.abc import Iterator

from phalanx.dialects.core.container_parts import HUNDRED, MEMORY_MAX, Asking, asking, had_whole, several
from phalanx.dialects.core.parts import ONE_OF_THEM, Asked
from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.mistakes import FieldError
from phalanx.model.keys import annotation
from phalanx.model.sharing import DEVICES_MAX, WHOLE, Part
from phalanx.model.task import Hold

#: Cores and memory alike; of how many GPUs; and each by itself.
GPU, SHARED = "koordinator.sh/gpu", "koordinator.sh/gpu.shared"
CORE, MEMORY, RATIO = "koordinator.sh/gpu-core", "koordinator.sh/gpu-memory", "koordinator.sh/gpu-memory-ratio"
NAMES = (GPU, MEMORY, RATIO, CORE, SHARED)
_NAMES = frozenset(NAMES)
#: Whose program on the node reads which GPUs a pod has.
SIDE = "koordinator"

_PERCENT_MAX = DEVICES_MAX * HUNDRED
_PERCENT_ALLOWED = f"a whole number of percent from 1 to {_PERCENT_MAX}"
_WHOLE_ALLOWED = "up to 100, or whole hundreds"

_PREFIX = "scheduling.koordinator.sh"
#: Which GPUs: not honoured.
HELD = frozenset(f"{_PREFIX}/{one}" for one in ("device-allocate-hint", "device-joint-allocate", "gpu-partition-spec"))
#: On a pod that has its GPUs: which.
ALLOCATED = f"{_PREFIX}/device-allocated"
_TEXT_MAX = 16_384


def part(pod: Pod) -> Asked | None:
    """Return the part that a pod asks for."""
    containers = asking(pod.spec, _NAMES)
    if not containers:
        return had_whole(pod, ALLOCATED, SIDE)
    field = next(one.field(name) for one in containers for name in NAMES if name in one.values)
    if (hold := several(containers)) is not None:
        # Nobody knows which container gets which: on a node they have whole ones.
        devices = sum(_part(one).devices for one in containers)
        return Asked(Part(min(devices, DEVICES_MAX), milli=WHOLE, cores=WHOLE, side=SIDE), field, NAMES, hold)
    return Asked(_part(containers[0]), field, NAMES)


def holds(pod: Pod) -> Iterator[Hold]:
    """Yield what is not honoured."""
    annotations = pod.metadata.annotations
    if annotations and not HELD.isdisjoint(annotations):
        yield Hold(annotation(min(HELD & annotations.keys())), "not honoured by this version")


def groups(pod: Pod) -> tuple[str, ...]:
    """Return the numbers of the GPUs of which a pod has parts; none where they cannot be read."""
    text = (pod.metadata.annotations or {}).get(ALLOCATED, "")
    if not 0 < len(text) <= _TEXT_MAX:
        return ()
    try:
        listed = json.loads(text)["gpu"]
        minors = [one["minor"] for one in listed]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ()
    return tuple(dict.fromkeys(str(minor) for minor in minors if isinstance(minor, int) and minor >= 0))


def _part(one: Asking) -> Part:
    if GPU in one.values:
        other = next((name for name in NAMES[1:] if name in one.values), None)
        if other is not None:
            raise FieldError(one.field(GPU), f"contradicts {one.field(other)}: {ONE_OF_THEM}")
        percent = _percent(one, GPU) or 0
        devices = _whole(one, GPU, percent)
        each = 10 * percent // devices
        return Part(devices, milli=each, cores=each, side=SIDE)
    memory = one.amount(MEMORY, 1, MEMORY_MAX, "memory such as 8Gi, at least 1 byte")
    ratio, core = _percent(one, RATIO), _percent(one, CORE)
    if memory is None and ratio is None:
        name = CORE if core is not None else SHARED
        raise FieldError(one.field(name), f"means nothing without {MEMORY} or {RATIO}")
    if memory is not None and ratio is not None:
        raise FieldError(one.field(MEMORY), f"contradicts {one.field(RATIO)}: {ONE_OF_THEM}")
    shared = one.devices(SHARED)
    devices = shared or (1 if ratio is None else _whole(one, RATIO, ratio))
    of_memory, of_cores = 10 * _each(one, RATIO, ratio, devices), 10 * _each(one, CORE, core, devices)
    return Part(devices, of_memory, -(-(memory or 0) // devices), of_cores, side=SIDE)


def _percent(one: Asking, name: str) -> int | None:
    return one.amount(name, 1, _PERCENT_MAX, _PERCENT_ALLOWED)


def _whole(one: Asking, name: str, percent: int) -> int:
    """Return of how many GPUs this is a part, or all."""
    if percent > HUNDRED and percent % HUNDRED:
        raise FieldError(one.field(name), f"found {percent}, allowed is {_WHOLE_ALLOWED}")
    return max(percent // HUNDRED, 1)


def _each(one: Asking, name: str, percent: int | None, devices: int) -> int:
    """Return how many hundredths of each of so many GPUs."""
    if percent is None:
        return 0
    if percent % devices or percent > HUNDRED * devices:
        allowed = f"a multiple of the {devices} GPUs, at most {HUNDRED * devices}" if devices > 1 else "at most 100"
        raise FieldError(one.field(name), f"found {percent}, allowed is {allowed}")
    return percent // devices
