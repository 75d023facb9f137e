"""`phalanx playground`: a real local control plane, pretend GPU nodes and Phalanx, for people without a cluster."""

import re
import shlex
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from phalanx.cli.output import Mistake, counted, safe

if TYPE_CHECKING:
    from phalanx.kube.playground import Playground, Size

#: More pretend nodes than this take minutes to make, and a benchmark is the better place for them.
_NODES_MAX = 1000
_GPUS_MAX = 64
_LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII)
#: Seconds between looks at the log, and at whether all processes are alive.
_LOOK = 0.3


def register(app: App) -> None:
    """Add the command."""
    app.command(playground)


def playground(
    *,
    nodes: int = 8,
    gpus: int = 8,
    model: str = "H100",
    racks: int = 2,
    k8s: str | None = None,
    policy: str = "default",
    for_: Annotated[str | None, Parameter(name="--for", show_default=False)] = None,
) -> None:
    """Start a real Kubernetes control plane on this machine, with pretend GPU nodes and Phalanx, until Ctrl-C.

    Parameters
    ----------
    nodes
        How many nodes there are.
    gpus
        How many GPUs each of them has.
    model
        The model of the GPUs, as the label nvidia.com/gpu.product has it.
    racks
        How many racks the nodes are in, as the label topology.kubernetes.io/rack has it.
    k8s
        The Kubernetes version: 1.35, 1.36 or 1.37. Without it: the environment's K8S, else 1.36.
    policy
        The name of a preset, or a file that is looked at again when it changes.
    for_
        End by itself after this duration, such as 10m.
    """
    # Here and not above: whoever asks for help need not wait for the network libraries.
    try:
        from phalanx.kube.local import VERSIONS, LocalError  # noqa: PLC0415
    except ModuleNotFoundError as lacking:
        if lacking.name != "cryptography":
            raise
        raise Mistake(f"playground: {lacking.msg}") from None
    from phalanx.kube.local.binaries import binaries  # noqa: PLC0415
    from phalanx.kube.local.versions import COMMANDS, wanted  # noqa: PLC0415
    from phalanx.kube.playground import Size  # noqa: PLC0415
    from phalanx.kube.playground import playground as run  # noqa: PLC0415

    _check_number("--nodes", nodes, _NODES_MAX)
    _check_number("--gpus", gpus, _GPUS_MAX)
    _check_number("--racks", racks, nodes)
    if not _LABEL.fullmatch(model):
        raise Mistake(f"--model: found {safe(model[:80])}, allowed is the value of a label, such as H100")
    if k8s is not None and k8s not in VERSIONS:
        raise Mistake(f"--k8s: found {safe(k8s[:80])}, allowed are {', '.join(VERSIONS)}")
    seconds = _seconds(for_)
    size = Size(nodes, gpus, model, racks)
    found = _policy(policy)
    # Whoever ends us in another way than Ctrl-C wants the same.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        version = wanted(k8s)
        binaries(COMMANDS, version)
        print("Starting Kubernetes…", file=sys.stderr, flush=True)
        with run(version, size, found) as running:
            print(_welcome(running, size, policy), flush=True)
            with suppress(KeyboardInterrupt):
                _tell(running, seconds)
            print("Ending, and leaving nothing behind…", file=sys.stderr, flush=True)
    except LocalError as error:
        raise Mistake(str(error)) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _check_number(option: str, found: int, most: int) -> None:
    if not 1 <= found <= most:
        raise Mistake(f"{option}: found {found}, allowed is a whole number from 1 to {most}")


def _seconds(text: str | None) -> float | None:
    from phalanx.model.duration import DurationError, seconds  # noqa: PLC0415

    try:
        return None if text is None else seconds(text)
    except DurationError as error:
        raise Mistake(f"--for: {error}") from None


def _policy(name: str) -> str:
    """Return the policy as another process finds it, after seeing that it is one."""
    from phalanx.policy.load import PolicyError, load_policy, preset_names  # noqa: PLC0415

    try:
        load_policy(name)
    except PolicyError as error:
        raise Mistake(str(error)) from None
    return name if name in preset_names() else str(Path(name).absolute())


def _welcome(running: "Playground", size: "Size", policy: str) -> str:
    from phalanx.kube.local.binaries import find  # noqa: PLC0415

    plane = running.plane
    # A kubectl of their own, or else the one that was built here.
    kubectl = "kubectl" if shutil.which("kubectl") else shlex.quote(str(find("kubectl", plane.version)))
    example = shlex.quote(str(running.example))
    return (
        f"Kubernetes {plane.version} at {plane.url}: {counted(size.nodes, 'node')} with "
        f"{counted(size.gpus, f'{size.model} GPU')} each, in {counted(size.racks, 'rack')}; "
        f"Phalanx schedules by the policy {safe(policy)}.\n"
        f"\n"
        f"Try, in another terminal:\n"
        f"\n"
        f"    export KUBECONFIG={shlex.quote(str(plane.kubeconfig))}\n"
        f"    {kubectl} apply -f {example}   # two gangs that do not fit together\n"
        f"    {kubectl} get pods -o wide   # finetune runs; pretrain waits whole, and starts when finetune ends\n"
        f"    {kubectl} describe pod pretrain-0   # its last lines say why\n"
        f"\n"
        f"Pods with schedulerName: phalanx are Phalanx's, all others kube-scheduler's. Ctrl-C ends it. Phalanx says:\n"
    )


def _tell(running: "Playground", seconds: float | None) -> None:
    """Print what the scheduler says, until the time is over."""
    until = None if seconds is None else time.monotonic() + seconds
    told = 0
    while until is None or time.monotonic() < until:
        *lines, _ = running.log()[told:].split("\n")
        for line in lines:
            print(safe(line), flush=True)
            told += len(line) + 1
        running.check()
        time.sleep(_LOOK)
