"""Parts of a GPU container by container, as KAI's users ask for them since 0.18: `nvidia.com/container.NAME.…`.

The memory that is requested is what is taken of a GPU; the limit is for the program that enforces it. Containers
compute in turns unless they say otherwise, and those that compute side by side are on GPUs of their own.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from phalanx.dialects.core.parts import ONE_OF_THEM, Asked, Fields, devices_of
from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.mistakes import FieldError, one_of
from phalanx.model.axis import AMOUNT_MAX
from phalanx.model.keys import GPU_FRACTION, GPU_MEMORY, annotation
from phalanx.model.quantity import QuantityError, request, shown
from phalanx.model.sharing import MIB, Part, mebibytes
from phalanx.model.task import Hold

PREFIX = "nvidia.com/container."
REQUEST, LIMIT, MODE = ".gpu-memory.request", ".gpu-memory.limit", ".gpu-compute.mode"
#: What KAI's binder writes itself.
WRITTEN = (".gpus.devices", ".gpu-compute.portion")
#: Of each mode: whether containers compute side by side.
MODES = {"time-slicing": False, "sm-sharing": True}
_SEVERAL = "parts of GPUs are given to one container of a pod by this version"
_NAME_MAX = 200


class Said(NamedTuple):
    """What is said of one container."""

    container: str
    #: By suffix.
    values: Mapping[str, str]

    def field(self, suffix: str) -> str:
        """Return the field that says it."""
        return annotation(f"{PREFIX}{self.container}{suffix}")


def said(annotations: Mapping[str, str]) -> list[Said]:
    """Return what is said of containers, by name."""
    found: dict[str, dict[str, str]] = {}
    for key in annotations:
        if key.startswith(PREFIX):
            for suffix in (REQUEST, LIMIT, MODE):
                if key.endswith(suffix):
                    found.setdefault(key[len(PREFIX) : -len(suffix)], {})[suffix] = annotations[key]
    return [Said(name, found[name]) for name in sorted(found)]


def with_containers(pod: Pod, older: Asked | None, devices: str | None, fields: Fields) -> Asked | None:
    """Return the part that a pod asks for, given what it asks for in the older words."""
    listed = said(pod.metadata.annotations or {})
    if not listed:
        return older
    names = {one.name for one in pod.spec.containers or ()}
    first = {one.name for one in pod.spec.init_containers or ()}
    for one in listed:
        if one.container not in names | first:
            raise FieldError(
                one.field(next(iter(one.values))), f"found no container of the name {shown(one.container)}"
            )
    asking = [one for one in listed if one.values.keys() & {REQUEST, LIMIT}]
    found = _memory(asking[0], older, devices, fields) if asking else older
    if found is None:
        return None
    if len(asking) > 1 or (asking[:1] and asking[0].container in first):
        odd = asking[-1]
        found = found._replace(hold=Hold(odd.field(min(odd.values.keys() & {REQUEST, LIMIT})), _SEVERAL))
    modes = {one.values[MODE]: one.field(MODE) for one in listed if MODE in one.values}
    for mode, field in modes.items():
        if mode not in MODES:
            raise FieldError(field, one_of(mode, tuple(MODES)))
    if len(modes) > 1:
        (_, field), (_, other) = sorted(modes.items())
        raise FieldError(field, f"contradicts {other}: {ONE_OF_THEM}")
    return found._replace(part=replace(found.part, abreast=any(MODES[mode] for mode in modes)))


def _memory(one: Said, older: Asked | None, devices: str | None, fields: Fields) -> Asked:
    limit = _bytes(one, LIMIT)
    asked = _bytes(one, REQUEST) or limit or 0
    if limit is not None and limit < asked:
        raise FieldError(one.field(LIMIT), f"found {shown(one.values[LIMIT])}, allowed is at least the request")
    if older is not None and older.part.memory and mebibytes(older.part.memory) != mebibytes(asked):
        raise FieldError(one.field(REQUEST if REQUEST in one.values else LIMIT), f"contradicts {older.field}")
    if older is not None and LIMIT in one.values and REQUEST not in one.values:
        raise FieldError(one.field(LIMIT), f"contradicts {older.field}: {ONE_OF_THEM}")
    count = 1 if devices is None else devices_of(devices, fields.devices)
    field = one.field(REQUEST if REQUEST in one.values else LIMIT)
    return Asked(Part(count, memory=asked), field)


def _bytes(one: Said, suffix: str) -> int | None:
    text = one.values.get(suffix)
    if text is None:
        return None
    try:
        found = request(text, "memory")
    except QuantityError as error:
        raise FieldError(one.field(suffix), str(error)) from None
    if not MIB <= found <= AMOUNT_MAX:
        raise FieldError(one.field(suffix), f"found {shown(text)}, allowed is memory such as 2Gi, at least 1Mi")
    return found


def holds(pod: Pod) -> Iterator[Hold]:
    """Yield what else is asked of a GPU for one container, and a mode beside a part in our words, which have none."""
    annotations = pod.metadata.annotations or {}
    keys = sorted(key for key in annotations if key.startswith(PREFIX))
    if keys and not {GPU_FRACTION, GPU_MEMORY}.isdisjoint(annotations):
        yield from (Hold(annotation(key), "goes with parts in KAI's words alone") for key in keys if key.endswith(MODE))
    for key in keys:
        if not key.endswith((REQUEST, LIMIT, MODE, *WRITTEN)):
            named = key if key.isascii() and key.isprintable() and len(key) < _NAME_MAX else shown(key)
            yield Hold(annotation(named), "what one container asks of a GPU so is not honoured by this version")
