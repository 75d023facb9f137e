"""`python -m tests.lives [--record] [NAMES]`: play the lives under both controllers, and tell what differs."""

import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.cluster.building import Source, build
from phalanx.kube.installation.values import Values
from phalanx.kube.local import ControlPlane
from phalanx.kube.local.processes import Processes
from phalanx.kube.playground import grant
from phalanx.testing.objects import client_of
from tests.kube.volcano_modules import module
from tests.lives.compare import differences
from tests.lives.pictures import Picture, load, save
from tests.lives.scripts import Life, lives
from tests.lives.stage import Stage

VOLCANO = Source(
    "volcano.sh/volcano", "v1.14.1", {"vc-controller-manager": "./cmd/controller-manager"},
    ("volcano.sh/apis=volcano.sh/apis@v1.14.0",),
)  # fmt: skip
RECORDED = Path(__file__).parent / "recorded.json"


def play(who: str, names: list[str] | None = None) -> dict[str, list[Picture]]:
    """Let the Jobs live under Volcano's controller or under ours."""
    chosen = [life for life in lives() if not names or life.name in names]
    folder = Path(tempfile.mkdtemp(prefix="lives-"))
    with ControlPlane() as plane:
        prepare(plane, module("volcano.sh/volcano@v1.14.1") / "config/crd/volcano/bases")
        processes = Processes(folder, removed_at_end=False)
        try:
            processes.start(who, command(who, plane))
            start = time.monotonic()
            seen = asyncio.run(_play(plane, chosen))
            sys.stderr.write(f"{who}: {len(chosen)} Jobs, {time.monotonic() - start:.0f} s; log in {folder}\n")
            return seen
        finally:
            processes.close()


def prepare(plane: ControlPlane, definitions: Path) -> None:
    """Install Volcano's definitions and what its controller wants to find."""
    plane.kubectl("apply", "--server-side", "-f", str(definitions), "-f", str(definitions.parents[1] / "jobflow/bases"))
    plane.kubectl("wait", "--for=condition=Established", "crd", "--all")
    plane.kubectl("create", "-f", "-", stdin=QUEUE)
    plane.kubectl("patch", "queues.scheduling.volcano.sh", "default", "--subresource=status", "--type=merge",
                  "-p", '{"status":{"state":"Open"}}')  # fmt: skip


QUEUE = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: default}
spec: {weight: 1}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
"""


def command(who: str, plane: ControlPlane) -> list[str]:
    """Return the command line of a controller."""
    if who == "volcano":
        words = ["--leader-elect=false", "--enable-healthz=false", "--v=3"]
        return [str(build(VOLCANO) / "bin/vc-controller-manager"), f"--kubeconfig={plane.kubeconfig}", *words]
    kubeconfig = grant(plane, Values(volcano_jobs=True))
    words = ["--port=0", "--no-leader-election", "--volcano-jobs"]
    return [sys.executable, "-m", "phalanx", "run", f"--kubeconfig={kubeconfig}", *words]


async def _play(plane: ControlPlane, chosen: list[Life]) -> dict[str, list[Picture]]:
    async with client_of(plane.kubeconfig) as client:
        return await Stage(client, chosen).play()


def main(words: list[str]) -> int:
    """Play the lives under both, and tell what differs; `--record` keeps Volcano's for the tests."""
    names = [word for word in words if not word.startswith("--")]
    theirs = play("volcano", names)
    if "--record" in words:
        save(RECORDED, (load(RECORDED) if names else {}) | theirs)
    ours = play("phalanx", names)
    why = Counter[str]()
    for found, explained in differences(theirs, ours):
        why[explained or "unexplained"] += 1
        if explained is None:
            print(found)  # noqa: T201 (the report)
    fields = sum(1 for _ in leaves(theirs))
    told = ", ".join(f"{count} {what}" for what, count in sorted(why.items()))
    print(f"{len(theirs)} Jobs, {fields} fields compared; they differ in: {told or 'nothing'}")  # noqa: T201 (the report)
    return bool(why["unexplained"])


def leaves(value: Any) -> Iterator[Any]:
    """Yield every value in nested lists and mappings."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    if inner is None:
        yield value
    else:
        for one in inner:
            yield from leaves(one)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
