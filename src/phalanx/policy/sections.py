"""The sections of a policy file: each key read into what the engine takes, every mistake noted with its line."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from phalanx.engine.plugin import Plugin, Share
from phalanx.engine.policy import Action, Weighted
from phalanx.model.charges import Charge
from phalanx.model.quantity import shown
from phalanx.model.tree import Level
from phalanx.policy.arguments import make
from phalanx.policy.charge_table import read_charges
from phalanx.policy.document import Document
from phalanx.policy.level_table import read_levels
from phalanx.policy.registry import RegistryError, action_class, plugin_class, share_class
from phalanx.policy.spelling import unknown
from phalanx.yaml_text import Path

Made = TypeVar("Made")

KEYS = ("extends", "schedulerNames", "actions", "plugins", "share", "search", "devices", "charges", "topology")
#: A `*` stands for any letters.
_DEVICE = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_.]{0,252}/[-A-Za-z0-9_.*]{1,63}", re.ASCII)
WEIGHT_MAX = 1_000_000
STEPS_MAX = 1_000_000_000


@dataclass(slots=True)
class Sections:
    """What one file gives. None: it is silent, and what it extends speaks."""

    extends: str | None = None
    scheduler_names: tuple[str, ...] | None = None
    actions: tuple[Action, ...] | None = None
    plugins: tuple[Weighted, ...] | None = None
    search_steps: int | None = None
    share: Share | None = None
    devices: tuple[str, ...] | None = None
    charges: tuple[Charge, ...] | None = None
    levels: tuple[Level, ...] | None = None

    def over(self, base: "Sections") -> "Sections":
        """Return these sections, with the base's where these are silent. Lists do not merge."""
        return Sections(
            None,
            base.scheduler_names if self.scheduler_names is None else self.scheduler_names,
            base.actions if self.actions is None else self.actions,
            base.plugins if self.plugins is None else self.plugins,
            base.search_steps if self.search_steps is None else self.search_steps,
            base.share if self.share is None else self.share,
            base.devices if self.devices is None else self.devices,
            base.charges if self.charges is None else self.charges,
            base.levels if self.levels is None else self.levels,
        )


def read_sections(document: Document) -> Sections:
    """Read every key of a file."""
    given, sections = document.value, Sections()
    if not isinstance(given, Mapping):
        what = "an empty file" if given is None else shown(given)
        document.mistake((), f"found {what}, allowed is a map with {', '.join(KEYS)}")
        return sections
    _only(document, (), given, KEYS, "key")
    if "extends" in given:
        sections.extends = _text(document, ("extends",), given["extends"], "the name of a preset or a file")
    if "schedulerNames" in given:
        sections.scheduler_names = _scheduler_names(document, given["schedulerNames"])
    if "actions" in given:
        sections.actions = _named(document, "actions", given["actions"], _action)
    if "plugins" in given:
        sections.plugins = _named(document, "plugins", given["plugins"], _plugin)
    if "share" in given:
        sections.share = _share(document, given["share"])
    if "search" in given:
        sections.search_steps = _search(document, given["search"])
    _read_tables(document, given, sections)
    return sections


def _read_tables(document: Document, given: Mapping[str, Any], sections: Sections) -> None:
    """Read what a policy knows of the cluster."""
    if "devices" in given:
        sections.devices = _devices(document, given["devices"])
    if "charges" in given:
        sections.charges = read_charges(document, given["charges"])
    if "topology" in given:
        sections.levels = read_levels(document, given["topology"])


def _devices(document: Document, given: Any) -> tuple[str, ...]:
    """Read the table of resources that are devices. An empty one says that nothing but what nodes describe is."""
    if not isinstance(given, list):
        document.mistake(("devices",), f"found {shown(given)}, allowed is a list of resources such as nvidia.com/gpu")
        return ()
    for position, name in enumerate(given):
        if not isinstance(name, str) or not _DEVICE.fullmatch(name):
            document.mistake(
                ("devices", position),
                f"found {shown(name)}, allowed is a resource such as nvidia.com/gpu or nvidia.com/mig-*",
            )
        elif name in given[:position]:
            document.mistake(("devices", position), f"{name} is listed twice")
    return tuple(name for name in given if isinstance(name, str))


def _scheduler_names(document: Document, given: Any) -> tuple[str, ...]:
    path: Path = ("schedulerNames",)
    if not isinstance(given, list) or not given:
        document.mistake(path, f"found {shown(given)}, allowed is a list of at least one scheduler name")
        return ()
    names = [_text(document, (*path, position), name, "a scheduler name") for position, name in enumerate(given)]
    for position, name in enumerate(names):
        if name is not None and name in names[:position]:
            document.mistake((*path, position), f"{name} is listed twice")
    return tuple(name for name in names if name is not None)


def _named(
    document: Document, key: str, given: Any, read: Callable[[Document, Path, str, Mapping[str, Any]], Made | None]
) -> tuple[Made, ...]:
    """Read a list of `{name: …}` entries, in which no name comes twice."""
    if not isinstance(given, list):
        document.mistake((key,), f"found {shown(given)}, allowed is a list of {{name: …}}")
        return ()
    made: list[Made] = []
    seen: dict[str, int] = {}
    for position, entry in enumerate(given):
        path: Path = (key, position)
        if not isinstance(entry, Mapping):
            document.mistake(path, f"found {shown(entry)}, allowed is a map such as {{name: …}}")
            continue
        name = _text(document, (*path, "name"), entry.get("name"), "a name")
        if name is None:
            continue
        if name in seen:
            document.mistake((*path, "name"), f"{name} is listed already, as {key}[{seen[name]}]")
        seen.setdefault(name, position)
        one = read(document, path, name, entry)
        if one is not None:
            made.append(one)
    return tuple(made)


def _action(document: Document, path: Path, name: str, entry: Mapping[str, Any]) -> Action | None:
    _only(document, path, entry, ("name", "arguments"), "key")
    try:
        cls = action_class(name)
    except RegistryError as error:
        document.mistake((*path, "name"), f"{shown(name)}: {error}")
        return None
    return make(document, (*path, "arguments"), cls, _arguments(entry))


def _plugin(document: Document, path: Path, name: str, entry: Mapping[str, Any]) -> Weighted | None:
    _only(document, path, entry, ("name", "weight", "arguments"), "key")
    weight = _weight(document, (*path, "weight"), entry.get("weight", 1))
    try:
        cls: type[Plugin] = plugin_class(name)
    except RegistryError as error:
        document.mistake((*path, "name"), f"{shown(name)}: {error}")
        return None
    plugin = make(document, (*path, "arguments"), cls, _arguments(entry))
    return None if plugin is None else Weighted(plugin, weight)


def _arguments(entry: Mapping[str, Any]) -> Any:
    """Return the arguments; an empty `arguments:` is none of them."""
    given = entry.get("arguments")
    return {} if given is None else given


def _weight(document: Document, path: Path, given: Any) -> float:
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if not number or not math.isfinite(given) or not 0 <= given <= WEIGHT_MAX:
        document.mistake(path, f"found {shown(given)}, allowed is a number from 0 to {WEIGHT_MAX}")
        return 0.0
    return float(given)


def _share(document: Document, given: Any) -> Share | None:
    path: Path = ("share",)
    if not isinstance(given, Mapping):
        document.mistake(path, f"found {shown(given)}, allowed is a map with name, arguments")
        return None
    _only(document, path, given, ("name", "arguments"), "key")
    name = _text(document, (*path, "name"), given.get("name"), "a name")
    if name is None:
        return None
    try:
        cls = share_class(name)
    except RegistryError as error:
        document.mistake((*path, "name"), f"{shown(name)}: {error}")
        return None
    return make(document, (*path, "arguments"), cls, _arguments(given))


def _search(document: Document, given: Any) -> int | None:
    if not isinstance(given, Mapping):
        document.mistake(("search",), f"found {shown(given)}, allowed is a map with steps")
        return None
    _only(document, ("search",), given, ("steps",), "key")
    steps = given.get("steps")
    if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= STEPS_MAX:
        what = "missing" if steps is None else f"found {shown(steps)}"
        document.mistake(("search", "steps"), f"{what}, allowed is a whole number from 1 to {STEPS_MAX}")
        return None
    return steps


def _text(document: Document, path: Path, given: Any, allowed: str) -> str | None:
    if isinstance(given, str) and given.strip():
        return given
    what = "missing" if given is None else f"found {shown(given)}"
    document.mistake(path, f"{what}, allowed is {allowed}")
    return None


def _only(document: Document, path: Path, given: Mapping[str, Any], allowed: tuple[str, ...], what: str) -> None:
    for key in given:
        if key not in allowed:
            document.mistake((*path, key), unknown(what, key, allowed))
