"""Which nodes match a term: an array over all nodes from the few distinct values of a label."""

import numpy as np

from phalanx.model.axis import Bool
from phalanx.model.selectors import NodeTerm, Requirement, satisfied
from phalanx.model.snapshot import NodeTable


def term_mask(nodes: NodeTable, term: NodeTerm) -> Bool:
    """Return where every requirement of the term holds. An empty term holds nowhere."""
    mask = np.full(len(nodes), bool(term.labels or term.fields))
    for requirement in term.labels:
        mask &= _label_mask(nodes, requirement)
    for requirement in term.fields:
        named = np.zeros(len(nodes), np.bool_)
        named[[nodes.row[name] for name in requirement.values if name in nodes.row]] = True
        mask &= named if requirement.operator == "In" else ~named
    return mask


def selected(nodes: NodeTable, selector: NodeTerm | None, terms: tuple[NodeTerm, ...] | None) -> Bool:
    """Return where the selector holds and one of the terms; None: there is no such wish."""
    found = np.ones(len(nodes), np.bool_) if selector is None else term_mask(nodes, selector)
    if terms is not None:
        found &= np.logical_or.reduce([np.zeros(len(nodes), np.bool_), *(term_mask(nodes, term) for term in terms)])
    return found


def _label_mask(nodes: NodeTable, requirement: Requirement) -> Bool:
    """Return where one requirement holds; absent labels are domain -1, the last place of the lookup."""
    domains = nodes.domains(requirement.key)
    if requirement.operator in {"In", "NotIn"}:
        # Looked up, not compared with each value: a hostname label has as many values as there are nodes.
        listed = np.zeros(len(domains.names) + 1, np.bool_)
        listed[[domains.number[value] for value in requirement.values if value in domains.number]] = True
        return listed[domains.of_node] if requirement.operator == "In" else ~listed[domains.of_node]
    table = np.array(
        [*(satisfied(requirement, name) for name in domains.names), satisfied(requirement, None)], np.bool_
    )
    mask: Bool = table[domains.of_node]
    return mask
