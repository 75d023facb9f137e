"""Encoding: a snapshot, or any part of it, as bytes that depend on its content alone.

Equal values have equal bytes, on every machine, whatever was remembered in them meanwhile: fields that do not take
part in comparison are caches, and are left out.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np


def encoded(value: object) -> bytes:
    """Return the bytes."""
    return json.dumps(plain(value), separators=(",", ":"), sort_keys=True).encode()


def plain(value: object) -> Any:  # noqa: PLR0911 (one line per kind of value)
    """Return a value as JSON has it."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, np.ndarray):
        data = base64.b64encode(value.tobytes(order="C")).decode()
        return {"dtype": value.dtype.str, "shape": list(value.shape), "data": data}
    if isinstance(value, Mapping):
        return sorted(([plain(key), plain(one)] for key, one in value.items()), key=lambda pair: _order(pair[0]))
    if isinstance(value, frozenset | set):
        return sorted((plain(one) for one in value), key=_order)
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if is_dataclass(value):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value) if one.compare}
    raise TypeError(f"{type(value).__name__} has no place in a snapshot")


def _order(value: object) -> str:
    return json.dumps(value, sort_keys=True)
