"""TopologySpread: pods of a kind lie evenly over zones, racks or hosts: always, or as far as that can be."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from phalanx.engine.kernels.by_caps import NO_DOMAIN, Caps
from phalanx.engine.kernels.copy_by_copy import Count
from phalanx.engine.kernels.match import selected
from phalanx.engine.kernels.pod_rules import footprint, rule_table
from phalanx.engine.kernels.spreading import evenness, lowest, risen, unevenness, weight_of
from phalanx.engine.kernels.tolerate import tolerated
from phalanx.engine.plugin import Plugin, Reach, Tally, yes_no
from phalanx.engine.session.column import Column
from phalanx.engine.session.request import Request, When
from phalanx.engine.session.session import Session
from phalanx.engine.session.standing import standing
from phalanx.model.axis import Bool, Float, Int
from phalanx.model.selectors import LabelSelector, PodRule, Requirement, Spread
from phalanx.model.snapshot import Snapshot
from phalanx.model.task import REPLICAS_OF, Shape
from phalanx.model.topology import HOSTNAME, ZONE


@dataclass(frozen=True, slots=True)
class TopologySpread(Plugin):
    """Keep within the skew that a task allows; prefer where fewer of its kind are, if it only wishes so."""

    #: `system`: copies of one ReplicaSet, and pods of one Service, that say nothing wish to be spread, by
    #: kube-scheduler's own default.
    defaults: Literal["none", "system"] = "none"
    name: ClassVar[str] = "topology_spread"
    reads: ClassVar[tuple[str, ...]] = (
        "namespace", "labels", "spreads", "node_selector", "node_terms", "tolerations"
    )  # fmt: skip
    reach: ClassVar[Reach] = "domain"

    @property
    def label_keys(self) -> Sequence[str]:
        """Return what tells whose copies tasks are, if that counts."""
        return (REPLICAS_OF,) if self.defaults == "system" else ()

    @property
    def asks(self) -> Sequence[str]:
        """Return that Services are read, if they count."""
        return ("Service",) if self.defaults == "system" else ()

    def columns(self, snapshot: Snapshot) -> Sequence[Column]:
        """Return, per constraint and set of nodes that count, how many of the pods that it means each domain has."""
        return list(_derived(snapshot, self.defaults).values())

    def room(self, session: Session, request: Request) -> Int | None:
        """Return yes where one more stays within the skew, with what is promised to others and without it."""
        found = None
        for one in _constraints(self, session, request, hard=True):
            fine = _known(session, one.spread)
            for counts in one.counts:
                fine = fine & one.allowed(session, counts, request.count)
            found = fine if found is None else found & fine
        return None if found is None else yes_no(found)

    def caps(self, session: Session, request: Request) -> Sequence[Caps]:
        """Return how its own copies may lie in the domains, where they count themselves."""
        return [
            one.caps(counts, request.count)
            for one in _constraints(self, session, request, hard=True)
            for counts in one.counts
            if one.counted
        ]

    def opens(self, session: Session, request: Request) -> bool:
        """Tell whether its copies count themselves: where the lowest domains rise, others take one more."""
        return any(one.counted for one in _constraints(self, session, request, hard=True))

    def reaches(self, session: Session, request: Request) -> bool:
        """Never ask after each copy: the caps and the tally say all."""
        del session, request
        return False

    def tally(self, session: Session, request: Request) -> Tally | None:
        """Return its score by what domains have, if a copy is one of those that are counted."""
        wishes = list(_constraints(self, session, request, hard=False))
        return _tally(session, request, wishes) if any(one.counted for one in wishes) else None

    def score(self, session: Session, request: Request, nodes: Int, copies: Int) -> Float | None:
        """Return kube-scheduler's score: the fewer of its kind around, the better; more so where domains are many."""
        del copies
        wishes = list(_constraints(self, session, request, hard=False))
        if not wishes:
            return None
        tally = _tally(session, request, wishes)
        return tally.score([one.of_nodes() for one in tally.counts], request.candidates)[nodes]

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Count nodes under the first constraint that closes them, with how many domains are full."""
        left, counted = nodes, list[tuple[int, str]]()
        for one in _constraints(self, session, request, hard=True):
            known = _known(session, one.spread)[left]
            key = one.spread.topology_key
            counted.append((int(np.count_nonzero(~known)), f"without label {key}"))
            left = left[known]
            open_ = np.logical_and.reduce([one.allowed(session, counts, request.count) for counts in one.counts])[left]
            full = np.unique(session.snapshot.nodes.domains(key).of_node[left[~open_]])
            domains = f"{len(full)} of {one.domains} domains of {key} are at maxSkew {one.spread.max_skew}"
            counted.append((int(np.count_nonzero(~open_)), f"beyond its spread: {domains}"))
            left = left[open_]
        return sorted((one for one in counted if one[0]), key=lambda one: (-one[0], one[1]))

    def limits(self, session: Session, request: Request, nodes: Int) -> str:
        """Say how far apart the domains may be."""
        del nodes
        said = [
            f"maxSkew {one.spread.max_skew} over {one.domains} domains of {one.spread.topology_key}"
            for one in _constraints(self, session, request, hard=True)
            if one.counted
        ]
        return " and ".join(said)


class _Constraint(NamedTuple):
    """One constraint of a shape, with what is counted for it."""

    spread: Spread
    #: 1 where the task is one of those that it means; and whether it counts, which none does for an empty selector.
    own: int
    counted: bool
    #: [domain], without and with what is promised, if anything is.
    counts: tuple[Int, ...]
    #: [node]: its domain, if the node counts; else -1. [domain]: some node of it counts.
    of_node: Int
    counting: Bool

    @property
    def domains(self) -> int:
        """Return how many domains count."""
        return int(np.count_nonzero(self.counting))

    def lowest(self, counts: Int) -> int:
        """Return what counts as the least that a domain has."""
        return lowest(counts, self.counting, self.spread.min_domains)

    def allowed(self, session: Session, counts: Int, count: int) -> Bool:
        """Return [node]: whether its domain stays within the skew with one of so many copies, the others elsewhere."""
        low = self.lowest(counts)
        if count > 1 and self.counted and self.domains >= self.spread.min_domains:
            low = max(low, risen(counts[self.counting], count - 1))
        open_ = counts + self.own - low <= self.spread.max_skew
        domain = session.snapshot.nodes.domains(self.spread.topology_key).of_node
        found: Bool = np.append(open_, False)[domain]
        return found

    def caps(self, counts: Int, count: int) -> Caps:
        """Return how many copies each domain takes, or that they must stay level."""
        low, skew = self.lowest(counts), self.spread.max_skew
        bottom = np.count_nonzero(counts[self.counting] == low)
        # The least rises when the last of the lowest domains gets one; with too few domains it is none.
        if self.domains < self.spread.min_domains or count <= bottom:
            return Caps(self.of_node, np.maximum(low + skew - counts, 0))
        level = np.where(self.counting, counts, NO_DOMAIN)
        return Caps(self.of_node, np.full(len(counts), NO_DOMAIN), level, skew)


def _constraints(plugin: TopologySpread, session: Session, request: Request, *, hard: bool) -> Iterator[_Constraint]:
    """Yield the constraints of a shape: those that hold, or those that are wishes."""
    shape = session.snapshot.shapes[request.shape]
    for spread in _spreads(shape, plugin.defaults):
        if spread.hard != hard:
            continue
        column = _derived(session.snapshot, plugin.defaults)[_key(shape, spread)]
        at = standing(session, request, column.name)
        counts: tuple[Int, ...] = (at.stays,)
        if hard and request.when is When.NOW and at.promised.any():
            counts = (at.stays, at.stays + at.promised)
        selector = spread.selector
        labels = dict(shape.labels)
        own = int(selector is not None and selector.matches(labels))
        assert column.row_of is not None
        counting = np.bincount(column.row_of[column.row_of >= 0], minlength=len(at.stays)) > 0
        yield _Constraint(spread, own, spread.counts(labels), counts, column.row_of, counting)


def _known(session: Session, spread: Spread) -> Bool:
    return np.asarray(session.snapshot.nodes.domains(spread.topology_key).of_node >= 0)


def _tally(session: Session, request: Request, wishes: list[_Constraint]) -> Tally:
    """Return the score. A node that lacks one of the labels that a task itself names is the worst."""
    nodes = session.snapshot.nodes
    strict = bool(session.snapshot.shapes[request.shape].spreads)
    there = request.candidates
    if strict:
        there = there[np.logical_and.reduce([_known(session, one.spread)[there] for one in wishes])]
    counts, terms = list[Count](), list[tuple[float, int]]()
    for one in wishes:
        key, domain = one.spread.topology_key, nodes.domains(one.spread.topology_key).of_node
        adds = (one.of_node >= 0).astype(np.int64) if one.counted else np.zeros(len(domain), np.int64)
        counts.append(Count(domain, one.counts[0], adds, _NOWHERE))
        size = len(there) if key == HOSTNAME else len(np.unique(domain[there]))
        terms.append((weight_of(size), one.spread.max_skew))

    def score(values: Sequence[Int], among: Int) -> Float:
        raw, scored = np.zeros(len(values[0])), np.ones(len(values[0]), np.bool_)
        for value, (weight, skew) in zip(values, terms, strict=True):
            known = value != _NOWHERE
            raw += np.where(known, unevenness(value.astype(np.float64), weight, skew), 0.0)
            scored &= known | (not strict)
        return evenness(raw, among, scored)

    return Tally(tuple(counts), score)


#: What counts on a node without the label.
_NOWHERE = -1
#: What names a column: whom it counts, over which domains, on which nodes.
_Key = tuple[object, ...]


def _key(shape: Shape, spread: Spread) -> _Key:
    keys = frozenset(one.topology_key for one in shape.spreads if one.hard == spread.hard)
    affinity = (shape.node_selector, shape.node_terms) if spread.honours_affinity else None
    tolerations = shape.tolerations if spread.honours_taints else None
    return (spread.topology_key, spread.selector, shape.namespace, keys, affinity, tolerations)


def _spreads(shape: Shape, defaults: str) -> tuple[Spread, ...]:
    """Return the constraints of a shape, its own or the default ones."""
    if shape.spreads or defaults == "none":
        return shape.spreads
    # As kube-scheduler has it: pods that all its Services select, and that are copies of what it is a copy of.
    meant = dict(shape.served)
    if (copies_of := dict(shape.labels).get(REPLICAS_OF)) is not None:
        meant[REPLICAS_OF] = copies_of
    if not meant:
        return ()
    selector = LabelSelector(tuple(Requirement(key, "In", (value,)) for key, value in sorted(meant.items())))
    return (Spread(HOSTNAME, 3, selector, hard=False), Spread(ZONE, 5, selector, hard=False))


def _derived(snapshot: Snapshot, defaults: str) -> dict[_Key, Column]:
    """Return the columns, worked out once for the shapes and nodes that there are."""
    found: dict[_Key, Column] | None = snapshot.derived.get(("topology_spread", defaults))
    if found is not None:
        return found
    wanted: dict[_Key, tuple[Shape, Spread]] = {}
    for shape in snapshot.shapes:
        for spread in _spreads(shape, defaults):
            wanted.setdefault(_key(shape, spread), (shape, spread))
    rules = {key: _rule(shape, spread) for key, (shape, spread) in wanted.items()}
    table = rule_table(snapshot.shapes, [rule for rule in rules.values() if rule is not None])
    found = snapshot.derived["topology_spread", defaults] = {}
    for number, (key, (shape, spread)) in enumerate(wanted.items()):
        domains, rule = snapshot.nodes.domains(spread.topology_key), rules[key]
        rows = dict.fromkeys(table.meant[table.number[rule]], 1) if rule is not None else {}
        of_node = np.where(_counts(snapshot, shape, spread), domains.of_node, -1)
        empty = np.zeros((len(domains.names), 1), np.int64)
        name = f"topology_spread {number}"
        found[key] = Column(name, footprint(len(snapshot.shapes), rows), empty, of_node)
    return found


def _rule(shape: Shape, spread: Spread) -> PodRule | None:
    """Return which pods count; None: nobody does, as with an empty selector."""
    if spread.selector is None or not spread.selector.requirements:
        return None
    return PodRule(spread.topology_key, spread.selector, frozenset({shape.namespace}))


def _counts(snapshot: Snapshot, shape: Shape, spread: Spread) -> Bool:
    """Return [node]: whether it makes its domain count, for tasks of this shape."""
    nodes = snapshot.nodes
    keys = {one.topology_key for one in shape.spreads if one.hard == spread.hard}
    counts = np.logical_and.reduce([np.ones(len(nodes), np.bool_), *(nodes.domains(key).of_node >= 0 for key in keys)])
    if spread.honours_affinity:
        counts = counts & selected(nodes, shape.node_selector, shape.node_terms)
    if spread.honours_taints:
        fine = [tolerated(shape.tolerations, taints) for taints in nodes.taint_sets]
        counts = counts & np.array(fine, np.bool_)[nodes.taint_set]
    found: Bool = counts
    return found
