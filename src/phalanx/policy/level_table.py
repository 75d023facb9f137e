"""The section `topology` of a policy file: the levels of the topology tree, from the top."""

import re
from collections.abc import Mapping
from typing import Any

from phalanx.model.quantity import shown
from phalanx.model.tree import Level
from phalanx.policy.document import Document
from phalanx.policy.spelling import unknown
from phalanx.yaml_text import Path

LEVELS_MAX = 16
_KEYS = ("name", "label")
_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII)
_LABEL = re.compile(r"(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?", re.ASCII)


def read_levels(document: Document, given: Any) -> tuple[Level, ...] | None:
    """Read the levels. `usual`: zone, block, rack and so on, by their usual labels, where nodes have them."""
    if not isinstance(given, Mapping):
        document.mistake(("topology",), f"found {shown(given)}, allowed is a map with levels")
        return None
    for key in given:
        if key != "levels":
            document.mistake(("topology", key), unknown("key", key, ("levels",)))
    listed, path = given.get("levels", "usual"), ("topology", "levels")
    if listed == "usual":
        return None
    if not isinstance(listed, list) or len(listed) > LEVELS_MAX:
        found = f"{len(listed)} levels" if isinstance(listed, list) else shown(listed)
        document.mistake(path, f"found {found}, allowed is usual, or a list of at most {LEVELS_MAX} {{name, label}}")
        return None
    levels: list[Level] = []
    for position, entry in enumerate(listed):
        level = _level(document, (*path, position), entry)
        if level is None:
            continue
        for key, value in (("name", level.name), ("label", level.key)):
            if value in [name for other in levels for name in (other.name, other.key)]:
                document.mistake((*path, position, key), f"{value} is listed twice")
        levels.append(level)
    return tuple(levels)


def _level(document: Document, path: Path, entry: Any) -> Level | None:
    if not isinstance(entry, Mapping):
        document.mistake(path, f"found {shown(entry)}, allowed is a map with {', '.join(_KEYS)}")
        return None
    for key in entry:
        if key not in _KEYS:
            document.mistake((*path, key), unknown("key", key, _KEYS))
    label, name = entry.get("label"), entry.get("name", str(entry.get("label")).rpartition("/")[2])
    for key, value, form, allowed in (
        ("label", label, _LABEL, "the key of a node label, such as topology.kubernetes.io/rack"),
        ("name", name, _NAME, "a word such as rack"),
    ):
        if not isinstance(value, str) or not form.fullmatch(value):
            what = "missing" if value is None else f"found {shown(value)}"
            document.mistake((*path, key), f"{what}, allowed is {allowed}")
            return None
    return Level(str(label), str(name))
