"""PodAntiAffinity: a task keeps other tasks out of its domains, and stays out of theirs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.kernels.by_caps import Caps
from phalanx.engine.kernels.pod_rules import RuleTable, footprint, rule_table
from phalanx.engine.plugin import UNLIMITED, Plugin, Reach
from phalanx.engine.session.column import Column
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Int
from phalanx.model.selectors import PodRule
from phalanx.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class PodAntiAffinity(Plugin):
    """Respect required anti-affinity, of the task and of those on nodes, whichever scheduler placed them."""

    name: ClassVar[str] = "pod_anti_affinity"
    reads: ClassVar[tuple[str, ...]] = ("namespace", "labels", "repels")
    reach: ClassVar[Reach] = "domain"

    def columns(self, snapshot: Snapshot) -> Sequence[Column]:
        """Return two columns per rule: in each domain, the pods that have the rule, and those that it means."""
        columns: Sequence[Column] = _derived(snapshot)[1]
        return columns

    def room(self, session: Session, request: Request) -> Int | None:
        """Return none where somebody keeps it out or it would keep itself out; one, where it repels its own copies."""
        nodes, found = session.snapshot.nodes, None
        for rule, column, _ in _looked_at(session, request):
            open_ = session.spare(request, 0, column) >= 0
            # Nodes without the label are in no domain.
            room = np.append(np.where(open_, UNLIMITED, 0), UNLIMITED)[nodes.domains(rule.topology_key).of_node]
            found = room if found is None else np.minimum(found, room)
        for rule in _own(session, request) if found is not None else ():
            alone = np.where(nodes.domains(rule.topology_key).of_node >= 0, 1, UNLIMITED)
            found = alone if found is None else np.minimum(found, alone)
        return found

    def caps(self, session: Session, request: Request) -> Sequence[Caps]:
        """Return at most one copy per domain for each rule by which it repels itself, where a domain is no node."""
        return [caps for caps in self.empty(session, request) if np.bincount(caps.of_node[caps.of_node >= 0]).max() > 1]

    def reaches(self, session: Session, request: Request) -> bool:
        """Never ask after each copy: the caps say all."""
        del session, request
        return False

    def empty(self, session: Session, request: Request) -> Sequence[Caps]:
        """Return its caps if no other pod were there."""
        keys = dict.fromkeys(rule.topology_key for rule in _own(session, request))
        every = (session.snapshot.nodes.domains(key) for key in keys)
        return [Caps(one.of_node, np.ones(len(one.names), np.int64)) for one in every if one.names]

    def ceiling(self, session: Session, request: Request) -> Int:
        """Return its room if no other pod were there."""
        most = np.full(len(session.snapshot.nodes), UNLIMITED, np.int64)
        for caps in self.empty(session, request):
            most[caps.of_node >= 0] = 1
        return most

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Count nodes under the first rule that closes them, its own rules last."""
        left, counted = nodes, dict[str, int]()
        for rule, column, own in _looked_at(session, request):
            domains = session.snapshot.nodes.domains(rule.topology_key).of_node[left]
            closed = ~np.append(session.spare(request, 0, column) >= 0, True)[domains]
            text = (
                f"with a pod in their {rule.topology_key} that its anti-affinity keeps away from"
                if own
                else "closed by the anti-affinity of a running pod"
            )
            counted[text] = counted.get(text, 0) + int(np.count_nonzero(closed))
            left = left[~closed]
        return [(count, text) for text, count in sorted(counted.items(), key=lambda one: (-one[1], one[0])) if count]

    def limits(self, session: Session, request: Request, nodes: Int) -> str:
        """Say of what it wants no second copy."""
        del nodes
        keys = dict.fromkeys(rule.topology_key for rule in _own(session, request))
        return f"one for each {' and '.join(keys)} by its own anti-affinity" if keys else ""


def _looked_at(session: Session, request: Request) -> Iterator[tuple[PodRule, str, bool]]:
    """Yield the rules that have to do with a shape, the column that counts for it, and whether the rule is its own."""
    table, _ = _derived(session.snapshot)
    for number in table.meaning.get(request.shape, ()):
        yield table.rules[number], _name(number, "has"), False
    for rule in session.snapshot.shapes[request.shape].repels if table.rules else ():
        yield rule, _name(table.number[rule], "means"), True


def _own(session: Session, request: Request) -> list[PodRule]:
    """Return the rules by which a task repels its own copies."""
    repels = session.snapshot.shapes[request.shape].repels
    if not repels:
        return []
    table, _ = _derived(session.snapshot)
    return [rule for rule in repels if table.number[rule] in table.meaning.get(request.shape, ())]


def _name(number: int, what: str) -> str:
    return f"pod_anti_affinity {number} {what}"


def _derived(snapshot: Snapshot) -> tuple[RuleTable, list[Column]]:
    """Return the rules and their columns, worked out once for the shapes and nodes that there are."""
    found: tuple[RuleTable, list[Column]] | None = snapshot.derived.get("pod_anti_affinity")
    if found is None:
        having: dict[PodRule, dict[int, int]] = {}
        for row, shape in enumerate(snapshot.shapes):
            for rule in shape.repels:
                having.setdefault(rule, {})[row] = 1
        table = rule_table(snapshot.shapes, having)
        keys = {rule.topology_key for rule in table.rules}
        every = {key: snapshot.nodes.domains(key) for key in keys}
        # Shared by all columns of a key: there may be thousands, over as many hosts.
        none = {key: np.zeros((len(domains.names), 1), np.int64) for key, domains in every.items()}
        columns = [
            Column(_name(number, what), footprint(len(snapshot.shapes), rows), none[key], every[key].of_node)
            for number, rule in enumerate(table.rules)
            for key in (rule.topology_key,)
            for what, rows in (("has", having[rule]), ("means", dict.fromkeys(table.meant[number], 1)))
        ]
        found = snapshot.derived["pod_anti_affinity"] = table, columns
    return found
