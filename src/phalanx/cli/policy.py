"""`phalanx policy show|check`: print a preset or what a file amounts to; find every mistake in policy files."""

from typing import Annotated

from cyclopts import App, Parameter

from phalanx.cli.output import Mistake
from phalanx.engine.policy import Policy
from phalanx.policy.advice import warnings
from phalanx.policy.load import PolicyError, load_policy, preset_names, preset_text
from phalanx.policy.registry import ACTIONS, PLUGINS, offered, origin, package
from phalanx.policy.show import resolved


def register(app: App) -> None:
    """Add the commands."""
    policy = App(name="policy", help="Print a preset; check a policy file.")
    policy.command(show)
    policy.command(check)
    app.command(policy)


def show(
    policy: str = "default",
    /,
    *,
    list_: Annotated[bool, Parameter(name="--list", negative=())] = False,
) -> None:
    """Print a preset as it ships, or a policy file with all that it extends and every default written out.

    Parameters
    ----------
    policy
        The name of a preset, or a file.
    list_
        List the presets, the plugins (built in and by entry point) and the actions instead.
    """
    if list_:
        print(_listed(), end="")
    elif policy in preset_names():
        print(preset_text(policy), end="")
    else:
        print(resolved(_loaded(policy)), end="")


def check(*files: str) -> None:
    """Check policy files: every mistake with its line and what is allowed, and what would not be honoured.

    Parameters
    ----------
    files
        Policy files, or names of presets.
    """
    if not files:
        raise Mistake("policy check: name at least one policy file")
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


def _listed() -> str:
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
