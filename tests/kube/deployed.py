"""What a Deployment would run, as processes: there are no kubelets here, so its pods' command lines are run by hand."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from phalanx.kube.local import ControlPlane
from phalanx.testing.running import ENDS_WITHIN, eventually


class Deployed:
    """The replicas of one installation's Deployment, with its arguments and its service account's own token."""

    def __init__(self, plane: ControlPlane, folder: Path, namespace: str, name: str = "phalanx") -> None:
        self.plane = plane
        self.folder = folder
        self.namespace = namespace
        self.name = name
        #: By the number of each.
        self._replicas: dict[int, subprocess.Popen[bytes]] = {}
        self._started = 0

    def start(self, source: Path | None = None) -> None:
        """Start one more replica as the Deployment wants it now; `source`: of another version's code."""
        self._started += 1
        environment = {
            "KUBECONFIG": str(self._kubeconfig()),
            "POD_NAME": f"{self.name}-{self._started}",
            "POD_NAMESPACE": self.namespace,
        } | ({"PYTHONPATH": str(source)} if source else {})
        with self.log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "phalanx", *self._arguments()],
                env=os.environ | environment,
                stdout=file,
                stderr=file,
            )
        self._replicas[self._started] = process

    def roll(self, source: Path | None = None, *, crash: bool = False) -> None:
        """Do as a rolling update does: a new replica first, and when it follows or leads, an old one goes.

        `crash`: one that leads ends without a word, in the middle of it.
        """
        for number in range(len(self._replicas)):
            self.start(source)
            self.await_ready()
            if crash and number == 0:
                self._crash()
            else:
                self.stop_one()

    def await_ready(self) -> None:
        """Wait until the newest replica stands in line, or leads at once."""

        def ready() -> bool:
            assert self._replicas[self._started].poll() is None, self.log.read_text()
            return any(word in self.log.read_text() for word in (" leading ", " following "))

        eventually("a new replica is ready", ready, self.log)

    def stop_one(self) -> None:
        """Tell the oldest replica to go, as the kubelet does."""
        process = self._replicas.pop(min(self._replicas))
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=ENDS_WITHIN) == 0

    def _crash(self) -> None:
        lease = self.plane.kubectl("get", "lease", self.name, "-n", self.namespace, "-o", "json")
        leader = json.loads(lease)["spec"]["holderIdentity"]
        number = next(one for one in self._replicas if f"identity={leader} " in self._log(one).read_text())
        process = self._replicas.pop(number)
        process.kill()
        process.wait()

    def stop(self) -> None:
        """Tell all to go."""
        while self._replicas:
            self.stop_one()

    def end(self) -> None:
        """End what still runs, however the test went."""
        for process in self._replicas.values():
            process.kill()
            process.wait()

    @property
    def log(self) -> Path:
        """What the newest replica says."""
        return self._log(self._started)

    def _log(self, number: int) -> Path:
        return self.folder / f"{self.namespace}-{self.name}-{number}.log"

    def _arguments(self) -> list[str]:
        found = self.plane.kubectl("get", "deployment", self.name, "-n", self.namespace, "-o", "json")
        pod: dict[str, Any] = json.loads(found)["spec"]["template"]["spec"]
        assert pod["serviceAccountName"] == self.name
        # Replicas share this machine's address, so each takes a port that is free.
        return [word for word in pod["containers"][0]["args"] if not word.startswith(("--port", "--address"))] + [
            "--port=0"
        ]

    def _kubeconfig(self) -> Path:
        token = self.plane.kubectl("create", "token", self.name, "-n", self.namespace).strip()
        config = yaml.safe_load(self.plane.kubeconfig.read_text())
        config["users"][0]["user"] = {"token": token}
        path = self.folder / f"{self.namespace}-{self.name}.kubeconfig"
        path.write_text(yaml.safe_dump(config))
        return path
