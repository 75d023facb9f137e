"""`phalanx install --print`: the manifests that put Phalanx on a cluster."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from phalanx.cli.output import Mistake

Print = Annotated[bool, Parameter(name="--print", negative=(), show_default=False)]
Files = Annotated[tuple[Path, ...], Parameter(name="--values", negative=(), show_default=False)]
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]


def register(app: App) -> None:
    """Add the command."""
    app.command(install)


def install(
    *,
    print_: Print = False,
    namespace: str = "phalanx-system",
    name: str = "phalanx",
    values: Files = (),
    image: str | None = None,
    scheduler_name: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)] = (),
    admission: Flag = False,
    no_crds: Flag = False,
    crds_only: Flag = False,
) -> None:
    """Print the manifests that put Phalanx on a cluster.

    `phalanx install --print | kubectl apply -f -` installs. This command itself never writes to a cluster.

    Parameters
    ----------
    print_
        Print them.
    namespace
        Where Phalanx lives.
    name
        What this installation is called; its objects bear the name.
    values
        A file of values, as for the Helm chart; may be repeated, later ones count more.
    image
        The image that you built and pushed.
    scheduler_name
        The spec.schedulerName of pods that are ours, "phalanx" by default. May be repeated.
    admission
        With the policies by which the API server judges what people apply.
    no_crds
        Leave the definition of Queues out.
    crds_only
        Print the definition of Queues alone.
    """
    # Here and not above: whoever asks for help need not wait for it.
    from phalanx.cli.installing import installation, mistakes  # noqa: PLC0415
    from phalanx.kube.install import manifests  # noqa: PLC0415

    if not print_:
        raise Mistake("install: --print is missing; phalanx install --print | kubectl apply -f - installs")
    if no_crds and crds_only:
        raise Mistake("install: found --no-crds and --crds-only, allowed is one of them")
    with mistakes("install"):
        chosen = installation(name, namespace, values, image, scheduler_name, admission=admission)
        print(manifests(chosen, crds=not no_crds, others=not crds_only), end="")
