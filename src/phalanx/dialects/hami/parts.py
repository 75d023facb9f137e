"""Parts of GPUs as HAMi's users ask for them, and as Volcano's do: `gpumem` in MiB, or percent of memory and cores.

Who says nothing of memory gets all of it, so a GPU whose cores alone are limited is nobody else's.
"""

from typing import NamedTuple

from phalanx.dialects.core.container_parts import HUNDRED, MEMORY_MAX, Asking, asking, had_whole, several
from phalanx.dialects.core.parts import MEBIBYTES_ALLOWED, ONE_OF_THEM, Asked
from phalanx.dialects.core.pod_objects import Container, Pod
from phalanx.dialects.mistakes import FieldError
from phalanx.model.sharing import DEVICES_MAX, MIB, WHOLE, Part
from phalanx.model.task import Hold


class Words(NamedTuple):
    """The resources of one device plugin."""

    devices: str
    #: Of each device, in MiB.
    memory: str
    #: Of each device, in percent.
    share: str
    cores: str
    #: Who goes first on a GPU: not honoured.
    priority: str = ""


#: Whose device plugin reads what it says.
SIDES = ("hami", "volcano")
#: On a pod that has its GPUs.
ALLOCATED = "hami.io/vgpu-devices-allocated"

HAMI = Words(
    "nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores", "nvidia.com/priority"
)
VOLCANO = Words(
    "volcano.sh/vgpu-number", "volcano.sh/vgpu-memory", "volcano.sh/vgpu-memory-percentage", "volcano.sh/vgpu-cores"
)

#: The words of each, and those that make a request one for parts: `nvidia.com/gpu` alone is for whole ones anywhere.
_SYSTEMS = (
    (frozenset(HAMI), frozenset(HAMI[1:]), HAMI, SIDES[0]), (frozenset(VOLCANO), frozenset(VOLCANO), VOLCANO, SIDES[1]),
)  # fmt: skip
_TELLING = frozenset(HAMI[1:] + VOLCANO)


def part(pod: Pod) -> Asked | None:
    """Return the part that a pod asks for."""
    said = [_asked(*one) for one in _asking(pod)]
    if len(said) > 1:
        raise FieldError(said[0].field, f"contradicts {said[1].field}: {ONE_OF_THEM}")
    return said[0] if said else had_whole(pod, ALLOCATED, SIDES[0])


def named(container: Container, words: Words) -> bool:
    """Tell whether a container asks in these words."""
    resources = container.resources
    return resources is not None and any(
        name in (amounts or ()) for name in words for amounts in (resources.limits, resources.requests)
    )


def shares(pod: Pod) -> bool:
    """Tell whether a pod asks for parts."""
    return bool(asking(pod.spec, _TELLING))


def asks(pod: Pod) -> bool:
    """Tell whether a pod asks for GPUs at all, whole ones or parts."""
    return bool(asking(pod.spec, _TELLING | {HAMI.devices}))


def _asking(pod: Pod) -> list[tuple[list[Asking], frozenset[str], Words, str]]:
    if not asking(pod.spec, _TELLING):
        return []
    systems = [one for one in _SYSTEMS if asking(pod.spec, one[1])]
    return [(asking(pod.spec, every), telling, words, side) for every, telling, words, side in systems]


def _asked(containers: list[Asking], telling: frozenset[str], words: Words, side: str) -> Asked:
    field = next(
        one.field(name)
        for one in containers
        for name in (*words[1:], words[0])
        if name in one.values and name in telling
    )
    devices = sum(one.devices(words.devices) or 1 for one in containers)
    if (hold := several(containers)) is not None:
        # Nobody knows which container gets which: on a node they have whole ones.
        whole = Part(min(devices, DEVICES_MAX), milli=WHOLE, cores=WHOLE, side=side)
        return Asked(whole, field, words, hold)
    (one,) = containers
    if words.priority in one.values:
        hold = Hold(one.field(words.priority), "not honoured by this version")
    memory = one.amount(words.memory, 1, MEMORY_MAX // MIB, MEBIBYTES_ALLOWED)
    share, cores = one.percent(words.share), one.percent(words.cores, 0)
    if memory is not None and share is not None:
        raise FieldError(one.field(words.memory), f"contradicts {one.field(words.share)}: {ONE_OF_THEM}")
    # Who has all the cores has the GPU for itself, as there: nobody else gets any of its memory.
    of_memory = WHOLE if cores == HUNDRED else 0 if memory is not None else 10 * (share or HUNDRED)
    part = Part(devices, of_memory, (memory or 0) * MIB, 10 * (cores or 0), side=side)
    return Asked(part, field, words, hold)
