"""`phalanx policy show|check|import`: print presets and what files amount to, find mistakes, take files over."""

from typing import Annotated

from cyclopts import App, Parameter

from phalanx.cli.output import Mistake


def register(app: App) -> None:
    """Add the commands."""
    policy = App(name="policy", help="Print a preset; check a policy file; make one from another scheduler's.")
    policy.command(show)
    policy.command(check)
    policy.command(import_, name="import")
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
    # Plugins and the engine are loaded only now: `phalanx policy --help` does without.
    from phalanx.cli import policies  # noqa: PLC0415

    print(policies.listed() if list_ else policies.shown(policy), end="")


def check(*files: str) -> None:
    """Check policy files: every mistake with its line and what is allowed, and what would not be honoured.

    Parameters
    ----------
    files
        Policy files, or names of presets.
    """
    if not files:
        raise Mistake("policy check: name at least one policy file")
    from phalanx.cli import policies  # noqa: PLC0415 (as above)

    policies.check(files)


def import_(file: str, /) -> None:
    """Print a policy made of Volcano's scheduler configuration, with a comment for all that has no equal here.

    Parameters
    ----------
    file
        `volcano-scheduler.conf`, or the ConfigMap that has it.
    """
    from phalanx.cli import policies  # noqa: PLC0415 (as above)

    print(policies.imported(file), end="")
