"""One control plane with kube-scheduler for all comparisons."""

from collections.abc import Iterator

import pytest

from phalanx.testing.control_plane import need_binaries
from tests.differential.arena import Arena, arena


@pytest.fixture(scope="session")
def place() -> Iterator[Arena]:
    need_binaries()
    with arena() as running:
        yield running
