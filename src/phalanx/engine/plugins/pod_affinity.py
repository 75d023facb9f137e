"""PodAffinity: a task wants to be near others, or must be; preferred anti-affinity is the same below zero."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from phalanx.engine.kernels.by_caps import NO_DOMAIN, Caps
from phalanx.engine.kernels.copy_by_copy import Count
from phalanx.engine.kernels.pod_rules import RuleTable, footprint, rule_table
from phalanx.engine.plugin import Plugin, Reach, Tally, yes_no
from phalanx.engine.session.column import Column
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.engine.session.standing import standing
from phalanx.model.axis import Bool, Float, Int
from phalanx.model.selectors import PodRule
from phalanx.model.snapshot import Snapshot
from phalanx.model.task import Shape


@dataclass(frozen=True, slots=True)
class PodAffinity(Plugin):
    """Respect required pod affinity; prefer the domains that preferred terms weigh most, of the task and of others."""

    #: What the required affinity of a pod on a node adds for those whom it wants to have near.
    hard_weight: int = 1
    name: ClassVar[str] = "pod_affinity"
    reads: ClassVar[tuple[str, ...]] = ("namespace", "labels", "attracts")
    reach: ClassVar[Reach] = "domain"

    def __post_init__(self) -> None:
        """Check the arguments."""
        if not 0 <= self.hard_weight <= 100:
            raise ValueError(f"hard_weight: found {self.hard_weight}, allowed is 0 to 100")

    def columns(self, snapshot: Snapshot) -> Sequence[Column]:
        """Return, per domain: whom all rules of a shape mean, whom a preferred rule means, and what others add."""
        return self._derived(snapshot).columns

    def room(self, session: Session, request: Request) -> Int | None:
        """Return yes where each of its domains has a pod that it wants near, or it is the first of its kind."""
        keys = _keys(session.snapshot.shapes[request.shape])
        if not keys:
            return None
        nodes = session.snapshot.nodes
        if self._first(session, request):
            return yes_no(np.logical_and.reduce([nodes.domains(key).of_node >= 0 for key in keys]))
        return yes_no(np.logical_and.reduce([self._near(session, request, key) for key in keys]))

    def caps(self, session: Session, request: Request) -> Sequence[Caps]:
        """Return that all go to one domain, if it is the first of its kind: the others must be near it."""
        keys = _keys(session.snapshot.shapes[request.shape])
        if not keys or not self._first(session, request):
            return ()
        return _together(session, keys)

    def empty(self, session: Session, request: Request) -> Sequence[Caps]:
        """Return its caps if no other pod were there."""
        keys = _keys(session.snapshot.shapes[request.shape])
        return _together(session, keys) if keys and self._means_itself(session, request) else ()

    def reaches(self, session: Session, request: Request) -> bool:
        """Never ask after each copy: the caps and the tally say all."""
        del session, request
        return False

    def tally(self, session: Session, request: Request) -> Tally | None:
        """Return its score by the weights in domains, if a copy makes some better for the next and leaves others."""
        if not self._prefers(session, request):
            return None
        counts = [one for one in self._liked(session, request) if one.now.any() or one.adds.any()]
        return Tally(tuple(counts), _normal)

    def score(self, session: Session, request: Request, nodes: Int, copies: Int) -> Float | None:
        """Return the weights of the pods around, between the least and the most that a candidate has."""
        del copies
        key = ("liked", request.shape, session.view(request))
        weights = session.once(key, lambda: self._weights(session, request))
        if weights is None:
            return None
        there = weights[request.candidates]
        if not len(there) or there.min() == there.max():
            return None
        return _normal([weights], request.candidates)[nodes]

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Count nodes under the first key of which they have no domain, or none with such a pod."""
        left, counted = nodes, list[tuple[int, str]]()
        first = self._first(session, request)
        for key in _keys(session.snapshot.shapes[request.shape]):
            known = session.snapshot.nodes.domains(key).of_node[left] >= 0
            counted.append((int(np.count_nonzero(~known)), f"without label {key}"))
            near = known if first else self._near(session, request, key)[left]
            closed = int(np.count_nonzero(known & ~near))
            counted.append((closed, f"without a pod in their {key} that its affinity wants to be near"))
            left = left[near]
        return sorted((one for one in counted if one[0]), key=lambda one: (-one[0], one[1]))

    def limits(self, session: Session, request: Request, nodes: Int) -> str:
        """Say that they must all be in one domain."""
        del nodes
        keys = _keys(session.snapshot.shapes[request.shape])
        first = bool(keys) and self._first(session, request)
        return f"all in one {' and '.join(keys)} by its own affinity" if first else ""

    def _first(self, session: Session, request: Request) -> bool:
        """Tell whether nobody whom it wants to be near is anywhere, and it is of that kind itself."""
        if not self._means_itself(session, request):
            return False
        keys = _keys(session.snapshot.shapes[request.shape])
        return not any(self._counts(session, request, key).any() for key in keys)

    def _prefers(self, session: Session, request: Request) -> bool:
        """Tell whether a copy changes which nodes are better than others."""
        shape, table = session.snapshot.shapes[request.shape], self._derived(session.snapshot).table
        mine = table.meaning.get(request.shape, ())
        if any(table.number[rule] in mine for _, rule in shape.likes):
            return True
        pulling = {rule.topology_key for rule in shape.attracts if table.number[rule] in mine}
        if not pulling or not self.hard_weight or self._first(session, request):
            return False
        # In one domain all nodes gain alike.
        return any(self._counts(session, request, key).astype(bool).sum() > 1 for key in pulling)

    def _means_itself(self, session: Session, request: Request) -> bool:
        shape, table = session.snapshot.shapes[request.shape], self._derived(session.snapshot).table
        mine = table.meaning.get(request.shape, ())
        return all(table.number[rule] in mine for rule in shape.attracts)

    def _near(self, session: Session, request: Request, key: str) -> Bool:
        there = np.append(self._counts(session, request, key) > 0, False)
        found: Bool = there[session.snapshot.nodes.domains(key).of_node]
        return found

    def _counts(self, session: Session, request: Request, key: str) -> Int:
        group = self._derived(session.snapshot).groups[session.snapshot.shapes[request.shape].attracts]
        return standing(session, request, _name("near", group, key)).here

    def _liked(self, session: Session, request: Request) -> Iterator[Count]:
        """Yield what counts in its score: the weights in each domain, and what a copy of its own adds there."""
        derived, domains = self._derived(session.snapshot), session.snapshot.nodes.domains
        table, shape = derived.table, request.shape

        def count(weight: int, column: str, key: str, own: int) -> Count:
            of_node = domains(key).of_node
            adds = np.broadcast_to(np.int64(weight * own), len(of_node))
            return Count(of_node, weight * standing(session, request, column).here, adds)

        mine = table.meaning.get(shape, ())
        for weight, rule in session.snapshot.shapes[shape].likes:
            number = table.number[rule]
            yield count(weight, _name("means", number), rule.topology_key, int(number in mine))
        for number in mine:
            if number in derived.adding:
                key = table.rules[number].topology_key
                yield count(1, _name("adds", number), key, derived.adding[number].get(shape, 0))

    def _weights(self, session: Session, request: Request) -> Int | None:
        found = None
        for one in self._liked(session, request):
            found = one.of_nodes() if found is None else found + one.of_nodes()
        return found

    def _derived(self, snapshot: Snapshot) -> "_Derived":
        """Return the rules and their columns, worked out once for the shapes and nodes that there are."""
        found: _Derived | None = snapshot.derived.get(("pod_affinity", self.hard_weight))
        if found is None:
            found = snapshot.derived["pod_affinity", self.hard_weight] = _derived(snapshot, self.hard_weight)
        return found


class _Derived(NamedTuple):
    """The rules of a snapshot's shapes."""

    table: RuleTable
    columns: list[Column]
    #: By the rules that must all hold: their number.
    groups: dict[tuple[PodRule, ...], int]
    #: By rule and shape: what a pod with it adds to the score of those whom the rule means.
    adding: Mapping[int, Mapping[int, int]]


def _derived(snapshot: Snapshot, hard_weight: int) -> _Derived:
    shapes = snapshot.shapes
    liking = {rule for shape in shapes for _, rule in shape.likes}
    table = rule_table(shapes, liking | {rule for shape in shapes for rule in shape.attracts})
    wanted = dict.fromkeys(shape.attracts for shape in shapes if shape.attracts)
    groups = {rules: number for number, rules in enumerate(wanted)}
    adds: dict[int, dict[int, int]] = {}
    for row, shape in enumerate(shapes):
        for weight, rule in (*shape.likes, *((hard_weight, rule) for rule in shape.attracts)):
            of_rule = adds.setdefault(table.number[rule], {})
            of_rule[row] = of_rule.get(row, 0) + weight

    none: dict[str, Int] = {}

    def column(name: str, key: str, rows: dict[int, int]) -> Column:
        domains = snapshot.nodes.domains(key)
        if key not in none:
            none[key] = np.zeros((len(domains.names), 1), np.int64)
        return Column(name, footprint(len(shapes), rows), none[key], domains.of_node)

    columns = []
    for rules, group in groups.items():
        all_of = set.intersection(*(set(table.meant[table.number[rule]]) for rule in rules))
        keys = dict.fromkeys(rule.topology_key for rule in rules)
        columns += [column(_name("near", group, key), key, dict.fromkeys(all_of, 1)) for key in keys]
    for number, rule in enumerate(table.rules):
        if rule in liking:
            means = dict.fromkeys(table.meant[number], 1)
            columns.append(column(_name("means", number), rule.topology_key, means))
        columns.append(column(_name("adds", number), rule.topology_key, adds[number]))
    return _Derived(table, columns, groups, adds)


def _normal(values: Sequence[Int], among: Int) -> Float:
    """Return weights between their least and their most, in whole hundredths as kube-scheduler has them."""
    total = np.sum(np.stack(values), axis=0)
    there = total[among]
    least, most = (int(there.min()), int(there.max())) if len(there) else (0, 0)
    if most == least:
        return np.zeros(len(total))
    scored: Float = np.floor(100 * ((total - least) / (most - least))) / 100
    return np.clip(scored, 0.0, 1.0)


def _together(session: Session, keys: list[str]) -> tuple[Caps, ...]:
    """Return that all copies go to nodes that are equal in all these labels."""
    domains = [session.snapshot.nodes.domains(key).of_node for key in keys]
    known = np.logical_and.reduce([one >= 0 for one in domains])
    of_node = np.full(len(known), -1)
    _, of_node[known] = np.unique(np.stack(domains)[:, known], axis=1, return_inverse=True)
    return (Caps(of_node, np.full(int(of_node.max(initial=-1)) + 1, NO_DOMAIN), together=True),)


def _keys(shape: Shape) -> list[str]:
    """Return the node labels of which a required term looks at the domains."""
    return list(dict.fromkeys(rule.topology_key for rule in shape.attracts))


def _name(what: str, number: int, key: str = "") -> str:
    return f"pod_affinity {what} {number} {key}".rstrip()
