"""Repulsions: the required anti-affinity of tasks on nodes, with the namespaces that they look at."""

from collections.abc import Iterable, Mapping

from phalanx.model.selectors import PodTerm, Repulsion


def repulsions(terms: Iterable[PodTerm], namespaces: Mapping[str, Mapping[str, str]]) -> tuple[Repulsion, ...]:
    """Return the rules that these terms mean now. A term without a selector repels nobody."""
    return tuple(
        Repulsion(term.topology_key, term.selector, _namespaces(term, namespaces))
        for term in terms
        if term.selector is not None
    )


def _namespaces(term: PodTerm, known: Mapping[str, Mapping[str, str]]) -> frozenset[str] | None:
    """Return the namespaces a term looks at; None: all."""
    chosen = term.namespace_selector
    if chosen is None:
        return term.namespaces
    if not chosen.requirements:
        return None
    return term.namespaces | {name for name, labels in known.items() if chosen.matches(labels)}
