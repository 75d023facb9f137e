"""Fixtures with a real control plane, for tests of everything that talks to Kubernetes.

Import them in a conftest.py: `from phalanx.testing.control_plane import *`. A test that asks for one is skipped where
the programs are neither installed nor can be built, and the reason says what to install; with CI=true it fails instead.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, nullcontext, suppress
from typing import Any

import pytest

from phalanx.kube.local import ControlPlane, LocalError, MissingError, node_manifest
from phalanx.kube.local.binaries import binaries
from phalanx.kube.local.versions import COMMANDS, wanted

__all__ = [
    "NEEDS",
    "ControlPlane",
    "LocalError",
    "control_plane",
    "fresh_control_plane",
    "need_binaries",
    "node_manifest",
    "pytest_collection_modifyitems",
]

#: The programs that a fixture asks for; more fixtures may be entered here.
NEEDS: dict[str, Iterable[str]] = {"control_plane": COMMANDS, "fresh_control_plane": COMMANDS}


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


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Build what is missing before the first test, so that no test's time limit cuts a build of minutes short."""
    asked = {name for item in items for name in getattr(item, "fixturenames", ())}
    commands = {command for name in asked & NEEDS.keys() for command in NEEDS[name]}
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
