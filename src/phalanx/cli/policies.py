"""What `phalanx policy` prints: a preset or what a file amounts to, and every mistake in policy files."""

from pathlib import Path

from phalanx.cli.output import Mistake
from phalanx.engine.policy import Policy
from phalanx.policy import import_volcano
from phalanx.policy.advice import warnings
from phalanx.policy.load import PolicyError, load_policy, preset_names, preset_text
from phalanx.policy.registry import ACTIONS, PLUGINS, offered, origin, package
from phalanx.policy.show import resolved


def shown(policy: str) -> str:
    """Return a preset as it ships, or a policy file with all that it extends."""
    return preset_text(policy) if policy in preset_names() else resolved(_loaded(policy))


def check(files: tuple[str, ...]) -> None:
    """Print what each file is worth; raise every mistake in them together."""
    mistakes: list[str] = []
    for file in files:
        try:
            policy = load_policy(file)
        except PolicyError as error:
            mistakes.append(str(error))
            continue
        print(f"{file}: ok")
        for line in [*_origins(policy), *(f"warning: {warning}" for warning in warnings(policy))]:
            print(f"  {line}")
    if mistakes:
        raise Mistake("\n".join(mistakes))


def imported(file: str) -> str:
    """Return a policy made of another scheduler's configuration."""
    try:
        return import_volcano.imported(Path(file).read_bytes(), Path(file).name)
    except OSError as error:
        raise Mistake(f"{file}: {(error.strerror or str(error)).lower()}") from None
    except import_volcano.VolcanoError as mistake:
        raise Mistake(str(mistake)) from None


def _loaded(name: str) -> Policy:
    try:
        return load_policy(name)
    except PolicyError as error:
        raise Mistake(str(error)) from None


def _origins(policy: Policy) -> list[str]:
    """Say which plugins are built in and which come from where."""
    by_origin: dict[str, list[str]] = {}
    for weighted in policy.plugins:
        by_origin.setdefault(origin(weighted.plugin.name), []).append(weighted.plugin.name)
    own_first = sorted(by_origin.items(), key=lambda item: item[0] != "built in")
    return [f"{where}: {', '.join(names)}" for where, names in own_first]


def listed() -> str:
    """Return everything that a policy file can name."""
    presets = [(name, preset_text(name).partition("\n")[0].lstrip("# ")) for name in preset_names()]
    others = [
        (name, "ignored: a built-in has this name" if name in PLUGINS else ", ".join(map(package, points)))
        for name, points in offered().items()
    ]
    tables = {
        "presets": presets,
        "plugins, built in": [(name, _first_line(cls)) for name, cls in PLUGINS.items()],
        "plugins, by entry point": others or [("none", "")],
        "actions": [(name, _first_line(cls)) for name, cls in ACTIONS.items()],
    }
    text = ""
    for title, rows in tables.items():
        width = max(len(name) for name, _ in rows)
        text += f"{title}\n" + "".join(f"  {name:{width}}  {what}".rstrip() + "\n" for name, what in rows)
    return text


def _first_line(cls: type) -> str:
    return (cls.__doc__ or "").partition("\n")[0]
