"""Parts of a GPU as KAI's users ask for them: `gpu-fraction`, or `gpu-memory` in MiB, on one GPU or on several."""

from collections.abc import Mapping
from functools import lru_cache

from phalanx.dialects.core.parts import Asked, Fields, mebibytes, part_of
from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.kai import containers
from phalanx.model.keys import annotation

FRACTION = "gpu-fraction"
MEMORY = "gpu-memory"
DEVICES = "gpu-fraction-num-devices"
#: A label of a pod that shares a GPU: the id of the group. Of one that shares several: a label for each.
GROUP = "runai-gpu-group"

_FIELDS = Fields(annotation(FRACTION), annotation(MEMORY), annotation(DEVICES))


def part(pod: Pod) -> Asked | None:
    """Return the part that a pod asks for."""
    annotations = pod.metadata.annotations
    if not annotations:
        return None
    return containers.with_containers(pod, _older(annotations), annotations.get(DEVICES), _FIELDS)


def _older(annotations: Mapping[str, str]) -> Asked | None:
    devices = annotations.get(DEVICES)
    # It goes with either: of how many GPUs a container asks for memory.
    alone = FRACTION not in annotations and MEMORY not in annotations
    if alone and any(one.values.keys() - {containers.MODE} for one in containers.said(annotations)):
        return None
    return _part(annotations.get(FRACTION), annotations.get(MEMORY), devices)


def groups(pod: Pod) -> tuple[str, ...]:
    """Return the ids of the groups whose devices a pod shares."""
    labels = pod.metadata.labels or {}
    several = sorted(value for key, value in labels.items() if key.startswith(f"{GROUP}/"))
    return tuple(dict.fromkeys([*([labels[GROUP]] if labels.get(GROUP) else []), *several]))


@lru_cache(maxsize=1024)
def _part(fraction: str | None, memory: str | None, devices: str | None) -> Asked | None:
    return part_of(fraction, mebibytes(memory, annotation(MEMORY)), devices, _FIELDS)
