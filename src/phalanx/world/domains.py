"""Domains that objects name: such an object gives its nodes a label, of which its own name is the value.

So nodes are grouped in one way, whether a label or an object says where they are.
"""

from collections.abc import Collection, Mapping

from phalanx.model.events import DomainGone, DomainSeen, Refused
from phalanx.model.node import Node
from phalanx.model.reference import Reference
from phalanx.model.tree import Level
from phalanx.world.tiers import Tiers, tiers

_NOTHING: Mapping[str, str] = {}


class DomainObjects:
    """Remembers the objects, and what they come to with the nodes that are there."""

    def __init__(self) -> None:
        #: Those without parts, and those that make a tree.
        self._flat: dict[Reference, DomainSeen] = {}
        self._tiered: dict[Reference, DomainSeen] = {}
        #: By name of the node; a tree gives its nodes a mapping of its own.
        self._given: dict[str, Mapping[str, str]] = {}
        self._tiers = Tiers()
        #: The labels with which nodes were last looked at; nobody looks where nothing chooses by them.
        self._looked: dict[str, Mapping[str, str]] = {}
        self._stale = False
        #: How often an object changed, or a list of levels, or the labels of a node that was known.
        self.changes = 0

    def apply(self, event: DomainSeen | DomainGone) -> bool:
        """Take in what an object says, or that it is gone; tell whether it says something else than before."""
        old = self._flat.get(event.object) or self._tiered.get(event.object)
        if isinstance(event, DomainGone):
            stays = old is None or event.uid not in {None, old.uid}
            return not stays and self.drop(event.object)
        if old == event:
            return False
        self.drop(event.object)
        (self._flat if event.tier is None else self._tiered)[event.object] = event
        self._stale = True
        self.changes += 1
        return True

    def drop(self, name: Reference) -> bool:
        """Forget an object; tell whether it was there."""
        there = self._flat.pop(name, None) or self._tiered.pop(name, None)
        self._stale = self._stale or there is not None
        self.changes += there is not None
        return there is not None

    @property
    def tiers(self) -> tuple[Level, ...]:
        """Return the levels of the tree, from the top. All objects with a tier make one tree."""
        return self._tiers.levels

    @property
    def levels(self) -> dict[Reference, tuple[Level, ...]]:
        """Return the same as gangs refer to them: by the kind of the objects."""
        return {Reference(kind, ""): self.tiers for kind in sorted({thing.kind for thing in self._tiered})}

    @property
    def mistakes(self) -> tuple[Refused, ...]:
        """Return what in the tree is left out, and why."""
        return self._tiers.mistakes

    def refresh(self, nodes: Mapping[str, Node], changed: Collection[str]) -> set[str]:
        """Work out anew what changed objects, or changed nodes, make different; return nodes with other labels."""
        if not self._stale and not self._relabelled(nodes, changed):
            return set()
        self._stale = False
        old, given = self._given, dict[str, Mapping[str, str]]()
        # Of two objects the first by name counts.
        for thing in sorted(self._flat, reverse=True):
            for name in self._flat[thing].nodes:
                given[name] = {**given.get(name, {}), self._flat[thing].key: thing.name}
        self._tiers = tiers(self._tiered, nodes)
        for name, labels in self._tiers.labels.items():
            given[name] = {**given[name], **labels} if name in given else labels
        self._given = given
        choosy = any(one.choices for one in self._tiered.values())
        self._looked = {name: node.labels for name, node in nodes.items()} if choosy else {}
        return {name for name in {*old, *given} if old.get(name) != given.get(name) and name in nodes}

    def _relabelled(self, nodes: Mapping[str, Node], changed: Collection[str]) -> bool:
        """Tell whether nodes came, went or were relabelled of which objects may choose others now."""
        if not self._looked:
            return any(one.choices for one in self._tiered.values()) and bool(nodes)
        return len(nodes) != len(self._looked) or any(
            name not in nodes or self._looked.get(name) != nodes[name].labels for name in changed
        )

    def labels(self, node: Node) -> Mapping[str, str]:
        """Return the labels of a node with those that objects give it."""
        given = self._given.get(node.name, _NOTHING)
        return {**node.labels, **given} if given else node.labels
