"""`python -m tests.lives.fire`: two replicas of our controller, killed at any moment while Jobs live (COPIES=6: 216).

Every Job must be after every round as Volcano's own controller left it undisturbed, but for what is explained.
"""

import asyncio
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from phalanx.kube.installation.values import Values
from phalanx.kube.local import ControlPlane
from phalanx.kube.playground import grant
from phalanx.testing.objects import client_of
from phalanx.testing.running import Scheduler
from tests.kube.volcano_modules import module
from tests.lives.__main__ import RECORDED, VOLCANO, prepare
from tests.lives.compare import Difference, differences
from tests.lives.pictures import Picture, load, moved
from tests.lives.scripts import Life, lives
from tests.lives.stage import PATIENCE, Stage

REPLICAS = ("first", "second")
LEASE = ("--lease-duration=3", "--renew-deadline=2", "--retry-period=0.5")
#: For so long replicas are killed in each round.
SECONDS = 4.0


class Fire:
    """Two replicas, one of which is killed every moment and started again."""

    def __init__(self, kubeconfig: Path, folder: Path, chance: random.Random, seconds: float) -> None:
        self._kubeconfig, self._folder, self._chance, self._seconds = kubeconfig, folder, chance, seconds
        self.kills = 0
        self._running = {name: self._start(name) for name in REPLICAS}

    async def disturb(self) -> None:
        """Kill one after the other for a while."""
        until = time.monotonic() + self._seconds
        while time.monotonic() < until:
            await asyncio.sleep(self._chance.uniform(0.2, 2.0))
            name = self._chance.choice(REPLICAS)
            self._running[name].stop(signal.SIGKILL)
            self.kills += 1
            self._running[name] = self._start(name)
        # On a busy machine a start takes longer than anybody is at rest.
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and not any(  # noqa: ASYNC110 (another process tells it in its log)
            " leading lease" in one.log.read_text() for one in self._running.values()
        ):
            await asyncio.sleep(0.2)

    def close(self) -> None:
        """End both."""
        for one in self._running.values():
            one.stop(signal.SIGKILL)

    def _start(self, name: str) -> Scheduler:
        log = self._folder / f"{name}-{self.kills}.log"
        return Scheduler(self._kubeconfig, log, "--volcano-jobs", *LEASE)


def play(chosen: Sequence[Life], seed: int, seconds: float = SECONDS) -> tuple[dict[str, list[Picture]], int]:
    """Let the Jobs live under fire; return what was seen after each round, and how many kills there were."""
    folder = Path(tempfile.mkdtemp(prefix="fire-"))
    with ControlPlane() as plane:
        prepare(plane, module(f"{VOLCANO.module}@{VOLCANO.version}") / "config/crd/volcano/bases")
        kubeconfig = grant(plane, Values(volcano_jobs=True))
        fire = Fire(kubeconfig, folder, random.Random(seed), seconds)  # noqa: S311 (chance, not secrecy)
        try:
            seen = asyncio.run(_play(plane, chosen, fire))
        finally:
            fire.close()
    said = "".join(log.read_text() for log in folder.glob("*.log"))
    assert "Traceback" not in said, said[-4000:]
    return seen, fire.kills


async def _play(plane: ControlPlane, chosen: Sequence[Life], fire: Fire) -> dict[str, list[Picture]]:
    async with client_of(plane.kubeconfig) as client:
        return await Stage(client, chosen, fire.disturb).play()


def wrong(seen: dict[str, list[Picture]], chosen: Sequence[Life]) -> list[Difference]:
    """Return what nobody can explain. Events of a process that was killed may be lost, and a delay began anew."""
    recorded = load(RECORDED)
    theirs = {life.place: moved(recorded[life.name], life.place) for life in chosen}
    return [
        found
        for found, why in differences(theirs, seen)
        if why is None and found.path[0] != "events" and not found.job.startswith(("late", "after", "fleeting"))
    ]


def main() -> int:
    """Tell how it went."""
    seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(10**6))
    copies = range(int(os.environ.get("COPIES") or 6))
    names = sys.argv[1:]
    chosen = [
        replace(life, namespace=f"{life.name}-{number}")
        for life in lives() for number in copies if not names or life.name in names
    ]  # fmt: skip
    print(f"SEED={seed}: {len(chosen)} Jobs", flush=True)  # noqa: T201 (the report)
    seen, kills = play(chosen, seed)
    found = wrong(seen, chosen)
    for one in found[:40]:
        print(one)  # noqa: T201
    jobs = Counter(one.job for one in found)
    print(f"{len(chosen)} Jobs, {kills} kills: {len(jobs)} Jobs differ from those that nobody disturbed")  # noqa: T201
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
