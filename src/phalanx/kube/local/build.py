"""Build the programs of a control plane from their Go modules, once, into a folder of the user's cache."""

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from phalanx.kube.local.errors import LocalError, MissingError
from phalanx.kube.local.progress import PLAIN_SECONDS, Progress
from phalanx.kube.local.versions import Module

_ERROR_LINES = 15


def build(module: Module, commands: Sequence[str], folder: Path) -> None:
    """Build those of the commands that the folder lacks. Each appears there whole or not at all."""
    go = shutil.which("go")
    if go is None:
        raise MissingError(_advice(module, commands))
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder / "lock", module.label):
        # Left by a build that was killed: the lock says that nobody works in it now.
        unfinished = folder / "unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        try:
            for command in commands:
                if not (folder / command).exists():
                    _go_build(go, module, command, unfinished / command)
                    (unfinished / command).rename(folder / command)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def _advice(module: Module, commands: Sequence[str]) -> str:
    major, minor = module.minor
    return (
        f"{', '.join(commands)} (version {major}.{minor}) not found: install Go {module.go} or newer to build it here, "
        f"or point KUBEBUILDER_ASSETS at a folder that holds it"
    )


@contextmanager
def _alone(path: Path, label: str) -> Iterator[None]:
    """Hold the folder's lock; the kernel gives it back when a holder dies, however it dies."""
    with path.open("w") as lock:
        said = -PLAIN_SECONDS
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() - said >= PLAIN_SECONDS:
                    said = time.monotonic()
                    sys.stderr.write(f"another process is building {label}: waiting for it\n")
                time.sleep(0.2)
        yield


def _go_build(go: str, module: Module, command: str, output: Path) -> None:
    argv = [go, "build", "-v", "-trimpath", f"-ldflags={_linker_flags(module)}", "-o", str(output)]
    # The user's own GOFLAGS or workspace could change what is built; the committed files alone say it.
    settings = {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
    last: deque[str] = deque(maxlen=_ERROR_LINES)
    with (
        Progress(f"building {command} {module.version}", "packages") as progress,
        subprocess.Popen(  # noqa: S603
            [*argv, module.package(command)],
            cwd=module.folder,
            env=os.environ | settings,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        assert process.stderr
        for line in process.stderr:
            last.append(line)
            progress.done += not line.startswith("go: ")
        if process.wait() != 0:
            raise LocalError(f"go could not build {command} {module.version}:\n{''.join(last).rstrip()}")


def _linker_flags(module: Module) -> str:
    """Leave symbols out, and tell Kubernetes its version, which it otherwise learns from its own release scripts."""
    flags = "-s -w"
    if module.name == "kubernetes":
        major, minor = module.minor
        values = {"gitVersion": f"v{module.version}", "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
        for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
            flags += "".join(f" -X {package}.{name}={value}" for name, value in values.items())
    return flags
