"""ExclusiveDomains: a gang that wants a rack for itself gets one where nobody else is, and nobody comes in later."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.plugin import Plugin, yes_no
from phalanx.engine.session.column import Column
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.engine.session.standing import counted
from phalanx.model.axis import Bool, Int
from phalanx.model.snapshot import Snapshot, placed_in
from phalanx.model.task import OURS, Shape

#: The number of who has no domain for itself.
NOBODY = 0


@dataclass(frozen=True, slots=True)
class _Kind:
    """One way to be alone: in the domains of a level, against everybody of ours or against those with a label."""

    #: [shape]: the number of its owner, or NOBODY; and whether owners mind it.
    number: Int
    meant: Bool
    owners: Mapping[int, str]
    #: What a domain of the level is called.
    noun: str
    #: [node]; None: there is no such domain.
    of_node: Int | None = None
    columns: tuple[Column, ...] = ()


@dataclass(frozen=True, slots=True)
class ExclusiveDomains(Plugin):
    """Keep others out of the domains of gangs that want them for themselves, and those out of domains of others."""

    name: ClassVar[str] = "exclusive_domains"
    reads: ClassVar[tuple[str, ...]] = ("labels", "alone")

    def columns(self, snapshot: Snapshot) -> Sequence[Column]:
        """Return two columns per kind: in each domain, those that owners mind, and the owners."""
        return [column for kind in _kinds(snapshot) for column in kind.columns]

    def room(self, session: Session, request: Request) -> Int | None:
        """Return none where somebody is who must not be there with it."""
        found: Bool | None = None
        for closed in (one for _, one in _closed(session, request)):
            found = ~closed if found is None else found & ~closed
        return None if found is None else yes_no(found)

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Name who has the domain for itself, or say that others are there."""
        left, said = nodes, list[tuple[int, str]]()
        for text, closed in _closed(session, request):
            count = int(closed[left].sum())
            left = left[~closed[left]]
            said += [(count, text)] if count else []
        return sorted(said, key=lambda pair: -pair[0])


def _closed(session: Session, request: Request) -> Iterator[tuple[str, Bool]]:
    """Yield, for each kind that has to do with a request, what closes nodes to it, and which."""
    for number, kind in enumerate(_kinds(session.snapshot)):
        mine = int(kind.number[request.shape])
        if mine != NOBODY and kind.of_node is None:
            yield f"in no {kind.noun}", np.ones(len(session.snapshot.nodes), np.bool_)
        if kind.of_node is None:
            continue
        if mine != NOBODY:
            # It would share a place that is in no domain with everybody else.
            here = _apart(counted(session, request, _name(number, "minded")), mine)
            yield f"in a {kind.noun} with others", np.append(here, True)[kind.of_node]
        if kind.meant[request.shape]:
            owners = counted(session, request, _name(number, "owners"))
            here = _apart(owners, mine)
            of = _sole(owners)[here]
            who = kind.owners.get(int(of[0]), "") if len(of) and (of == of[0]).all() else ""
            name = who.partition("/")[2].replace(" ", ", subgroup ")
            yield f"in a {kind.noun} that {name or 'another gang'} has for itself", np.append(here, False)[kind.of_node]


def _apart(counts: Int, mine: int) -> Bool:
    """Return [domain]: whether anybody is there who is not of this number, given Σ1, Σn and Σn² over all who are.

    Σ(n - mine)² is zero only where all are its own.
    """
    found: Bool = counts[:, 2] - 2 * mine * counts[:, 1] + mine * mine * counts[:, 0] > 0
    return found


def _sole(counts: Int) -> Int:
    """Return [domain]: the number of all who are there, where they have one."""
    return np.asarray(counts[:, 1] // np.maximum(counts[:, 0], 1), np.int64)


def _name(number: int, what: str) -> str:
    return f"exclusive_domains {number} {what}"


def _kinds(snapshot: Snapshot) -> Sequence[_Kind]:
    """Return every kind with its columns, worked out once for the shapes and nodes that there are."""
    key = ("exclusive_domains", snapshot.levels)
    found: list[_Kind] | None = snapshot.derived.get(key)
    if found is None:
        wanted = sorted({(one.level, one.against or "") for shape in snapshot.shapes for one in shape.alone})
        found = [_kind(snapshot, at, level, against or None) for at, (level, against) in enumerate(wanted)]
        snapshot.derived[key] = found
    return found


def _kind(snapshot: Snapshot, at: int, level: str, against: str | None) -> _Kind:
    shapes = snapshot.shapes
    own = {row: one for row, shape in enumerate(shapes) for one in shape.alone if one[1:] == (level, against)}
    owners = sorted({one.owner for one in own.values()})
    known = {owner: number for number, owner in enumerate(owners, NOBODY + 1)}
    number = np.zeros(len(shapes), np.int64)
    number[list(own)] = [known[one.owner] for one in own.values()]
    meant = np.array([_meant(shape, against) for shape in shapes], np.bool_)
    called = {number: owner for owner, number in known.items()}
    placed = placed_in(snapshot.nodes, snapshot.levels, level)
    if placed is None:
        return _Kind(number, meant, called, level)
    tree, step = placed
    sums = np.stack([np.ones_like(number), number, number * number], axis=1)
    none = np.zeros((tree.size(step), 3), np.int64)
    columns = (Column(_name(at, "minded"), sums * meant[:, None], none, tree.domain_of(step)),
               Column(_name(at, "owners"), sums * (number != NOBODY)[:, None], none, tree.domain_of(step)))  # fmt: skip
    return _Kind(number, meant, called, tree.levels[step].name, tree.domain_of(step), columns)


def _meant(shape: Shape, against: str | None) -> bool:
    """Tell whether owners mind pods of a shape: those of ours, or those with the label."""
    if against is None:
        return (OURS, "") in shape.labels
    key, given, value = against.partition("=")
    return any(name == key and (not given or one == value) for name, one in shape.labels)
