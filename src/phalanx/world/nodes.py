"""Nodes: those that are known, each as it is with what other objects say of its devices."""

from collections import Counter
from collections.abc import Iterator

from phalanx.model.events import DevicesGone, DevicesSeen, NodeSeen, Refused
from phalanx.model.node import Node
from phalanx.world.domains import DomainObjects
from phalanx.world.hardware import Hardware
from phalanx.world.indexes import subtract
from phalanx.world.sharing import Sharings


class Nodes:
    """Takes nodes in, and yields the names of those that changed."""

    def __init__(self, resources: Counter[str], sharings: Sharings, domains: DomainObjects) -> None:
        self.known: dict[str, Node] = {}
        self._resources, self._sharings, self._hardware = resources, sharings, Hardware()
        self._domains = domains

    def apply(self, event: NodeSeen | DevicesSeen | DevicesGone | Refused) -> Iterator[str]:
        """Take in a node, or what says something of its devices."""
        for node in self._hardware.apply(event, self.known):
            old = self.known.get(node.name)
            if old == node:
                continue
            if old is not None:
                subtract(self._resources, old.allocatable)
                self._domains.changes += old.labels != node.labels
            self._sharings.see(old, node)
            self.known[node.name] = node
            self._resources.update(node.allocatable.keys())
            yield node.name

    def drop(self, name: str) -> Iterator[str]:
        """Forget a node."""
        old = self.known.pop(name, None)
        if old is not None:
            subtract(self._resources, old.allocatable)
            self._sharings.see(old, None)
            yield name
