"""Neighbours: what a task says of other pods, with the namespaces looked up, and which labels it reads for that."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from phalanx.model.selectors import LabelSelector, PodRule, PodTerm
from phalanx.model.task import Task


def of_others(task: Task, namespaces: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Return what a task says of others, as fields of its shape. A term without a selector means nobody."""
    return {
        "repels": tuple(_rule(term, namespaces) for term in task.repels if term.selector is not None),
        "attracts": tuple(_rule(term, namespaces) for term in task.attracts),
        "likes": tuple(
            (one.weight, _rule(one.term, namespaces)) for one in task.likes if one.term.selector is not None
        ),
        "spreads": task.spreads,
    }


def terms_of(task: Task) -> Iterator[PodTerm]:
    """Yield every term of a task."""
    yield from task.repels
    yield from task.attracts
    for liking in task.likes:
        yield liking.term


def label_keys(task: Task) -> Iterable[str]:
    """Return the labels of pods that a task reads: others' shapes keep them."""
    if not task.looks_around:
        return ()
    selectors: list[LabelSelector | None] = [one.selector for one in task.spreads]
    if task.repels or task.attracts or task.likes:
        selectors += [term.selector for term in terms_of(task)]
    return {wish.key for selector in selectors if selector is not None for wish in selector.requirements}


def _rule(term: PodTerm, namespaces: Mapping[str, Mapping[str, str]]) -> PodRule:
    return PodRule(term.topology_key, term.selector, _namespaces(term, namespaces))


def _namespaces(term: PodTerm, known: Mapping[str, Mapping[str, str]]) -> frozenset[str] | None:
    """Return the namespaces a term looks at; None: all."""
    chosen = term.namespace_selector
    if chosen is None:
        return term.namespaces
    if not chosen.requirements:
        return None
    return term.namespaces | {name for name, labels in known.items() if chosen.matches(labels)}
