"""Wishes: inside one domain of which level a gang, or a part of it, must be or should be; and who is there already."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from phalanx.engine.placement.segments import NO_SEGMENT, Odd, odd_segments, scattered
from phalanx.engine.policy import Policy
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Unit
from phalanx.model.axis import Bool, Int
from phalanx.model.gang import Gang, Subgroup
from phalanx.model.snapshot import Snapshot, TaskTable
from phalanx.model.wish import EVERYWHERE, Wish, Wishing, resolved


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
    #: It is a replica, and these are spread over the domains of this level.
    spread: str | None = None

    @property
    def every(self) -> Int:
        """Return all its tasks."""
        return np.concatenate([self.tasks, *(child.every for child in self.children)])


def wish_of(snapshot: Snapshot, policy: Policy, of: Wishing) -> Wish | None:
    """Return what a gang or a subgroup wishes for itself; None: nothing."""
    return resolved(snapshot.nodes, snapshot.topologies, policy.levels, of)


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
    return Part(name, wish, tasks, tuple(kept), np.array(mine, np.int64), spread=of.spread)


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
