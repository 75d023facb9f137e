"""Which GPUs a pod wants: models in order or with weights, and how much memory each has at least."""

import re
from collections.abc import Mapping
from functools import lru_cache

from phalanx.dialects.mistakes import FieldError, Mistakes
from phalanx.model.device import DeviceWish
from phalanx.model.keys import GPU_MEMORY_MINIMUM, GPU_MODEL, GPU_TOGETHER, annotation
from phalanx.model.quantity import capacity, shown

DEVICE_KEYS = (GPU_MODEL, GPU_MEMORY_MINIMUM, GPU_TOGETHER)

_MODEL = r"[A-Za-z0-9][-A-Za-z0-9_. ]{0,62}(?:=[0-9]{1,6}(?:\.[0-9]{1,3})?)?"
MODELS = re.compile(rf"{_MODEL}(?:,[ ]*{_MODEL}){{0,15}}", re.ASCII)
MODELS_ALLOWED = "models, the best first, such as H100,A100, or each with what it is worth, such as H100=2.0,A100=1"
MEMORY = re.compile(r"[1-9][0-9]{0,6}(?:Ki|Mi|Gi|Ti|k|M|G|T)", re.ASCII)
MEMORY_ALLOWED = "a whole number with a unit, such as 40Gi or 40960Mi"
TOGETHER = re.compile(r"link|numa|link,numa|numa,link", re.ASCII)
TOGETHER_ALLOWED = "link, numa or link,numa"


def device_wish(annotations: Mapping[str, str], mistakes: Mistakes) -> DeviceWish | None:
    """Return the wish of a pod; None (or, noted, with a bad one): it has none."""
    models, memory, together = (annotations.get(key) for key in DEVICE_KEYS)
    if models is None and memory is None and together is None:
        return None
    try:
        return _wish(models, memory, together)
    except FieldError as mistake:
        mistakes.note(mistake.field, mistake.message)
        return None


@lru_cache(maxsize=1024)
def _wish(models: str | None, memory: str | None, together: str | None) -> DeviceWish:
    if models is not None and not MODELS.fullmatch(models):
        raise FieldError(annotation(GPU_MODEL), f"found {shown(models)}, allowed is {MODELS_ALLOWED}")
    if memory is not None and not MEMORY.fullmatch(memory):
        raise FieldError(annotation(GPU_MEMORY_MINIMUM), f"found {shown(memory)}, allowed is {MEMORY_ALLOWED}")
    if together is not None and not TOGETHER.fullmatch(together):
        raise FieldError(annotation(GPU_TOGETHER), f"found {shown(together)}, allowed is {TOGETHER_ALLOWED}")
    return DeviceWish(
        _worths(models) if models else (),
        capacity(memory, "memory") if memory else 0,
        together=tuple(sorted(together.split(","))) if together else (),
    )


def _worths(text: str) -> tuple[tuple[str, float], ...]:
    """Return each model with what it is worth. Without any weight the first is worth most, in equal steps."""
    parts = [part.strip() for part in text.split(",")]
    if "=" not in text:
        return tuple((name, float(len(parts) - at)) for at, name in enumerate(parts))
    pairs = [part.partition("=") for part in parts]
    return tuple((name.strip(), float(worth) if worth else 1.0) for name, _, worth in pairs)
