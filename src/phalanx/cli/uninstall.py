"""`phalanx uninstall --print`: the objects of an installation, for kubectl to delete."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from phalanx.cli.output import Mistake

Print = Annotated[bool, Parameter(name="--print", negative=(), show_default=False)]
Files = Annotated[tuple[Path, ...], Parameter(name="--values", negative=(), show_default=False)]
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]


def register(app: App) -> None:
    """Add the command."""
    app.command(uninstall)


def uninstall(
    *,
    print_: Print = False,
    namespace: str = "phalanx-system",
    name: str = "phalanx",
    values: Files = (),
    with_queues: Flag = False,
) -> None:
    """Print the objects to delete, so that Phalanx is gone and every Queue stays.

    `phalanx uninstall --print | kubectl delete --ignore-not-found -f -` removes. This command itself never writes to a
    cluster.

    Parameters
    ----------
    print_
        Print them.
    namespace
        Where Phalanx lives.
    name
        What the installation is called.
    values
        The files of values that it was installed with: a ServiceMonitor, admission.defaults and .gpus are named only if
        they ask for them.
    with_queues
        The definition of Queues as well, and with it every Queue of the cluster, also those of other installations.
    """
    # Here and not above: whoever asks for help need not wait for it.
    from phalanx.cli.installing import installation, mistakes  # noqa: PLC0415
    from phalanx.kube.install import QUEUE_CRD, removal  # noqa: PLC0415

    if not print_:
        raise Mistake(
            "uninstall: --print is missing; phalanx uninstall --print | kubectl delete --ignore-not-found -f - removes"
        )
    with mistakes("uninstall"):
        text = removal(installation(name, namespace, values), queues=with_queues)
    print(text, end="")
    if not values:
        print(
            "a ServiceMonitor, admission.defaults and .gpus are named only with the --values that asked for them "
            "(none does anything once the rest is gone)",
            file=sys.stderr,
        )
    print(f"the namespace stays: kubectl delete namespace {namespace}", file=sys.stderr)
    if with_queues:
        print(
            "every Queue of the cluster goes with its definition, and the API server refuses that before: "
            f"kubectl annotate crd {QUEUE_CRD} phalanx.dev/delete-queues=true",
            file=sys.stderr,
        )
    else:
        print(f"every Queue stays, with its definition crd/{QUEUE_CRD}; --with-queues removes them", file=sys.stderr)
