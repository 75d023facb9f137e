"""`phalanx queues`: the queue tree with quota, share, allocated, pending and borrowed, from files or a live cluster."""

from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from phalanx.cli.output import Mistake

#: Nothing to turn off, and no default worth showing.
_BARE: dict[str, Any] = {"negative": (), "show_default": False}
WIDTH_MAX = 1000


def register(app: App) -> None:
    """Add the command."""
    app.command(queues)


def queues(
    *more: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    file: Annotated[tuple[str, ...], Parameter(name=["--file", "-f"], allow_leading_hyphen=True, **_BARE)] = (),
    kubeconfig: str | None = None,
    context: str | None = None,
    output: Annotated[Literal["text", "json", "yaml"], Parameter(name=["--output", "-o"])] = "text",
    resource: Annotated[tuple[str, ...], Parameter(**_BARE)] = (),
    width: int | None = None,
    now: str | None = None,
    policy: str = "default",
    scheduler_name: Annotated[tuple[str, ...], Parameter(**_BARE)] = (),
) -> None:
    """Show the queue tree: what each queue is guaranteed, is entitled to, has, borrows and asks for.

    As things are now: nothing is decided. Without -f the queues of a live cluster are shown.

    Parameters
    ----------
    file
        A manifest, a directory of them (read recursively), or - for standard input. May be repeated, or followed
        by several.
    kubeconfig
        A kubeconfig file. Without it: KUBECONFIG, the usual file, or the service account of the pod we run in.
    context
        The context in it, if not the current one.
    output
        text for people; json or yaml for programs, with every resource.
    resource
        The resource to draw, such as gpu, cpu or memory; may be repeated. Default: every device that some queue
        lists, or else cpu.
    width
        How many columns to use. Default: the terminal's.
    now
        With -f, when to look, such as 2026-11-01T12:00:00Z. Default: the latest creation or start of a pod.
    policy
        The name of a preset, or a policy file: it says how shares are divided, and whose pods are ours.
    scheduler_name
        Pods with this spec.schedulerName are ours too. May be repeated.
    """
    files = [*file, *more]
    if odd := next((name for name in files if name.startswith("-") and name != "-"), None):
        raise Mistake(f"queues: unknown option {odd}; see phalanx queues --help")
    if more and not file:
        raise Mistake(f"queues: found {more[0]}, allowed are options alone: -f {more[0]}, if that is a file")
    if files and (kubeconfig or context):
        raise Mistake("queues: found -f with --kubeconfig or --context, allowed is one of files and a cluster")
    if now is not None and not files:
        raise Mistake("queues: --now: a cluster has its own time, allowed is --now only with -f")
    if width is not None and not 1 <= width <= WIDTH_MAX:
        raise Mistake(f"queues: --width: found {width}, allowed is a whole number from 1 to {WIDTH_MAX}")
    # Arrays, YAML and the engine are loaded only now: `phalanx --help` does without.
    from phalanx.cli import queue_looking  # noqa: PLC0415

    source = queue_looking.Source(files, now, kubeconfig, context)
    queue_looking.run(queue_looking.Wish(source, output, resource, width, policy, scheduler_name))
