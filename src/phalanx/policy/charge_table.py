"""The section `charges` of a policy file: what queues count resources as."""

import re
from collections.abc import Mapping
from typing import Any

from phalanx.model.axis import BASE
from phalanx.model.charges import NUMBER, PARTS_MAX, Charge
from phalanx.model.quantity import shown
from phalanx.policy.document import Document
from phalanx.policy.spelling import unknown
from phalanx.yaml_text import Path

_KEYS = ("resource", "as", "amount", "model")
_MODEL = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_. ]{0,62}", re.ASCII)
#: A resource, as a name or a pattern.
_PATTERN = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_.]{0,252}/[-A-Za-z0-9_.*]*(?:<n>[-A-Za-z0-9_.*]*)?", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_.]{0,252}/[A-Za-z0-9][-A-Za-z0-9_.]{0,62}", re.ASCII)


def read_charges(document: Document, given: Any) -> tuple[Charge, ...]:
    """Read the table. An empty one says that every resource counts as itself alone."""
    if not isinstance(given, list):
        document.mistake(("charges",), f"found {shown(given)}, allowed is a list of {{resource, as, amount, model}}")
        return ()
    found: list[Charge] = []
    for position, entry in enumerate(given):
        line = _line(document, ("charges", position), entry)
        if line is None:
            continue
        if (line.resource, line.model) in [(one.resource, one.model) for one in found]:
            document.mistake(("charges", position, "resource"), f"{line.resource} is listed twice")
        found.append(line)
    return tuple(found)


def _line(document: Document, path: Path, entry: Any) -> Charge | None:
    if not isinstance(entry, Mapping):
        document.mistake(path, f"found {shown(entry)}, allowed is a map with {', '.join(_KEYS)}")
        return None
    for key in entry:
        if key not in _KEYS:
            document.mistake((*path, key), unknown("key", key, _KEYS))
    resource, other, amount, model = (entry.get(key) for key in _KEYS)
    good = _named(document, path, model)
    if not isinstance(resource, str) or not _PATTERN.fullmatch(resource):
        good = _wrong(
            document, (*path, "resource"), resource, "a resource such as nvidia.com/mig-<n>g.*, with at most one <n>"
        )
    if not isinstance(other, str) or (other not in BASE and not _NAME.fullmatch(other)):
        good = _wrong(document, (*path, "as"), other, "a resource such as nvidia.com/gpu")
    elif other == resource:
        document.mistake((*path, "as"), f"{other} counts as itself anyway")
        good = False
    if not good:
        return None
    # A whole number needs no quotes; a fraction is text to YAML.
    written = str(amount) if isinstance(amount, int) and not isinstance(amount, bool) else amount
    try:
        if isinstance(written, str):
            return Charge(str(resource), str(other), written, model or "")
    except ValueError:
        pass
    numbered = f", {NUMBER} or {NUMBER}/7" if NUMBER in str(resource) else ""
    _wrong(document, (*path, "amount"), amount, f"0 to {PARTS_MAX} or a fraction such as 1/7{numbered}")
    return None


def _named(document: Document, path: Path, model: Any) -> bool:
    """Tell whether this is a model, or none is named."""
    if model is None or (isinstance(model, str) and _MODEL.fullmatch(model)):
        return True
    return _wrong(document, (*path, "model"), model, "a model of devices such as H100")


def _wrong(document: Document, path: Path, found: Any, allowed: str) -> bool:
    what = "missing" if found is None else f"found {shown(found)}"
    document.mistake(path, f"{what}, allowed is {allowed}")
    return False
