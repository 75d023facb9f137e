"""A cluster to break: a real control plane, pretend nodes, schedulers as processes, and one check after every fault."""

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from phalanx.kube.local import ControlPlane, node_manifest
from phalanx.kube.local.processes import Processes
from phalanx.testing.objects import Manifest, create_all, delete_all, list_all
from tests.faults.open_books import STALL, Books, fresh_books
from tests.faults.verdict import AUDIT_POLICY, faults

#: A lease that changes hands while somebody watches; the product's own is 15, 10, 2.
LEASE, RENEW, RETRY = map(float, (os.environ.get("LEASE") or "3,2,0.5").split(","))
_LEASE_WORDS = [f"--lease-duration={LEASE}", f"--renew-deadline={RENEW}", f"--retry-period={RETRY}"]
#: A safety net for what must come soon, on a machine that is busy with other things.
PATIENCE = 120.0
_TRIES = 200


class Rig:
    """Everything a fault test needs, for as long as a `with` block lasts."""

    def __init__(self, nodes: int = 4, gpus: int = 8, **options: Any) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="phalanx-rig-"))
        self.audit = self._folder / "audit.log"
        policy = self._folder / "audit.yaml"
        policy.write_text(AUDIT_POLICY)
        flags = {"kube-apiserver": [f"--audit-policy-file={policy}"]}
        self.plane = ControlPlane(controller_manager=False, audit=self.audit, flags=flags, **options)
        self.capacity = nodes * gpus
        self._nodes = [node_manifest(f"n{number}", gpus=gpus) for number in range(nodes)]
        self._undo = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            self.processes = Processes(self._folder, removed_at_end=True)
            undo.callback(self.processes.close)
            undo.enter_context(self.plane)
            create_all(self.plane.kubeconfig, self._nodes)
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            # Read by whoever looks at the failed test: the scheduler's own words.
            for name in self.processes.pids:
                sys.stderr.write(f"--- {name}\n{self.processes.last_words(name)}\n")
        self._undo.close()

    def user(self, name: str) -> Path:
        """Return a kubeconfig under which the audit log tells one scheduler from another."""
        return self.plane.user(name, ["system:masters"])

    def start(
        self, name: str = "phalanx", kubeconfig: Path | None = None, *words: str, stall: float | None = None
    ) -> None:
        """Start a scheduler as a process of its own, with a short lease unless the words say otherwise."""
        run = ["run", f"--kubeconfig={kubeconfig or self.user(name)}", "--port=0", "--lease-namespace=kube-system"]
        books = self._books(name)
        patience = [f"{STALL}={stall}"] if stall is not None else []
        # One that has only just started is deaf to the signal that asks for its books; it would end it otherwise.
        deaf = ["/bin/sh", "-c", "trap '' USR1; exec env \"$@\"", "sh"]
        # pytest finds `tests` by its own settings, a process elsewhere does not.
        found = f"PYTHONPATH={Path(__file__).parents[2]}"
        module = [*deaf, *patience, found, sys.executable, "-m", "tests.faults.open_books", str(books)]
        self.processes.start(name, [*module, *run, *(words or _LEASE_WORDS)])

    def create(self, objects: Iterable[Manifest]) -> list[Manifest]:
        """Create objects and return them."""
        made = list(objects)
        create_all(self.plane.kubeconfig, made)
        return made

    def delete(self, objects: Iterable[Manifest]) -> None:
        """Delete objects at once."""
        delete_all(self.plane.kubeconfig, objects)

    def pods(self) -> list[Manifest]:
        """Return all pods as the server has them."""
        return list_all(self.plane.kubeconfig, "/api/v1/pods")

    def bound(self) -> int:
        """Return how many pods have a node."""
        return sum("nodeName" in pod["spec"] for pod in self.pods())

    def wait(self, holds: Callable[[], bool], what: str) -> float:
        """Wait for something that must come; return the seconds, for a report and not for an assertion."""
        start = time.monotonic()
        while not holds():
            assert time.monotonic() - start < PATIENCE, f"still waiting for {what} after {PATIENCE:.0f} s"
            time.sleep(0.02)
        return time.monotonic() - start

    def wait_bound(self, count: int) -> float:
        """Wait until so many pods have a node."""
        return self.wait(lambda: self.bound() >= count, f"{count} bound pods")

    def check(self, *replicas: str) -> None:
        """Nothing is bound twice, split or overfull, and each replica's books are those of a fresh list."""
        nodes = list_all(self.plane.kubeconfig, "/api/v1/nodes")
        assert faults(self.pods(), nodes, self.audit) == []
        for replica in replicas or ("phalanx",):
            self._check_books(replica)

    def _check_books(self, replica: str) -> None:
        """Compare until they agree: a watch is allowed to be a moment behind the list."""
        for last in (*[False] * _TRIES, True):
            truth = fresh_books(self._listed())
            kept = self._ask_books(replica)
            if kept == truth:
                return
            if last:
                assert kept == truth, f"the books of {replica} are not those of a fresh list"
            time.sleep(0.1)

    def _listed(self) -> list[Manifest]:
        kinds = ("nodes", "namespaces", "pods")
        return [item for plural in kinds for item in list_all(self.plane.kubeconfig, f"/api/v1/{plural}")]

    def _ask_books(self, replica: str) -> Books:
        path = self._books(replica)
        path.unlink(missing_ok=True)

        def answered() -> bool:
            os.kill(self.processes.pids[replica], signal.SIGUSR1)
            return path.exists()

        self.wait(answered, f"the books of {replica}")
        found: Books = json.loads(path.read_text())
        return found

    def _books(self, name: str) -> Path:
        return self._folder / f"{name}.books.json"


def figures(what: str, seconds: Sequence[float]) -> None:
    """Print measured times for `make chaos`; no test asserts them."""
    times = sorted(seconds)
    if len(times) == 1:
        shown = f"{times[0]:.2f} s"
    else:
        shown = f"p50 {times[len(times) // 2]:.2f} s, p99 {times[int(len(times) * 0.99)]:.2f} s, n={len(times)}"
    sys.stdout.write(f"\n{what} {shown}\n")
