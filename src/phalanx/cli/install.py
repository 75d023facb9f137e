"""`phalanx install --print`: the manifests that put Phalanx on a cluster."""

from typing import Annotated

from cyclopts import App, Parameter

from phalanx import __version__
from phalanx.cli.output import Mistake


def register(app: App) -> None:
    """Add the command."""
    app.command(install)


def install(
    *,
    print_: Annotated[bool, Parameter(name="--print", negative=(), show_default=False)] = False,
    namespace: str = "phalanx-system",
    image: str = f"phalanx:{__version__}",
    scheduler_name: Annotated[tuple[str, ...], Parameter(negative=())] = ("phalanx",),
) -> None:
    """Print the manifests that put Phalanx on a cluster.

    `phalanx install --print | kubectl apply -f -` installs. This command itself never writes to a cluster.

    Parameters
    ----------
    print_
        Print them.
    namespace
        Where Phalanx lives.
    image
        The image that you built and pushed.
    scheduler_name
        The spec.schedulerName of pods that are ours. May be repeated.
    """
    from phalanx.kube.install import InstallError, manifests  # noqa: PLC0415 (only when it is needed)

    if not print_:
        raise Mistake("install: --print is missing; phalanx install --print | kubectl apply -f - installs")
    try:
        print(manifests(namespace, image, scheduler_name), end="")
    except InstallError as error:
        raise Mistake(f"install: {error}") from None
