"""Tiers: the tree that objects make which name domains by nodes, by patterns and by smaller domains.

What does not fit into a tree is told and left out; the rest counts.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from phalanx.model.events import DomainSeen, Refused
from phalanx.model.node import Node
from phalanx.model.pattern import Pattern
from phalanx.model.reference import Reference
from phalanx.model.selectors import LabelSelector
from phalanx.model.tree import Level

#: Of nodes that are in two domains a message names so many.
_NAMED_MAX = 3


@dataclass(frozen=True, slots=True)
class Tiers:
    """What a set of objects comes to."""

    #: From the top.
    levels: tuple[Level, ...] = ()
    #: What each node has as labels. Nodes of one domain have the same mapping.
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    #: What is left out, and why.
    mistakes: tuple[Refused, ...] = ()


class Nodes:
    """The nodes that objects choose from, by name and by label."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = nodes
        self._names = sorted(nodes)
        #: By key and value.
        self._having: dict[str, dict[str, list[str]]] = {}

    def chosen(self, by: Pattern | LabelSelector) -> Collection[str]:
        """Return the names of the nodes that a pattern or a selector means."""
        if isinstance(by, Pattern):
            first = bisect_left(self._names, by.prefix)
            # Every name that begins so stands before this one.
            last = bisect_left(self._names, by.prefix + "\x7f") if by.prefix else len(self._names)
            return [name for name in self._names[first:last] if by.found_in(name)]
        exact = next((one for one in by.requirements if one.operator == "In"), None)
        among: Iterable[str] = self._names
        if exact is not None:
            among = [name for value in exact.values for name in self._with(exact.key).get(value, ())]
        return [name for name in among if by.matches(self._nodes[name].labels)]

    def _with(self, key: str) -> Mapping[str, list[str]]:
        if key not in self._having:
            found = self._having[key] = {}
            for name in self._names:
                value = self._nodes[name].labels.get(key)
                if value is not None:
                    found.setdefault(value, []).append(name)
        return self._having[key]


def tiers(seen: Mapping[Reference, DomainSeen], nodes: Mapping[str, Node]) -> Tiers:
    """Work out the tree. Of two objects that contradict each other the first by tier and name counts."""
    if not seen:
        return Tiers()
    mistakes: list[Refused] = []
    levels = _levels(seen.values(), mistakes)
    above = _above(seen, mistakes)
    given: dict[Reference, Mapping[str, str]] = {}
    lines: dict[Reference, tuple[Reference, ...]] = {}
    labels: dict[str, Mapping[str, str]] = {}
    home: dict[str, Reference] = {}
    known = Nodes(nodes)
    for thing, one in sorted(seen.items(), key=lambda pair: (pair[1].tier, pair[0])):
        line = lines[thing] = _line(thing, above)
        given[thing] = _labels(line, levels, seen)
        twice: list[str] = []
        for name in dict.fromkeys((*one.nodes, *(name for by in one.choices for name in known.chosen(by)))):
            first = home.setdefault(name, thing)
            if first is thing:
                labels[name] = given[thing]
            # A larger domain may name the nodes of its parts too.
            elif thing not in lines[first]:
                twice.append(name)
        if twice:
            more = f" and {len(twice) - _NAMED_MAX} more" if len(twice) > _NAMED_MAX else ""
            where = ", ".join(f"{name} in {home[name].full_name}" for name in sorted(twice)[:_NAMED_MAX])
            mistakes.append(_mistake(one, "spec.members", f"counted where they are already: {where}{more}"))
    return Tiers(levels, labels, tuple(mistakes))


def _levels(seen: Collection[DomainSeen], mistakes: list[Refused]) -> tuple[Level, ...]:
    """Return a level per tier, from the top. A name that several tiers have means the lowest of them."""
    words: dict[int, dict[str, None]] = defaultdict(dict)
    keys: dict[int, str] = {}
    of: dict[str, int] = {}
    for one in sorted(seen, key=lambda one: (one.tier, one.object)):
        tier = one.tier or 0
        keys[tier] = one.key
        if one.called and of.setdefault(one.called, tier) == tier:
            words[tier][one.called] = None
        elif one.called:
            text = f"found {one.called}, which is tier {of[one.called]}, not {tier}"
            mistakes.append(_mistake(one, "spec.tierName", text))
    found = []
    for tier in sorted(keys, reverse=True):
        names = tuple(words[tier]) or (f"{next(iter(seen)).object.bare_kind} of tier {tier}",)
        found.append(Level(keys[tier], names[0], tier, names[1:]))
    return tuple(found)


def _above(seen: Mapping[Reference, DomainSeen], mistakes: list[Refused]) -> dict[Reference, Reference]:
    """Return of which domain each one is part. Tiers rise on the way up, so nothing is part of itself."""
    above: dict[Reference, Reference] = {}
    for thing, one in sorted(seen.items(), key=lambda pair: (pair[1].tier, pair[0])):
        for name, where in one.parts:
            part = Reference(thing.kind, name)
            inner = seen.get(part)
            if inner is None:
                mistakes.append(_mistake(one, where, f"there is no {part}"))
            elif (inner.tier or 0) >= (one.tier or 0):
                ring = _ring(thing, part, seen)
                because = f": {ring} is a circle" if ring else ""
                text = f"found {name} of tier {inner.tier}, allowed is a tier below {one.tier}{because}"
                mistakes.append(_mistake(one, where, text))
            elif above.setdefault(part, thing) != thing:
                text = f"found {name}, which is part of {above[part].full_name} already"
                mistakes.append(_mistake(one, where, text))
    return above


def _ring(start: Reference, part: Reference, seen: Mapping[Reference, DomainSeen]) -> str:
    """Return the way from a domain over one of its parts back to it; empty: there is none."""
    came: dict[Reference, Reference | None] = {part: None}
    todo = [part]
    while todo and start not in came:
        at = todo.pop()
        for name, _ in seen[at].parts:
            inner = Reference(start.kind, name)
            if inner in seen and inner not in came:
                came[inner] = at
                todo.append(inner)
    if start not in came:
        return ""
    way, at_end = [start.name], came[start]
    while at_end is not None:
        way.append(at_end.name)
        at_end = came[at_end]
    return " > ".join([start.name, *(way[:0:-1] if len(way) > 1 else []), start.name])


def _line(thing: Reference, above: Mapping[Reference, Reference]) -> tuple[Reference, ...]:
    """Return a domain and those that it is part of, upwards."""
    line = [thing]
    while line[-1] in above:
        line.append(above[line[-1]])
    return tuple(line)


def _labels(
    line: Sequence[Reference], levels: Sequence[Level], seen: Mapping[Reference, DomainSeen]
) -> Mapping[str, str]:
    """Return, level by level, the largest domain of the tier or below: a tier that is left out changes nothing."""
    found = {}
    for level in levels:
        mine = [one for one in line if (seen[one].tier or 0) <= (level.tier or 0)]
        if mine:
            found[level.key] = mine[-1].full_name
    return found


def _mistake(one: DomainSeen, where: str, text: str) -> Refused:
    return Refused(one.object.kind, one.object.full_name, where, text, uid=one.uid)
