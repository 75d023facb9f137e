"""Pod rules: which shapes a rule means. Found by the labels that shapes have, since rules and shapes may be many."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from phalanx.model.axis import Int
from phalanx.model.selectors import PodRule
from phalanx.model.task import Shape


@dataclass(frozen=True, slots=True)
class RuleTable:
    """Rules, numbered in an order that depends on them alone."""

    rules: tuple[PodRule, ...]
    number: Mapping[PodRule, int]
    #: [rule]: the shapes that it means.
    meant: tuple[tuple[int, ...], ...]
    #: By shape: the rules that mean it.
    meaning: Mapping[int, tuple[int, ...]]


def rule_table(shapes: Sequence[Shape], rules: Iterable[PodRule]) -> RuleTable:
    """Return which of these shapes each rule means."""
    ordered = tuple(sorted(set(rules), key=_order))
    number = {rule: at for at, rule in enumerate(ordered)}
    if not ordered:
        return RuleTable((), number, (), {})
    labels = [dict(shape.labels) for shape in shapes]
    having: dict[tuple[str, str], list[int]] = {}
    for row, shape in enumerate(shapes):
        for pair in shape.labels:
            having.setdefault(pair, []).append(row)
    meaning: dict[int, list[int]] = {}
    meant = []
    # A loop over the rules of the cluster, and over the shapes that have a label that each of them names.
    for at, rule in enumerate(ordered):
        rows = [row for row in _candidates(rule, having, len(shapes)) if rule.means(shapes[row].namespace, labels[row])]
        meant.append(tuple(rows))
        for row in rows:
            meaning.setdefault(row, []).append(at)
    return RuleTable(ordered, number, tuple(meant), {row: tuple(ats) for row, ats in meaning.items()})


def footprint(shapes: int, rows: Mapping[int, int]) -> Int:
    """Return [shape, 1]: what copies take of a column, from the few that take some."""
    taken = np.zeros((shapes, 1), np.int64)
    taken[list(rows), 0] = list(rows.values())
    return taken


def _candidates(rule: PodRule, having: Mapping[tuple[str, str], list[int]], count: int) -> Iterable[int]:
    if rule.selector is None:
        return ()
    for wish in rule.selector.requirements:
        if wish.operator == "In":
            return sorted({row for value in wish.values for row in having.get((wish.key, value), ())})
    return range(count)


def _order(rule: PodRule) -> tuple[str, str, tuple[str, ...]]:
    return (rule.topology_key, repr(rule.selector), tuple(sorted(rule.namespaces or ())))
