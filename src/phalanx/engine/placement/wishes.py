"""Wishes: inside one domain of which level a gang, or a part of it, must be or should be; and who is there already."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from phalanx.engine.placement.segments import NO_SEGMENT, Odd, odd_segments, scattered
from phalanx.engine.policy import Policy
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Unit
from phalanx.model.axis import Bool, Int
from phalanx.model.gang import Gang, Segments, Subgroup
from phalanx.model.reference import Reference
from phalanx.model.snapshot import Snapshot, TaskTable
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
    @property
    def segments(self) -> Segments | None: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Wish:
    """Levels of a tree, as numbers."""

    tree: Tree
    #: All must be in one domain of this level; EVERYWHERE: of none.
    required: int = EVERYWHERE
    #: They should be in one domain of this level, or else of the next one above; None: nothing is said.
    preferred: int | None = None
    #: Every `size` tasks must be in one domain of this level, which is below the required one; None: nothing is said.
    segment: int | None = None
    size: int = 1
    #: Why it can never be fulfilled.
    problem: str | None = None

    @property
    def bottom(self) -> int:
        """Return the lowest level at which it matters how tasks are spread: nodes count where they are named."""
        named = max(self.required, *(-1 if level is None else level for level in (self.preferred, self.segment)))
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
    #: The number of the segment that it is.
    segment: int = NO_SEGMENT
    #: Of a segment: how many of its tasks wait, those that come later too.
    waiting: int = 0

    @property
    def every(self) -> Int:
        """Return all its tasks."""
        return np.concatenate([self.tasks, *(child.every for child in self.children)])


def wish_of(snapshot: Snapshot, policy: Policy, of: Wishing) -> Wish | None:
    """Return what a gang or a subgroup wishes for itself; None: nothing."""
    required, preferred = of.topology_required, of.topology_preferred
    level = None if of.segments is None else of.segments.level
    wanted = [key for key in (required, preferred, level) if key is not None]
    if not wanted:
        return None
    nodes = snapshot.nodes
    if of.topology is not None:
        keys = snapshot.topologies.get(of.topology)
        if keys is None:
            return Wish(nodes.tree(policy.levels), problem=f"there is no {of.topology}")
        tree = nodes.tree(tuple(_level(key) for key in keys), whole=True)
    else:
        tree = nodes.tree(policy.levels)
        if wanted[0] not in tree.number and nodes.domains(wanted[0]).names:
            # A label that is no level of the tree is the top of a tree of its own.
            there = (tree.levels[tree.number[key]] if key in tree.number else _level(key) for key in wanted)
            tree = nodes.tree(tuple(one for one in dict.fromkeys(there) if one is not NODE))
    wish = _resolved(tree, required, preferred)
    return wish if of.segments is None or wish.problem is not None else _cut(wish, of.segments)


def _level(key: str) -> Level:
    return Level(key, _USUAL.get(key) or key.rpartition("/")[2])


def _resolved(tree: Tree, required: str | None, preferred: str | None) -> Wish:
    problem = None if required is None else _unknown(tree, required)
    if problem is not None:
        return Wish(tree, problem=problem)
    must = EVERYWHERE if required is None else tree.number[required]
    should = None if preferred is None else tree.number.get(preferred)
    return Wish(tree, must, None if should is None or should <= must else should)


def _cut(wish: Wish, segments: Segments) -> Wish:
    """Return a wish with its segments. Where all must be in one domain of their level, or of one below, they are."""
    problem = _unknown(wish.tree, segments.level)
    if problem is not None:
        return replace(wish, problem=problem)
    level = wish.tree.number[segments.level]
    return wish if level <= wish.required else replace(wish, segment=level, size=segments.size)


def _unknown(tree: Tree, level: str) -> str | None:
    """Say that nothing is a domain of a level; None: something is."""
    at = tree.number.get(level)
    if at is None:
        known = ", ".join(one.name for one in tree.levels)
        return f"no node has the label {level}, and it is no level: the levels are {known}"
    return None if tree.size(at) else f"no node has the label {tree.levels[at].key} of level {tree.levels[at].name}"


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
    return _part(session, policy, unit, gang, "", gang.subgroups, inside, there)


def _part(
    session: Session, policy: Policy, unit: Unit, of: Gang | Subgroup, name: str, subgroups: Sequence[Subgroup],
    inside: dict[str, list[int]], there: dict[str, list[tuple[int, int]]],
) -> Part:  # fmt: skip
    children, own = list[Part](), inside.get(name, [])
    for part in subgroups:
        child = _part(session, policy, unit, part, part.name, part.children, inside, there)
        if part.wishes:
            children.append(child)
        else:
            own = own + child.tasks.tolist()
    key = ("wish", of.topology_required, of.topology_preferred, of.topology, of.segments)
    wish = session.once(key, lambda: wish_of(session.snapshot, policy, of), static=True)
    names = {name, *_names(subgroups)}
    # Of the gang itself every member counts, whatever subgroup it is in.
    mine = [node for part, nodes in there.items() if not name or part in names for node, _ in nodes]
    kept = [child for child in children if len(child.every)]
    tasks = np.array(sorted(own), np.int64)
    if wish is not None and wish.segment is not None and len(tasks):
        whole = {name, *_names([part for part in subgroups if not part.wishes])}
        homes = [pair for part, nodes in there.items() if part in whole for pair in nodes]
        waiting = _waiting(session, unit.gang, whole)
        tasks, odd = odd_segments(session.snapshot.tasks, wish.size, tasks, homes, waiting)
        kept += segments_as_parts(name, wish, odd)
    return Part(name, wish, tasks, tuple(kept), np.array(mine, np.int64))


def segments_as_parts(name: str, wish: Wish, segments: Sequence[Odd]) -> list[Part]:
    """Return segments of a part as parts of it."""
    assert wish.segment is not None, "only who wishes for segments has some"
    own = Wish(wish.tree, wish.segment)
    return [Part(name, own, one.tasks, (), one.nodes, one.number, one.waiting) for one in segments]


def _waiting(session: Session, gang: int, names: set[str]) -> Int:
    """Return the tasks of these subgroups of a gang that have no place."""
    table, gangs = session.snapshot.tasks, session.snapshot.gangs
    mine = np.arange(gangs.first[gang], gangs.first[gang] + gangs.count[gang])
    left = mine[session.place[mine] < 0]
    if len(gangs.gangs[gang].subgroups):
        # A loop over the waiting tasks of one gang that has subgroups.
        left = left[[(table.subgroups[task] or "") in names for task in left.tolist()]]
    return left


def _names(subgroups: Sequence[Subgroup]) -> list[str]:
    return [name for part in subgroups for name in (part.name, *_names(part.children))]


def _there(session: Session, unit: Unit) -> dict[str, list[tuple[int, int]]]:
    """Return, by subgroup, node and segment of members that run, and of those that have a place by now."""
    snapshot, gangs = session.snapshot, session.snapshot.gangs
    found = {name: list(nodes) for name, nodes in gangs.located.get(unit.gang, {}).items()}
    mine = np.arange(gangs.first[unit.gang], gangs.first[unit.gang] + gangs.count[unit.gang])
    node = np.where(session.place[mine] >= 0, session.place[mine], session.promise[mine])
    placed = (node >= 0) & ~np.isin(mine, unit.tasks)
    # A loop over members of one gang that have a place while others of it have not.
    for task, where in zip(mine[placed].tolist(), node[placed].tolist(), strict=True):
        pair = (where, int(snapshot.tasks.segment[task]))
        found.setdefault(snapshot.tasks.subgroups[task] or "", []).append(pair)
    return found


def broken(table: TaskTable, part: Part, tasks: Int, nodes: Int) -> str | None:
    """Return the first part that is not in one domain of its required level with these places; None: all are.

    A part that is split already, since nodes were relabelled, may stay in the domains that it has.
    """
    for child in part.children:
        said = broken(table, child, tasks, nodes)
        if said is not None:
            return said
    wish = part.wish
    if wish is None or wish.problem is not None:
        return None if wish is None else wish.problem
    if wish.segment is not None:
        mine = np.isin(tasks, part.tasks)
        if scattered(wish.tree.domain_of(wish.segment), table.segment[tasks[mine]], nodes[mine]):
            return f"the places of a segment are not in one {wish.tree.levels[wish.segment].name}"
    if wish.required == EVERYWHERE:
        return None
    of, level = wish.tree.domain_of(wish.required), wish.tree.levels[wish.required].name
    new, old = np.unique(of[nodes[np.isin(tasks, part.every)]]), np.unique(of[part.there])
    fine: Bool = np.isin(new, old) if len(old) else np.array([len(new) <= 1])
    return None if fine.all() and (new >= 0).all() else f"its places are not in one {level}"
