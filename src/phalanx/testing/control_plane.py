"""Fixtures with a real control plane, for tests of everything that talks to Kubernetes.

Import them in a conftest.py: `from phalanx.testing.control_plane import *`. A test that asks for one is skipped where
the programs are neither installed nor can be built, and the reason says what to install; with CI=true it fails instead.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext, suppress
from typing import Any

import pytest

from phalanx.kube.local import ControlPlane, LocalError, MissingError, node_manifest
from phalanx.kube.local.binaries import binaries
from phalanx.kube.local.versions import COMMANDS, wanted

__all__ = [
    "ControlPlane",
    "LocalError",
    "control_plane",
    "fresh_control_plane",
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


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Build what is missing before the first test, so that no test's time limit cuts a build of minutes short."""
    if config.option.collectonly or not any(_FIXTURES & set(getattr(item, "fixturenames", ())) for item in items):
        return
    capture = config.pluginmanager.getplugin("capturemanager")
    # The tests say what went wrong, each under its own name, so that the others run.
    with capture.global_and_fixture_disabled() if capture else nullcontext(), suppress(LocalError):
        binaries(COMMANDS, wanted())


def need_binaries() -> None:
    """Skip the test that asks where the programs are missing; fail it with CI=true."""
    try:
        binaries(COMMANDS, wanted())
    except MissingError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
