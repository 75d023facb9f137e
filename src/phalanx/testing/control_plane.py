"""Fixtures with a real control plane, for tests of everything that talks to Kubernetes.

Import them in a conftest.py: `from phalanx.testing.control_plane import *`. A test that asks for one is skipped where
the programs are neither installed nor can be built, and the reason says what to install; with CI=true it fails instead.
"""

import os
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest

from phalanx.kube.local import ControlPlane, LocalError, MissingError, node_manifest
from phalanx.kube.local.binaries import binaries
from phalanx.kube.local.versions import COMMANDS, HELM, wanted

__all__ = [
    "ControlPlane",
    "LocalError",
    "control_plane",
    "fresh_control_plane",
    "helm",
    "need_binaries",
    "node_manifest",
    "pytest_collection_modifyitems",
]

_FIXTURES = {"control_plane", "fresh_control_plane"}


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """One control plane for all tests of a worker: each test keeps to names of its own."""
    need_binaries()
    with ControlPlane() as running:
        yield running


@pytest.fixture
def fresh_control_plane() -> Iterator[Callable[..., ControlPlane]]:
    """A way to start control planes of one's own, with `ControlPlane`'s arguments; they end with the test."""
    need_binaries()
    with ExitStack() as running:

        def start(*version: str, **options: Any) -> ControlPlane:
            return running.enter_context(ControlPlane(*version, **options))

        yield start


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """A way to run the real helm: it returns what helm prints; nothing of this user's own helm is read or written."""
    need_binaries([HELM])
    program = binaries([HELM], wanted())[HELM]
    home = tmp_path_factory.mktemp("helm")
    folders = {f"HELM_{what}_HOME": str(home / what) for what in ("CACHE", "CONFIG", "DATA")}

    def run(*arguments: str | Path, kubeconfig: Path | None = None) -> str:
        where = {"KUBECONFIG": str(kubeconfig)} if kubeconfig else {}
        command = [str(program), *map(str, arguments)]
        done = subprocess.run(  # noqa: S603
            command, env=os.environ | folders | where, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise LocalError(f"helm {' '.join(command[1:])}: {done.stderr.strip()}")
        return done.stdout

    return run


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Build what is missing before the first test, so that no test's time limit cuts a build of minutes short."""
    asked = {name for item in items for name in getattr(item, "fixturenames", ())}
    commands = [*(COMMANDS if _FIXTURES & asked else ()), *([HELM] if HELM in asked else ())]
    if config.option.collectonly or not commands:
        return
    capture = config.pluginmanager.getplugin("capturemanager")
    # The tests say what went wrong, each under its own name, so that the others run.
    with capture.global_and_fixture_disabled() if capture else nullcontext(), suppress(LocalError):
        binaries(commands, wanted())


def need_binaries(commands: Iterable[str] = COMMANDS) -> None:
    """Skip the test that asks where the programs are missing; fail it with CI=true."""
    try:
        binaries(commands, wanted())
    except MissingError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
