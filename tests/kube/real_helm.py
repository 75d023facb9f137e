"""The real helm, for tests of the chart."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from phalanx.kube.local import LocalError
from phalanx.kube.local.binaries import binaries
from phalanx.kube.local.versions import HELM, wanted
from phalanx.testing.control_plane import NEEDS, need_binaries

NEEDS["helm"] = [HELM]


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
        done = subprocess.run(command, env=os.environ | folders | where, capture_output=True, text=True, check=False)
        if done.returncode:
            raise LocalError(f"helm {' '.join(command[1:])}: {done.stderr.strip()}")
        return done.stdout

    return run
