"""Neighbours: what a task says of other pods, with the namespaces looked up, and which labels it reads for that."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from phalanx.model.selectors import LabelSelector, PodRule, PodTerm
from phalanx.model.task import OURS, Alone, Replica, Task
from phalanx.world.gangs import gang_key


def of_others(task: Task, namespaces: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Return what a task says of others, as fields of its shape. A term without a selector means nobody."""
    return {
        "repels": tuple(_rule(term, namespaces) for term in task.repels if term.selector is not None),
        "attracts": tuple(_rule(term, namespaces) for term in task.attracts),
        "likes": tuple(
            (one.weight, _rule(one.term, namespaces)) for one in task.likes if one.term.selector is not None
        ),
        "spreads": task.spreads,
        "alone": tuple(_alone(task)),
        "replicas": tuple(_replicas(task)),
    }


def _alone(task: Task) -> Iterator[Alone]:
    """Yield the domains that its gang, and its subgroup, share with nobody."""
    said = task.membership if task.stands_apart else None
    if said is not None and said.topology_exclusive is not None:
        yield Alone(gang_key(task), said.topology_exclusive, said.topology_exclusive_against)
    if said is not None and said.subgroup_topology_exclusive is not None:
        owner = f"{gang_key(task)} {said.subgroup}"
        yield Alone(owner, said.subgroup_topology_exclusive, said.topology_exclusive_against)


def _replicas(task: Task) -> Iterator[Replica]:
    """Yield of what its gang, and its subgroup, are replicas that should be spread."""
    said = task.membership if task.stands_apart else None
    if said is not None and said.topology_spread is not None and said.replica_of is not None:
        yield Replica(f"{task.namespace}/{said.replica_of}", said.topology_spread)
    if said is not None and said.subgroup_topology_spread is not None:
        yield Replica(gang_key(task), said.subgroup_topology_spread)


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
    keys = {wish.key for selector in selectors if selector is not None for wish in selector.requirements}
    return keys | {OURS if one.against is None else one.against.partition("=")[0] for one in _alone(task)}


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
