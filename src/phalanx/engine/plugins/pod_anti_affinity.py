"""PodAntiAffinity: tasks on nodes may keep other tasks out of their domains."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.plugin import Plugin, yes_no
from phalanx.engine.session.column import Column
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Int
from phalanx.model.selectors import Repulsion
from phalanx.model.snapshot import Snapshot

#: Per topology key: the rules of the pods that repel others in domains of that key.
Rules = Mapping[str, list[Repulsion]]


@dataclass(frozen=True, slots=True)
class PodAntiAffinity(Plugin):
    """Respect the required anti-affinity of tasks on nodes, of any scheduler.

    A pending task with such a wish of its own is held before it gets here.
    """

    name: ClassVar[str] = "pod_anti_affinity"
    reads: ClassVar[tuple[str, ...]] = ("namespace", "labels")

    def columns(self, snapshot: Snapshot) -> Sequence[Column]:
        """Return, per topology key, [domain, rule]: how many pods in the domain repel others by the rule."""
        return [_column(snapshot, key, rules) for key, rules in _rules(snapshot).items()]

    def room(self, session: Session, request: Request) -> Int | None:
        """Return no for every node in a domain that repels the shape."""
        every = session.once("repulsions", lambda: _rules(session.snapshot), static=True)
        if not every:
            return None
        spec, nodes = session.snapshot.shapes[request.shape], session.snapshot.nodes
        labels = dict(spec.labels)
        allowed = None
        # A loop over the rules in the cluster, which are few.
        for key, rules in every.items():
            for number, rule in enumerate(rules):
                if rule.repels(spec.namespace, labels):
                    free = session.spare(request, number, _name(key)) >= 0
                    # Nodes without the label are in no domain.
                    open_ = np.append(free, True)[nodes.domains(key).of_node]
                    allowed = open_ if allowed is None else allowed & open_
        return None if allowed is None else yes_no(allowed)

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Say that a running pod keeps it out."""
        del session, request
        return [(len(nodes), "closed by the anti-affinity of a running pod")]


def _column(snapshot: Snapshot, key: str, rules: list[Repulsion]) -> Column:
    domains = snapshot.nodes.domains(key)
    footprint = np.zeros((len(snapshot.shapes), len(rules)), np.int64)
    # A loop over the shapes that repel others, which are few.
    for row, shape in enumerate(snapshot.shapes):
        if shape.repels:
            footprint[row] = [rule in shape.repels for rule in rules]
    return Column(_name(key), footprint, np.zeros((len(domains.names), len(rules)), np.int64), domains.of_node)


def _name(key: str) -> str:
    return f"pod_anti_affinity {key}"


def _rules(snapshot: Snapshot) -> Rules:
    found = {rule for shape in snapshot.shapes for rule in shape.repels}
    rules: dict[str, list[Repulsion]] = {}
    for rule in sorted(found, key=lambda one: (one.topology_key, repr(one.selector), sorted(one.namespaces or ()))):
        rules.setdefault(rule.topology_key, []).append(rule)
    return rules
