"""Build or run a local control plane from the command line: `python -m phalanx.kube.local build|run`."""

import argparse
import signal
import sys
from contextlib import suppress

from phalanx.kube.local import VERSIONS, ControlPlane, LocalError
from phalanx.kube.local.binaries import binaries
from phalanx.kube.local.versions import COMMANDS, DEFAULT, wanted


def main() -> int:
    """Build every program of one Kubernetes version, or start a control plane and keep it until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m phalanx.kube.local", description=main.__doc__)
    parser.add_argument("action", choices=("build", "run"))
    parser.add_argument("--version", help=f"{', '.join(VERSIONS)}; else the environment's K8S, else {DEFAULT}")
    parser.add_argument("--scheduler", action="store_true", help="also start kube-scheduler")
    parser.add_argument("--kwok", action="store_true", help="also start pretend kubelets (KWOK)")
    chosen = parser.parse_args()
    try:
        if chosen.action == "run":
            return _run(ControlPlane(wanted(chosen.version), scheduler=chosen.scheduler, kwok=chosen.kwok))
        for name, path in binaries(COMMANDS, wanted(chosen.version)).items():
            sys.stdout.write(f"{name:24}{path}\n")
    except LocalError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _run(control_plane: ControlPlane) -> int:
    with control_plane as running:
        sys.stdout.write(f"export KUBECONFIG={running.kubeconfig}\n")
        sys.stdout.flush()
        sys.stderr.write(f"Kubernetes {running.version} runs at {running.url} until Ctrl-C\n")
        with suppress(KeyboardInterrupt):
            signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main())
