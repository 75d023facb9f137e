"""What Phalanx says about the same pods, by its own reading of the same API server."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from phalanx.engine.opening import open_session
from phalanx.engine.placement.copies import copies, room_of
from phalanx.engine.placement.find import request_of
from phalanx.engine.policy import Policy
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.kube.look import look
from phalanx.model.snapshot import Snapshot
from phalanx.policy.load import load_policy
from phalanx.world.world import World
from tests.differential.case import SCHEDULER

POD_BY_POD = load_policy("pod-by-pod")


def snapshot_of(kubeconfig: Path, policy: Policy) -> Snapshot:
    """Return the cluster as the product reads it."""
    world = World(policy.label_keys, policy.devices)
    world.said.images = policy.reads_images
    world.said.services.wanted = "Service" in policy.asks
    sight = look(str(kubeconfig), None, world, (SCHEDULER,), policy.asks)
    assert not sight.hidden
    assert not world.refused, world.refused
    return world.compile(sight.now)


@dataclass(frozen=True)
class Ours:
    """One look at the cluster, and the questions about it."""

    session: Session
    policy: Policy

    @classmethod
    def look(cls, kubeconfig: Path, policy: Policy = POD_BY_POD) -> "Ours":
        """Read the cluster."""
        return cls(open_session(snapshot_of(kubeconfig, policy), policy), policy)

    def nodes(self, name: str) -> frozenset[str]:
        """Return the nodes that take a pod."""
        if self.hold(name):
            return frozenset()
        room = copies(self.session, self.policy, self.request(name))
        return frozenset(self.session.snapshot.nodes.names[node] for node in np.flatnonzero(room > 0))

    def hold(self, name: str) -> str:
        """Return why a pod is not looked at, or nothing."""
        row, snapshot = self._row(name), self.session.snapshot
        found = snapshot.tasks.holds.get(row) or snapshot.gangs.gangs[snapshot.tasks.gang[row]].hold
        return str(found) if found else ""

    def refusing(self, name: str, nodes: Iterable[str]) -> frozenset[str]:
        """Return who refuses these nodes to a pod: the field that holds it, or the first filter of each node."""
        if hold := self.hold(name):
            return frozenset({hold})
        request, row = self.request(name), self.session.snapshot.nodes.row
        rooms = [(plugin.name, room_of(self.session, plugin, request)) for plugin in self.policy.filters]
        return frozenset(
            next((plugin for plugin, room in rooms if room is not None and room[row[node]] <= 0), "nobody")
            for node in nodes
        )

    def _row(self, name: str) -> int:
        return self.session.snapshot.tasks.names.index(name)

    def request(self, name: str) -> Request:
        tasks, row = self.session.snapshot.tasks, self._row(name)
        return request_of(self.session, int(tasks.gang[row]), int(tasks.shape[row]))
