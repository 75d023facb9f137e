"""`phalanx run` as a process on a real API server, and what a test asks that server about its work."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from phalanx.kube.local import ControlPlane
from phalanx.kube.playground import grant
from phalanx.testing.objects import list_all

#: A safety net for what must come soon, on a machine that is busy with other things.
ENDS_WITHIN = 60.0


class Scheduler:
    """A running `phalanx run`."""

    def __init__(self, kubeconfig: Path, log: Path, *options: str) -> None:
        self.log = log
        self._file = log.open("w")
        command = [sys.executable, "-m", "phalanx", "run", "--kubeconfig", str(kubeconfig), "--port", "0", *options]
        self.process = subprocess.Popen(command, stderr=self._file, stdout=self._file)  # noqa: S603

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Tell it to go; return its exit status."""
        self.process.send_signal(number)
        code = self.process.wait(timeout=ENDS_WITHIN)
        self._file.close()
        return code


@contextmanager
def schedulers(plane: ControlPlane, folder: Path) -> Iterator[Callable[..., Scheduler]]:
    """Yield a way to start schedulers with exactly the printed rights; they end with the block, their logs stay."""
    running: list[Scheduler] = []
    kubeconfig = grant(plane)

    def start(*options: str) -> Scheduler:
        running.append(Scheduler(kubeconfig, folder / f"phalanx-{len(running)}.log", *options))
        return running[-1]

    try:
        yield start
    finally:
        for scheduler in running:
            if scheduler.process.poll() is None:
                scheduler.stop(signal.SIGKILL)


def eventually(what: str, check: Callable[[], Any], log: Path | None = None) -> Any:
    """Wait until something holds and return it; the clock only bounds how long a failure takes."""
    until = time.monotonic() + ENDS_WITHIN
    last: Any = None
    while time.monotonic() < until:
        last = check()
        if last:
            return last
        time.sleep(0.1)
    said = log.read_text()[-2000:] if log else ""
    raise AssertionError(f"never: {what}; last seen {last!r}\n{said}")


def places(plane: ControlPlane, prefix: str = "", namespace: str = "default") -> dict[str, str]:
    """Return the nodes of the pods that have one, by name."""
    pods = list_all(plane.kubeconfig, f"/api/v1/namespaces/{namespace}/pods")
    return {
        pod["metadata"]["name"]: pod["spec"]["nodeName"]
        for pod in pods
        if pod["spec"].get("nodeName") and pod["metadata"]["name"].startswith(prefix)
    }


def condition(plane: ControlPlane, name: str, namespace: str = "default") -> dict[str, Any]:
    """Return what a pod says of its scheduling; empty when it says nothing."""
    pod = json.loads(plane.kubectl("get", "pod", name, "-n", namespace, "-o", "json"))
    return next((one for one in pod["status"].get("conditions", []) if one["type"] == "PodScheduled"), {})
