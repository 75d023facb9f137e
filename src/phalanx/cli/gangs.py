"""`phalanx gangs`: the gangs of a cluster, where they are and why they wait."""

from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from phalanx.cli.output import Mistake

#: Nothing to turn off, and no default worth showing.
_BARE: dict[str, Any] = {"negative": (), "show_default": False}


def register(app: App) -> None:
    """Add the command."""
    app.command(gangs)


def gangs(
    *more: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    namespace: Annotated[str | None, Parameter(name=["--namespace", "-n"])] = None,
    all_namespaces: Annotated[bool, Parameter(name=["--all-namespaces", "-A"], **_BARE)] = False,
    output: Annotated[Literal["text", "wide", "json", "yaml"], Parameter(name=["--output", "-o"])] = "text",
    watch: Annotated[bool, Parameter(name=["--watch", "-w"], **_BARE)] = False,
    file: Annotated[tuple[str, ...], Parameter(name=["--file", "-f"], allow_leading_hyphen=True, **_BARE)] = (),
    kubeconfig: str | None = None,
    context: str | None = None,
    policy: str = "default",
    scheduler_name: Annotated[tuple[str, ...], Parameter(**_BARE)] = (),
) -> None:
    """Show the gangs: queue, members, minimum, where they are, how long, and why they wait.

    As the objects tell it: nothing is decided, and nothing is written. Why a gang waits is what its pods were last told
    by the scheduler that runs. A pod in no group is a gang of one. What has ended is left out.

    Parameters
    ----------
    namespace
        The namespace to show. Default: that of the kubeconfig's context, as for kubectl; with -f, all of them.
    all_namespaces
        Show the gangs of all namespaces.
    output
        text; wide for all nodes, the whole reason and the priority; json or yaml for programs.
    watch
        Show them again when something changes, until Ctrl-C.
    file
        Manifests instead of a cluster: a file, a directory of them (read recursively), or - for standard input. May be
        repeated, or followed by several.
    kubeconfig
        A kubeconfig file. Without it: KUBECONFIG, the usual file, or the service account of the pod we run in.
    context
        The context in it, if not the current one.
    policy
        The name of a preset, or a policy file: it says whose pods are ours.
    scheduler_name
        Pods with this spec.schedulerName are ours too. May be repeated.
    """
    files = [*file, *more]
    if odd := next((name for name in files if name.startswith("-") and name != "-"), None):
        raise Mistake(f"gangs: unknown option {odd}; see phalanx gangs --help")
    if more and not file:
        raise Mistake(f"gangs: found {more[0]}, allowed are options alone: -n NAMESPACE, or -f FILE for manifests")
    if files and (kubeconfig or context or watch):
        raise Mistake("gangs: found -f with --kubeconfig, --context or --watch, allowed is one of files and a cluster")
    if namespace is not None and all_namespaces:
        raise Mistake("gangs: found --namespace and --all-namespaces, allowed is one of them")
    if watch and output not in {"text", "wide"}:
        raise Mistake(f"gangs: --watch with -o {output}: allowed with --watch are text and wide")
    # Arrays, YAML and the engine are loaded only now: `phalanx --help` does without.
    from phalanx.cli import gang_looking  # noqa: PLC0415

    where = gang_looking.Source(files, kubeconfig, context, namespace, all_namespaces or bool(files and not namespace))
    gang_looking.run(gang_looking.Wish(where, output, watch, policy, scheduler_name))
