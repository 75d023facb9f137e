"""Registers: annotations in which device plugins that share GPUs list every device of their node.

HAMi and Volcano write one record per device with ':' behind each, in later releases also a JSON list.
"""

import json
from typing import Any, NamedTuple

from phalanx.model.device import DEVICES_MAX, UNKNOWN, Device
from phalanx.model.quantity import shown

#: Annotation -> the resource that its device plugin counts, whose that plugin is, and the fields of a record in order.
REGISTERS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "hami.io/node-nvidia-register": (
        "nvidia.com/gpu", "hami", ("id", "count", "devmem", "devcore", "type", "numa", "health", "index", "mode"),
    ),
    "volcano.sh/node-vgpu-register": (
        "volcano.sh/vgpu-number", "volcano", ("id", "count", "devmem", "type", "health", "mode"),
    ),
}  # fmt: skip
#: A device in this mode is cut into slices, which have sizes of their own.
_SLICED = "mig"
#: A record of an older release ends with this field.
_LAST_NEEDED = "health"
_MEMORY_MAX = 2**30
_TEXT_MAX = 65_536


class Register(NamedTuple):
    """What a register says."""

    devices: list[Device]
    #: The plugin cuts some of them into slices.
    sliced: bool


class RegisterError(ValueError):
    """A register that cannot be read; the text says what was found."""


def registered(key: str, text: str) -> Register:
    """Return the devices of a register, numbered as it numbers them, else in its order."""
    resource, _, names = REGISTERS[key]
    records = _listed(text) if text.lstrip().startswith("[") else _split(text, names)
    if len(records) > DEVICES_MAX:
        raise RegisterError(f"found {len(records)} devices, allowed are at most {DEVICES_MAX}")
    found = [_device(resource, position, record) for position, record in enumerate(records)]
    if len({one.index for one in found}) < len(found):
        raise RegisterError("found two devices with one index")
    return Register(found, any(record.get("mode") == _SLICED for record in records))


def _listed(text: str) -> list[dict[str, Any]]:
    try:
        records = json.loads(text)
    except (ValueError, RecursionError):
        raise RegisterError(f"found no whole JSON list: {shown(text[-40:])} at its end") from None
    if not all(isinstance(record, dict) for record in records):
        raise RegisterError("found something that is no device in the list")
    return list(records)


def _split(text: str, names: tuple[str, ...]) -> list[dict[str, Any]]:
    if not text.endswith(":"):
        raise RegisterError(f"found {shown(text[-40:])} at its end, where every record ends with ':'")
    records = []
    for record in text.removesuffix(":").split(":"):
        fields = record.split(",")
        if not names.index(_LAST_NEEDED) < len(fields) <= len(names):
            raise RegisterError(f"found {shown(record)}, allowed is {','.join(names)}")
        records.append(dict(zip(names, fields, strict=False)))
    return records


def _device(resource: str, position: int, record: dict[str, Any]) -> Device:
    health = record.get("health", True)
    if not isinstance(health, bool) and health not in ("true", "false"):
        raise RegisterError(f"health: found {shown(health)}, allowed is true or false")
    return Device(
        resource,
        _number(record, "index", position, DEVICES_MAX * 16),
        id=_word(record, "id"),
        model=_word(record, "type"),
        memory=_number(record, "devmem", 0, _MEMORY_MAX) << 20,
        numa=_number(record, "numa", UNKNOWN, 4096),
        replicas=max(_number(record, "count", 1, 4096), 1),
        healthy=health in (True, "true"),
    )


def _word(record: dict[str, Any], name: str) -> str:
    value = record.get(name, "")
    if not isinstance(value, str) or len(value) > 128 or not value.isprintable():
        raise RegisterError(f"{name}: found {shown(value)}, allowed is a short word")
    return value


def _number(record: dict[str, Any], name: str, absent: int, most: int) -> int:
    value = record.get(name, absent)
    if isinstance(value, str) and value.isascii() and value.removeprefix("-").isdecimal() and len(value) < 12:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not UNKNOWN <= value <= most:
        raise RegisterError(f"{name}: found {shown(value)}, allowed is a number up to {most}")
    return value
