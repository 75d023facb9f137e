"""Repulsions: the required anti-affinity of tasks on nodes, grouped so that each rule is looked at once."""

from collections.abc import Iterable, Mapping

from phalanx.model.node import Node
from phalanx.model.selectors import LabelSelector, PodTerm
from phalanx.model.snapshot import Repulsion
from phalanx.model.task import Task

Rule = tuple[str, LabelSelector, frozenset[str] | None]


def repulsions(
    tasks: Iterable[Task], nodes: Mapping[str, Node], namespaces: Mapping[str, Mapping[str, str]]
) -> tuple[Repulsion, ...]:
    """Return one repulsion per distinct rule, with every domain that some task closes by it."""
    closed: dict[Rule, set[str]] = {}
    for task in tasks:
        node = nodes.get(task.node or "")
        for term in task.repels:
            domain = node.labels.get(term.topology_key) if node else None
            if domain is not None and term.selector is not None:
                rule = (term.topology_key, term.selector, _namespaces(term, namespaces))
                closed.setdefault(rule, set()).add(domain)
    found = [Repulsion(key, selector, where, tuple(sorted(names))) for (key, selector, where), names in closed.items()]
    return tuple(sorted(found, key=repr))


def _namespaces(term: PodTerm, known: Mapping[str, Mapping[str, str]]) -> frozenset[str] | None:
    """Return the namespaces a term looks at; None: all."""
    chosen = term.namespace_selector
    if chosen is None:
        return term.namespaces
    if not chosen.requirements:
        return None
    return term.namespaces | {name for name, labels in known.items() if chosen.matches(labels)}
