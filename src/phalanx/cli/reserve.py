"""`phalanx reserve`: the program in the pods that keep shared GPUs. Nobody else has use for it."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from phalanx.cli.output import Mistake


def register(app: App) -> None:
    """Add the command."""
    app.command(reserve)


def reserve(
    *,
    once: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    to: str = "/dev/termination-log",
    library: str = "libnvidia-ml.so.1",
) -> int:
    """Say which GPU the pod that we run in was given, and keep it until told to go.

    The scheduler makes such pods itself, one for each GPU that pods share, so that the kubelet and other schedulers
    see it taken. There is no need to start this by hand.

    Parameters
    ----------
    once
        Say it, and end.
    to
        Where it is said with --once: the kubelet copies what is there into the pod's status.
    library
        NVIDIA's management library (NVML). Where there is none, what the device plugin wrote into
        NVIDIA_VISIBLE_DEVICES counts, and it is said that there is none.
    """
    from phalanx.cli.nvml import own_devices  # noqa: PLC0415 (who asks for help has no use for it)

    # Whoever tells us to go while we look must find us listening.
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    found = own_devices(library, os.environ.get("NVIDIA_VISIBLE_DEVICES", ""))
    said = json.dumps({"ids": found.ids, "why": found.why})
    sys.stdout.write(f"{said}\n")
    sys.stdout.flush()
    if once:
        try:
            Path(to).write_text(said)
        except OSError as error:
            raise Mistake(f"--to {to}: cannot be written: {os.strerror(error.errno or 0).lower()}") from None
        return 0
    signal.sigwait(ends)
    return 0
