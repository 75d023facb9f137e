"""Domains that objects name: such an object gives its nodes a label, of which its own name is the value.

So nodes are grouped in one way, whether a label or an object says where they are.
"""

from collections.abc import Mapping

from phalanx.model.events import DomainGone, DomainSeen
from phalanx.model.node import Node
from phalanx.model.reference import Reference


class DomainObjects:
    """Remembers the objects, and which of them name a node."""

    def __init__(self) -> None:
        self._seen: dict[Reference, DomainSeen] = {}
        self._of_node: dict[str, dict[Reference, DomainSeen]] = {}

    def apply(self, event: DomainSeen | DomainGone) -> set[str]:
        """Take in what an object says, or that it is gone; return the nodes for which that changes something."""
        old = self._seen.get(event.object)
        if isinstance(event, DomainGone):
            stays = old is None or event.uid not in {None, old.uid}
            return set() if stays else self.drop(event.object)
        if old == event:
            return set()
        touched = self.drop(event.object)
        self._seen[event.object] = event
        for node in event.nodes:
            self._of_node.setdefault(node, {})[event.object] = event
        return touched.union(event.nodes)

    def drop(self, name: Reference) -> set[str]:
        """Forget an object; return its nodes."""
        old = self._seen.pop(name, None)
        nodes = set() if old is None else set(old.nodes)
        for node in nodes:
            del self._of_node[node][name]
            if not self._of_node[node]:
                del self._of_node[node]
        return nodes

    def labels(self, node: Node) -> Mapping[str, str]:
        """Return the labels of a node with those that objects give it. Of two objects the first by name counts."""
        said = self._of_node.get(node.name)
        if said is None:
            return node.labels
        given = {said[name].key: name.name for name in sorted(said, reverse=True)}
        return {**node.labels, **given}
