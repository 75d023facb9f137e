"""Parts of devices as pods ask for them: a fraction of a GPU, or some memory of it, on one GPU or on several."""

import re
from typing import NamedTuple

from phalanx.dialects.mistakes import FieldError
from phalanx.model.axis import AMOUNT_MAX
from phalanx.model.quantity import shown
from phalanx.model.sharing import DEVICES_MAX, MIB, WHOLE, Part
from phalanx.model.task import Hold

FRACTION = re.compile(r"0?\.[0-9]{0,17}[1-9][0-9]{0,17}", re.ASCII)
FRACTION_ALLOWED = "a number above 0 and below 1, such as 0.5"
DEVICES = re.compile(r"[1-9][0-9]?", re.ASCII)
DEVICES_ALLOWED = f"a whole number from 1 to {DEVICES_MAX}"
_MEBIBYTES = re.compile(r"[0-9]{1,10}", re.ASCII)
MEBIBYTES_ALLOWED = "a whole number of MiB, at least 1"

ONE_OF_THEM = "allowed is one of them"

#: What a pod on a node is taken for whose part cannot be read: it has the device for itself.
UNREADABLE = Part(milli=WHOLE, cores=WHOLE)


class Fields(NamedTuple):
    """Where a dialect says what."""

    fraction: str
    memory: str
    devices: str


class Asked(NamedTuple):
    """What a pod asks for, and the field that says so first."""

    part: Part
    field: str
    #: The resources in which the pod asks for it: device plugins count them, and they are no requests beside it.
    stands_for: tuple[str, ...] = ()
    #: Why nobody can give it out.
    hold: Hold | None = None


def part_of(fraction: str | None, memory: int | None, devices: str | None, fields: Fields) -> Asked | None:
    """Return what these texts ask for; None: nothing. `memory` is in bytes."""
    if fraction is not None and memory is not None:
        raise FieldError(fields.fraction, f"contradicts {fields.memory}: {ONE_OF_THEM}")
    if fraction is None and memory is None:
        if devices is not None:
            raise FieldError(fields.devices, f"means nothing without {fields.fraction} or {fields.memory}")
        return None
    count = 1 if devices is None else devices_of(devices, fields.devices)
    if fraction is not None:
        milli = _milli(fraction, fields.fraction)
        return Asked(Part(count, milli=milli, cores=milli), fields.fraction)
    return Asked(Part(count, memory=memory or 0), fields.memory)


def mebibytes(text: str | None, field: str) -> int | None:
    """Read a whole number of MiB, as bytes."""
    if text is None:
        return None
    if not _MEBIBYTES.fullmatch(text) or not 0 < int(text) * MIB <= AMOUNT_MAX:
        raise FieldError(field, f"found {shown(text)}, allowed is {MEBIBYTES_ALLOWED}")
    return int(text) * MIB


def _milli(text: str, field: str) -> int:
    """Read a fraction in thousandths, rounded up."""
    if not FRACTION.fullmatch(text):
        raise FieldError(field, f"found {shown(text)}, allowed is {FRACTION_ALLOWED}")
    digits = text.partition(".")[2]
    whole: int = 10 ** len(digits)
    return -(-int(digits) * WHOLE // whole)


def devices_of(text: str, field: str) -> int:
    """Read of how many devices a pod asks for parts."""
    if not DEVICES.fullmatch(text):
        raise FieldError(field, f"found {shown(text)}, allowed is {DEVICES_ALLOWED}")
    return int(text)
