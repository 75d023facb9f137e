"""Wishes: inside one domain of which level a gang, or a part of it, must be or should be; and who is there already."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from phalanx.engine.policy import Policy
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Unit
from phalanx.model.axis import Bool, Int
from phalanx.model.gang import Gang, Subgroup
from phalanx.model.reference import Reference
from phalanx.model.snapshot import Snapshot
from phalanx.model.tree import NODE, USUAL, Level, Tree

#: The level above all: the whole cluster.
EVERYWHERE = -1
_USUAL = {level.key: level.name for level in (*USUAL, NODE)}


class Wishing(Protocol):
    """A gang or a subgroup."""

    @property
    def topology_required(self) -> str | None: ...  # noqa: D102 (as `Gang` has it)
    @property
    def topology_preferred(self) -> str | None: ...  # noqa: D102
    @property
    def topology(self) -> Reference | None: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Wish:
    """Levels of a tree, as numbers."""

    tree: Tree
    #: All must be in one domain of this level; EVERYWHERE: of none.
    required: int = EVERYWHERE
    #: They should be in one domain of this level, or else of the next one above; None: nothing is said.
    preferred: int | None = None
    #: Why it can never be fulfilled.
    problem: str | None = None

    @property
    def bottom(self) -> int:
        """Return the lowest level at which it matters how tasks are spread: nodes count where they are named."""
        named = max(self.required, -1 if self.preferred is None else self.preferred)
        return self.tree.lowest if named == self.tree.lowest else self.tree.lowest - 1


@dataclass(frozen=True, slots=True)
class Part:
    """What of a unit belongs together: a gang or one of its subgroups."""

    #: Of the subgroup; empty: the gang itself.
    name: str
    wish: Wish | None
    #: Rows of the task table; those of `children` are not among them.
    tasks: Int
    children: tuple["Part", ...]
    #: Nodes of members, those of `children` too, that run or have a place already.
    there: Int

    @property
    def every(self) -> Int:
        """Return all its tasks."""
        return np.concatenate([self.tasks, *(child.every for child in self.children)])


def wish_of(snapshot: Snapshot, policy: Policy, of: Wishing) -> Wish | None:
    """Return what a gang or a subgroup wishes for itself; None: nothing."""
    required, preferred = of.topology_required, of.topology_preferred
    if required is None and preferred is None:
        return None
    nodes = snapshot.nodes
    if of.topology is not None:
        keys = snapshot.topologies.get(of.topology)
        if keys is None:
            return Wish(nodes.tree(policy.levels), problem=f"there is no {of.topology}")
        tree = nodes.tree(tuple(_level(key) for key in keys), whole=True)
    else:
        tree = nodes.tree(policy.levels)
        if required is not None and required not in tree.number and nodes.domains(required).names:
            # A label that is no level of the tree is a tree of its own.
            tree = nodes.tree((_level(required),))
        elif required is None and preferred not in tree.number and nodes.domains(preferred or "").names:
            tree = nodes.tree((_level(preferred or ""),))
    return _resolved(tree, required, preferred)


def _level(key: str) -> Level:
    return Level(key, _USUAL.get(key) or key.rpartition("/")[2])


def _resolved(tree: Tree, required: str | None, preferred: str | None) -> Wish:
    must = EVERYWHERE if required is None else tree.number.get(required)
    if must is None:
        known = ", ".join(level.name for level in tree.levels)
        return Wish(tree, problem=f"no node has the label {required}, and it is no level: the levels are {known}")
    if must != EVERYWHERE and not tree.size(must):
        return Wish(tree, problem=f"no node has the label {tree.levels[must].key} of level {tree.levels[must].name}")
    should = None if preferred is None else tree.number.get(preferred)
    return Wish(tree, must, None if should is None or should <= must else should)


def parts_of(session: Session, policy: Policy, unit: Unit) -> Part | None:
    """Return a unit as the tree of its wishes; None: it has none."""
    snapshot = session.snapshot
    if not snapshot.gangs.wishes[unit.gang]:
        return None
    gang = snapshot.gangs.gangs[unit.gang]
    there = _there(session, unit)
    inside: dict[str, list[int]] = {}
    if any(part.wishes for part in gang.subgroups):
        # A loop over the tasks of one gang whose subgroups have wishes.
        for task in unit.tasks.tolist():
            inside.setdefault(snapshot.tasks.subgroups[task] or "", []).append(task)
    else:
        inside[""] = unit.tasks.tolist()
    return _part(session, policy, gang, "", gang.subgroups, inside, there)


def _part(
    session: Session, policy: Policy, of: Gang | Subgroup, name: str, subgroups: Sequence[Subgroup],
    inside: dict[str, list[int]], there: dict[str, list[int]],
) -> Part:  # fmt: skip
    children, own = list[Part](), inside.get(name, [])
    for part in subgroups:
        child = _part(session, policy, part, part.name, part.children, inside, there)
        if part.wishes:
            children.append(child)
        else:
            own = own + child.tasks.tolist()
    key = ("wish", of.topology_required, of.topology_preferred, of.topology)
    wish = session.once(key, lambda: wish_of(session.snapshot, policy, of), static=True)
    names = {name, *_names(subgroups)}
    # Of the gang itself every member counts, whatever subgroup it is in.
    mine = [node for part, nodes in there.items() if not name or part in names for node in nodes]
    kept = tuple(child for child in children if len(child.every))
    return Part(name, wish, np.array(sorted(own), np.int64), kept, np.array(mine, np.int64))


def _names(subgroups: Sequence[Subgroup]) -> list[str]:
    return [name for part in subgroups for name in (part.name, *_names(part.children))]


def _there(session: Session, unit: Unit) -> dict[str, list[int]]:
    """Return, by subgroup, the nodes of members that run, and of those that have a place by now."""
    snapshot, gangs = session.snapshot, session.snapshot.gangs
    found = {name: list(nodes) for name, nodes in gangs.located.get(unit.gang, {}).items()}
    mine = np.arange(gangs.first[unit.gang], gangs.first[unit.gang] + gangs.count[unit.gang])
    node = np.where(session.place[mine] >= 0, session.place[mine], session.promise[mine])
    placed = (node >= 0) & ~np.isin(mine, unit.tasks)
    # A loop over members of one gang that have a place while others of it have not.
    for task, where in zip(mine[placed].tolist(), node[placed].tolist(), strict=True):
        found.setdefault(snapshot.tasks.subgroups[task] or "", []).append(where)
    return found


def broken(part: Part, tasks: Int, nodes: Int) -> str | None:
    """Return the first part that is not in one domain of its required level with these places; None: all are.

    A part that is split already, since nodes were relabelled, may stay in the domains that it has.
    """
    for child in part.children:
        said = broken(child, tasks, nodes)
        if said is not None:
            return said
    wish = part.wish
    if wish is None or (wish.required == EVERYWHERE and wish.problem is None):
        return None
    if wish.problem is not None:
        return wish.problem
    of, level = wish.tree.domain_of(wish.required), wish.tree.levels[wish.required].name
    new, old = np.unique(of[nodes[np.isin(tasks, part.every)]]), np.unique(of[part.there])
    fine: Bool = np.isin(new, old) if len(old) else np.array([len(new) <= 1])
    return None if fine.all() and (new >= 0).all() else f"its places are not in one {level}"
