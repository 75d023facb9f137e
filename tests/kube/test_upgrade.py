"""Upgrade from versions that landed before, and back, while gangs stream in: none is split, none is lost.

In the middle of each a leader crashes, so that the other version finds what it had begun.

The long form is `make upgrade`, with ROUNDS=10.
"""

import io
import itertools
import os
import shutil
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from phalanx.kube.install import Installation, manifests
from phalanx.model.keys import QUEUE
from phalanx.testing.objects import Manifest, gang_manifests, list_all
from tests.faults.rig import Rig
from tests.faults.verdict import faults
from tests.kube.deployed import Deployed
from tests.kube.test_two_installations import QUEUES, queues

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fresh_control_plane")]

#: Manifests and code of the last version that landed, and of the last one whose installations had no names.
BEFORE = {
    "last": "6611540ca120f99ebe0061059e6fe95c9c3ecc31",
    "without names": "f8bd5657cf8391226cab9dc0fb9117c35736a334",
}
ROUNDS = int(os.environ.get("ROUNDS", "1"))
GANG = 4
NAMESPACE = "phalanx-system"


@pytest.fixture(scope="module", params=BEFORE.values(), ids=list(BEFORE))
def before(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the sources of such a version."""
    git = shutil.which("git")
    if git is None:
        pytest.skip("the version to upgrade from is read with git, which is not installed")
    folder = tmp_path_factory.mktemp("before")
    archive = subprocess.run(
        [git, "archive", request.param, "src"], cwd=request.config.rootpath, capture_output=True, check=False
    )
    if archive.returncode:
        pytest.skip(f"the version to upgrade from is not in this clone: {archive.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder / "src"


def printed_by(source: Path) -> str:
    command = [sys.executable, "-m", "phalanx", "install", "--print"]
    environment = os.environ | {"PYTHONPATH": str(source)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


class Stream:
    """Gangs that arrive all the time; of those that are whole, the oldest end, so that there is room for more."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._over = threading.Event()
        self.made = 0
        self.ended = 0

    @contextmanager
    def flowing(self) -> Iterator[None]:
        thread = threading.Thread(target=self._flow)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def await_more(self, gangs: int) -> None:
        """Return when that many gangs more were seen whole."""
        until = self.ended + gangs
        self._rig.wait(lambda: self.ended >= until, f"{gangs} more gangs")

    def _flow(self) -> None:
        for number in itertools.count():
            if self._over.is_set():
                return
            pods = gang_manifests(f"g{number}", GANG)
            for pod in pods:
                pod["metadata"]["labels"] = {QUEUE: "vision"}
            self._rig.create(pods)
            self.made += 1
            self.all_placed()
            time.sleep(0.1)

    def all_placed(self) -> bool:
        """End what is whole, so that others have room; tell whether nobody waits."""
        gangs: dict[str, list[Manifest]] = {}
        for pod in self._rig.pods():
            if "nodeName" in pod["spec"]:
                gangs.setdefault(pod["metadata"]["name"].partition("-")[0], []).append(pod)
        whole = [pods for pods in gangs.values() if len(pods) == GANG]
        # A few stay, so that each version finds gangs that the other one placed.
        for pods in whole[:-4]:
            self._rig.delete(pods)
            self.ended += 1
        return all("nodeName" in pod["spec"] for pod in self._rig.pods())


def test_upgrade_and_rollback_while_gangs_stream_in(before: Path, tmp_path: Path) -> None:
    with Rig(nodes=4, gpus=8) as rig:
        rig.plane.kubectl("apply", "-f", "-", stdin=printed_by(before))
        rig.plane.kubectl("apply", "-f", "-", stdin=QUEUES)
        there = queues(rig.plane)
        deployed = Deployed(rig.plane, tmp_path, NAMESPACE)
        stream = Stream(rig)
        try:
            for _ in range(2):
                deployed.start(before)
            with stream.flowing():
                for _ in range(ROUNDS):
                    stream.await_more(3)
                    rig.plane.kubectl("apply", "--validate=strict", "-f", "-", stdin=manifests(Installation()))
                    deployed.roll(crash=True)
                    # What the version without names was bound by: installations shared the role.
                    leftovers = [f"clusterrolebinding/phalanx:{NAMESPACE}", "clusterrole/phalanx"]
                    rig.plane.kubectl("delete", "--ignore-not-found", *leftovers)
                    stream.await_more(3)
                    rig.plane.kubectl("apply", "-f", "-", stdin=printed_by(before))
                    deployed.roll(before, crash=True)
                stream.await_more(3)
            rig.wait(stream.all_placed, "the last gangs")
        finally:
            deployed.end()
        assert stream.made == stream.ended + len(rig.pods()) / GANG
        nodes = list_all(rig.plane.kubeconfig, "/api/v1/nodes")
        assert faults(rig.pods(), nodes, rig.audit) == []
        assert queues(rig.plane) == there
        print(f"\nupgrade: {ROUNDS} there and back, {stream.made} gangs, none split or lost")  # noqa: T201
