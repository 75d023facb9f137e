"""Kubernetes quantities ("1500m", "8Gi", "1e3") to exact integers and back.

Requests round up, capacity rounds down, nothing is ever a float: a quantity is read as ASCII digits with a
power of ten or two, and divided once, in integers.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

from phalanx.model.axis import AMOUNT_MAX, is_extended, unit

#: Longer than any quantity a person or a controller writes. It bounds the integers that we build.
LENGTH_MAX = 64
#: The API server's exponent field is far larger, but 10^30 is above every cap already.
EXPONENT_MAX = 40

_FORM = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?:(?P<suffix>Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]+))?",
    re.ASCII,
)
_TENS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_TWOS = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}

_ALLOWED = "a Kubernetes quantity such as 2, 500m, 1.5 or 8Gi"


class QuantityError(ValueError):
    """A quantity that is not one; the text says what was found and what is allowed."""


class OversizeError(QuantityError):
    """A quantity beyond what is counted."""


def shown(value: object) -> str:
    """Return a value as it may stand in a message: quoted, on one line, and short."""
    if isinstance(value, Mapping):
        return "a map"
    if isinstance(value, list | tuple | set):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    # Python refuses to write an integer of more than 4,300 digits.
    if isinstance(value, int) and value.bit_length() > 256:
        return "a number of more than 77 digits"
    whole = value if isinstance(value, str) else str(value)
    text = ascii(whole[:60]) if isinstance(value, str) else ascii(whole[:60])[1:-1]
    return text if len(whole) <= 60 and len(text) <= 62 else f"{text[:48]}… ({len(whole)} characters)"


def request(value: object, name: str) -> int:
    """Read what a pod asks for, rounded up to the resource's smallest unit."""
    amount = _read(value, name, up=True)
    if is_extended(name) and (amount % unit(name) or amount != _read(value, name, up=False)):
        raise QuantityError(f"found {shown(value)}, allowed is a whole number of {name}")
    return amount


def capacity(value: object, name: str) -> int:
    """Read what a node has, rounded down to the resource's smallest unit."""
    return _read(value, name, up=False)


def _read(value: object, name: str, *, up: bool) -> int:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise QuantityError(f"found {shown(value)}, allowed is {_ALLOWED}")
    if isinstance(value, int) and abs(value) > AMOUNT_MAX:
        allowed = "at most 2^53 of the smallest unit" if value > 0 else "zero or more"
        raise QuantityError(f"found {shown(value)}, allowed is {allowed}")
    text = (value if isinstance(value, str) else repr(value)).strip(" \t\r\n")
    if len(text) > LENGTH_MAX:
        raise QuantityError(f"found {shown(value)}, allowed is {_ALLOWED}")
    return _parse(text, unit(name), up)


@lru_cache(maxsize=4096)
def _parse(text: str, units: int, up: bool) -> int:
    """Return the amount in units of 1/units. The cache holds the few distinct strings a cluster has."""
    form = _FORM.fullmatch(text)
    if form is None or not (form["whole"] or form["part"]):
        raise QuantityError(f"found {shown(text)}, allowed is {_ALLOWED}")
    part = form["part"] or ""
    digits = int((form["whole"] or "") + part)
    if form["sign"] == "-" and digits:
        raise QuantityError(f"found {shown(text)}, allowed is zero or more")
    tens = int(form["exponent"]) if form["exponent"] else _TENS.get(form["suffix"] or "", 0)
    if abs(tens) > EXPONENT_MAX:
        raise QuantityError(f"found {shown(text)}, allowed is an exponent between -{EXPONENT_MAX} and {EXPONENT_MAX}")
    tens -= len(part)
    above = digits * units << _TWOS.get(form["suffix"] or "", 0)
    if tens >= 0:
        amount: int = above * 10**tens
    else:
        below = 10**-tens
        amount = -(-above // below) if up else above // below
    if amount > AMOUNT_MAX:
        raise OversizeError(f"found {shown(text)}, allowed is at most 2^53 of the smallest unit")
    return amount


def written(amount: int, name: str) -> str:
    """Return the canonical Kubernetes string of an amount in smallest units."""
    units = unit(name)
    if amount % units:
        return f"{amount}m"
    amount //= units
    return _with_suffix(amount, binary=is_binary(name))


def is_binary(name: str) -> bool:
    """Tell a resource that is counted in bytes."""
    return name == "memory" or name.endswith("storage") or name.startswith("hugepages-")


def _with_suffix(amount: int, *, binary: bool) -> str:
    """Return an amount with the largest suffix that loses nothing: for bytes powers of two first."""
    for suffixes, base in ((("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"), 1024), (("E", "P", "T", "G", "M", "k"), 1000)):
        for position, suffix in enumerate(suffixes):
            size = base ** (6 - position)
            if (binary or base == 1000) and amount and amount % size == 0:
                return f"{amount // size}{suffix}"
    return str(amount)
