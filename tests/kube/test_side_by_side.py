"""Phalanx beside kube-scheduler on nearly full nodes: lost races are turned away by a strict kubelet, and healed.

The long form is `make chaos`, with PODS=2000.
"""

import os
import random
from collections import Counter
from typing import Any

import pytest

from phalanx.kube.local import node_manifest
from phalanx.testing.objects import Manifest, pod_manifest
from tests.faults.kubelet import StrictKubelet
from tests.faults.rig import Rig

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fresh_control_plane")]

PODS = int(os.environ.get("PODS", "200"))
GANG = 4
SHARED, RESERVED, GPUS = 6, 2, 8
FOREIGN = "default-scheduler"
RESERVED_ONLY: dict[str, Any] = {
    "nodeSelector": {"pool": "reserved"},
    "tolerations": [{"key": "pool", "operator": "Exists"}],
}


class Churn:
    """Jobs and their controllers: work arrives, a gang that lost a pod gets a new one, one that is whole may end."""

    def __init__(self, rig: Rig, chance: random.Random) -> None:
        self.rig = rig
        self.chance = chance
        self.made = 0
        self.ended = 0
        #: Gangs that have not ended, with what their pods need.
        self.open: dict[str, dict[str, Any]] = {}

    def turn(self, *, arrivals: bool) -> None:
        """One turn: clean up what failed, end some of what runs, replace what is lost, let new work arrive."""
        pods = self.rig.pods()
        failed = [pod for pod in pods if pod["status"]["phase"] == "Failed"]
        alive = [pod for pod in pods if pod["status"]["phase"] != "Failed"]
        over = [*self._whole_gangs(alive), *self._foreign(alive)]
        self.rig.delete([*failed, *over])
        gone = {pod["metadata"]["uid"] for pod in over}
        alive = [pod for pod in alive if pod["metadata"]["uid"] not in gone]
        self.rig.create(self._replacements(alive))
        if arrivals:
            self.rig.create(self._arrivals(alive))

    def _whole_gangs(self, alive: list[Manifest]) -> list[Manifest]:
        members: dict[str, list[Manifest]] = {}
        for pod in alive:
            if gang_of(pod) and pod["status"]["phase"] == "Running":
                members.setdefault(gang_of(pod), []).append(pod)
        over = []
        for gang, running in members.items():
            if len(running) == GANG and self.chance.random() < 0.4:
                del self.open[gang]
                self.ended += 1
                over += running
        return over

    def _foreign(self, alive: list[Manifest]) -> list[Manifest]:
        running = [pod for pod in alive if not gang_of(pod) and pod["status"]["phase"] == "Running"]
        return [pod for pod in running if self.chance.random() < 0.4]

    def _replacements(self, alive: list[Manifest]) -> list[Manifest]:
        there = Counter(gang_of(pod) for pod in alive)
        return [pod for gang in self.open for pod in self._members(gang, GANG - there[gang])]

    def _arrivals(self, alive: list[Manifest]) -> list[Manifest]:
        """Keep a little more work around than there is room for."""
        arriving: list[Manifest] = []
        while len(alive) + len(arriving) < 1.15 * (SHARED + RESERVED) * GPUS:
            kind = self.chance.random()
            if kind < 0.4:
                self.made += 1
                arriving.append(pod_manifest(f"foreign-{self.made}", scheduler=FOREIGN))
            else:
                gang = f"gang-{len(self.open) + self.ended}-{self.made}"
                self.open[gang] = RESERVED_ONLY if kind > 0.8 else {}
                arriving += self._members(gang, GANG)
        return arriving

    def _members(self, gang: str, count: int) -> list[Manifest]:
        made = []
        for _ in range(count):
            self.made += 1
            made.append(pod_manifest(f"{gang}-{self.made}", gang=gang, minimum=GANG, **self.open[gang]))
        return made


def test_lost_races_are_healed_and_reserved_nodes_see_none() -> None:
    seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(10**6))
    chance = random.Random(seed)  # noqa: S311 (chance, not secrecy)
    with Rig(nodes=SHARED, gpus=GPUS, scheduler=True) as rig:
        rig.create(reserved_node(f"r{number}") for number in range(RESERVED))
        with StrictKubelet(rig.plane.kubeconfig) as kubelet:
            rig.start("phalanx", None, "--no-leader-election", "--wave-deadline=10")
            churn = Churn(rig, chance)
            while churn.made < PODS:
                churn.turn(arrivals=True)
            while churn.open:
                churn.turn(arrivals=False)
            rig.wait(lambda: not any(gang_of(pod) for pod in rig.pods()), "the last gang to go")
            lost = kubelet.turned_away
        by = Counter(away.scheduler for away in lost)
        print(  # noqa: T201
            f"\nside by side (seed {seed}): {churn.made} pods, {churn.ended} gangs, all of them ended whole; "
            f"lost races: {by['phalanx']} of Phalanx's pods, {by[FOREIGN]} of kube-scheduler's"
        )
        rig.check()
        assert [away for away in lost if away.node.startswith("r")] == []
        assert "invariant-broken" not in rig.processes.log("phalanx")


def gang_of(pod: Manifest) -> str:
    annotations: dict[str, str] = pod["metadata"].get("annotations") or {}
    return annotations.get("phalanx.dev/gang", "")


def reserved_node(name: str) -> Manifest:
    """Return a node that only Phalanx's pods tolerate."""
    node = node_manifest(name, gpus=GPUS)
    node["metadata"]["labels"]["pool"] = "reserved"
    return node | {"spec": {"taints": [{"key": "pool", "value": "reserved", "effect": "NoSchedule"}]}}
