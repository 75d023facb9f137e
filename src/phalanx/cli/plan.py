"""`phalanx plan`: say what the scheduler would do with these Kubernetes objects."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter, Token

from phalanx.cli.output import Mistake

#: Nothing to turn off, and no default worth showing.
_BARE: dict[str, Any] = {"negative": (), "show_default": False}


def register(app: App) -> None:
    """Add the command."""
    app.command(plan)


def _whole(_: object, tokens: Sequence[Token]) -> int:
    """Read a whole number. The library would read 1.5 as 1."""
    text = tokens[0].value
    if not text.isascii() or not text.isdigit() or len(text) > 6:
        raise ValueError(f"found {text}, allowed is a whole number from 1 to 999999")
    return int(text)


def plan(
    *more: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    file: Annotated[tuple[str, ...], Parameter(name=["--file", "-f"], allow_leading_hyphen=True, **_BARE)] = (),
    output: Annotated[Literal["text", "json", "yaml"], Parameter(name=["--output", "-o"])] = "text",
    cycles: Annotated[int, Parameter(converter=_whole)] = 1,
    now: str | None = None,
    policy: str = "default",
    scheduler_name: Annotated[tuple[str, ...], Parameter(**_BARE)] = (),
    strict: Annotated[bool, Parameter(**_BARE)] = False,
    timings: Annotated[bool, Parameter(**_BARE)] = False,
    live: Annotated[bool, Parameter(**_BARE)] = False,
    kubeconfig: str | None = None,
    context: str | None = None,
) -> None:
    """Say what the scheduler would do with these Kubernetes objects.

    Reads Nodes, Pods (with spec.nodeName they already run) and whatever describes them, in any mix of YAML and
    JSON. Jobs, Deployments, ReplicaSets, StatefulSets and Volcano's Jobs without pods are expanded into them.

    Parameters
    ----------
    file
        A manifest, a directory of them (read recursively), or - for standard input. May be repeated, or followed
        by several.
    output
        text for people; json or yaml for programs.
    cycles
        How many times the scheduler decides, a minute apart.
    now
        When the first cycle is, such as 2026-11-01T12:00:00Z. Default: the latest creation or start of a pod.
    policy
        The name of a preset, or a policy file.
    scheduler_name
        Pods with this spec.schedulerName are ours too. May be repeated.
    strict
        Any object or file that cannot be used is an error: nothing is planned.
    timings
        Print how long each stage took, and the memory used, on standard error.
    live
        Read a live cluster once, at its own time, and plan for it; nothing is written. What -f gives comes on top: an
        object replaces the cluster's of the same name.
    kubeconfig
        With --live: a kubeconfig file. Without it: KUBECONFIG, the usual file, or the service account of the pod we
        run in.
    context
        With --live: the context in it, if not the current one.
    """
    files = [*file, *more]
    if not (files or live):
        raise Mistake(
            "plan: -f is missing; give a manifest, a directory, or - for standard input, or --live for your cluster"
        )
    if odd := next((name for name in files if name.startswith("-") and name != "-"), None):
        raise Mistake(f"plan: unknown option {odd}; see phalanx plan --help")
    if (kubeconfig or context) and not live:
        raise Mistake("plan: found --kubeconfig or --context without --live; with --live a cluster is read")
    if live and now is not None:
        raise Mistake("plan: --now: a cluster has its own time, allowed is --now only without --live")
    if cycles < 1:
        raise Mistake(f"plan: --cycles: found {cycles}, allowed is 1 or more")
    # Arrays, YAML and the engine are loaded only now: `phalanx --help` does without.
    from phalanx.cli import planning  # noqa: PLC0415

    wish = planning.Wish(files, output, cycles, now, policy, scheduler_name, strict, timings, live, kubeconfig, context)
    planning.run(wish)
