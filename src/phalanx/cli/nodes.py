"""`phalanx nodes`: the nodes of a cluster with their devices, who has some, and what is left."""

from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from phalanx.cli.output import Mistake

#: Nothing to turn off, and no default worth showing.
_BARE: dict[str, Any] = {"negative": (), "show_default": False}


def register(app: App) -> None:
    """Add the command."""
    app.command(nodes)


def nodes(
    *more: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    file: Annotated[tuple[str, ...], Parameter(name=["--file", "-f"], allow_leading_hyphen=True, **_BARE)] = (),
    output: Annotated[Literal["text", "wide", "json", "yaml"], Parameter(name=["--output", "-o"])] = "text",
    kubeconfig: str | None = None,
    context: str | None = None,
    policy: str = "default",
    scheduler_name: Annotated[tuple[str, ...], Parameter(**_BARE)] = (),
) -> None:
    """Show the nodes: their GPUs and other devices, model and memory, who has some, what is left, what is cordoned.

    As the objects tell it: nothing is decided, and nothing is written. Every pod on a node counts, whoever placed it.
    Without -f the nodes of a live cluster are shown.

    Parameters
    ----------
    file
        Manifests instead of a cluster: a file, a directory of them (read recursively), or - for standard input. May be
        repeated, or followed by several.
    output
        text; wide for nodes without devices too, every pod by name, and each device that is described; json or yaml
        for programs.
    kubeconfig
        A kubeconfig file. Without it: KUBECONFIG, the usual file, or the service account of the pod we run in.
    context
        The context in it, if not the current one.
    policy
        The name of a preset, or a policy file: it says which resources are devices, and whose pods are ours.
    scheduler_name
        Pods with this spec.schedulerName are ours too: they are shown by gang. May be repeated.
    """
    files = [*file, *more]
    if odd := next((name for name in files if name.startswith("-") and name != "-"), None):
        raise Mistake(f"nodes: unknown option {odd}; see phalanx nodes --help")
    if more and not file:
        raise Mistake(f"nodes: found {more[0]}, allowed are options alone: -f {more[0]}, if that is a file")
    if files and (kubeconfig or context):
        raise Mistake("nodes: found -f with --kubeconfig or --context, allowed is one of files and a cluster")
    # Arrays, YAML and the engine are loaded only now: `phalanx --help` does without.
    from phalanx.cli import node_looking  # noqa: PLC0415

    node_looking.run(node_looking.Wish(files, output, kubeconfig, context, policy, scheduler_name))
