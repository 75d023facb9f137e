"""Annotations of HAMi and of Volcano's vGPUs: which GPUs a pod wants, and which it has."""

import re
from collections.abc import Iterator
from functools import lru_cache

from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.hami import parts
from phalanx.dialects.mistakes import FieldError, Mistakes
from phalanx.model.device import DeviceWish
from phalanx.model.keys import annotation
from phalanx.model.quantity import shown
from phalanx.model.task import Hold

USE_TYPE, NO_TYPE = "nvidia.com/use-gputype", "nvidia.com/nouse-gputype"
_MODELS = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_. ]{0,62}(?:,[ ]*[A-Za-z0-9][-A-Za-z0-9_. ]{0,62}){0,15}", re.ASCII)
_MODELS_ALLOWED = "up to 16 models with commas between them, such as A100,V100"

#: Which very GPU, or which not: not honoured. The value that asks for nothing, if there is one.
HELD: dict[str, str | None] = {
    "nvidia.com/use-gpuuuid": None, "nvidia.com/nouse-gpuuuid": None,
    "nvidia.com/use-gpuindexes": None, "nvidia.com/nouse-gpuindexes": None, "nvidia.com/numa-bind": "false",
    "nvidia.com/vgpu-mode": "hami-core", "volcano.sh/vgpu-use-gpuuuid": None, "volcano.sh/vgpu-nouse-gpuuuid": None,
    "volcano.sh/vgpu-mode": "hami-core", "volcano.sh/vgpu-podgroup-policy": None,
}  # fmt: skip

#: On a pod that has its GPUs: for each container, each GPU as its id, its vendor, MiB and percent of cores.
_ALLOCATED = ((parts.ALLOCATED, parts.asks), ("volcano.sh/vgpu-ids-new", parts.shares))
_ID = re.compile(r"(?:^|[;:])([A-Za-z0-9][-A-Za-z0-9_.]{0,127}),", re.ASCII)


def wish(pod: Pod, mistakes: Mistakes) -> DeviceWish | None:
    """Return which models a pod wants. One that asks for no GPU wants none."""
    annotations = pod.metadata.annotations or {}
    wanted, unwanted = annotations.get(USE_TYPE), annotations.get(NO_TYPE)
    if not (wanted or unwanted) or not parts.asks(pod):
        return None
    try:
        return _wish(wanted, unwanted)
    except FieldError as mistake:
        mistakes.note(mistake.field, mistake.message)
        return None


def holds(pod: Pod) -> Iterator[Hold]:
    """Yield what is not honoured."""
    annotations = pod.metadata.annotations
    if annotations and not HELD.keys().isdisjoint(annotations) and parts.asks(pod):
        for key in sorted(HELD.keys() & annotations):
            if annotations[key] != HELD[key]:
                yield Hold(annotation(key), "not honoured by this version")


def groups(pod: Pod) -> tuple[str, ...]:
    """Return the ids of the GPUs of which a pod has parts."""
    annotations = pod.metadata.annotations or {}
    text = next((annotations[key] for key, asks in _ALLOCATED if annotations.get(key) and asks(pod)), "")
    return tuple(dict.fromkeys(_ID.findall(text)))


@lru_cache(maxsize=1024)
def _wish(wanted: str | None, unwanted: str | None) -> DeviceWish:
    models = tuple((name, 1.0) for name in _models(wanted, USE_TYPE))
    return DeviceWish(models, excluded=_models(unwanted, NO_TYPE))


def _models(text: str | None, key: str) -> tuple[str, ...]:
    if not text:
        return ()
    if not _MODELS.fullmatch(text):
        raise FieldError(annotation(key), f"found {shown(text)}, allowed is {_MODELS_ALLOWED}")
    return tuple(name.strip() for name in text.split(","))
