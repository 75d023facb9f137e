"""`python -m tests.lives [--record] [volcano] [phalanx] [NAMES]`: play the lives, compare, tell the differences."""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from bench.cluster.building import Source, build
from phalanx.kube.installation.values import Values
from phalanx.kube.local import ControlPlane
from phalanx.kube.local.processes import Processes
from phalanx.kube.playground import grant
from phalanx.testing.objects import client_of
from tests.lives.scripts import lives
from tests.lives.stage import Picture, Stage, save

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
        prepare(plane, build(VOLCANO) / "config/crd/volcano/bases")
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


async def _play(plane: ControlPlane, chosen: list) -> dict[str, list[Picture]]:
    async with client_of(plane.kubeconfig) as client:
        return await Stage(client, chosen).play()


def main(words: list[str]) -> int:
    who = [word for word in words if word in {"volcano", "phalanx"}] or ["volcano", "phalanx"]
    names = [word for word in words if word not in {"volcano", "phalanx"} and not word.startswith("--")]
    for one in who:
        seen = play(one, names)
        save(Path(f"/tmp/g17/{one}.json"), seen)
        if one == "volcano" and "--record" in words:
            save(RECORDED, seen)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
