"""Split gangs: who would not be in the domains that they require if a plan were carried out. For the check of plans."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from phalanx.engine.placement.wishes import wish_of
from phalanx.engine.policy import Policy
from phalanx.engine.session.rows import distinct
from phalanx.model.axis import Int
from phalanx.model.gang import Gang, Subgroup, every, holders
from phalanx.model.snapshot import Snapshot, TaskTable
from phalanx.model.tree import NONE as NO_DOMAIN
from phalanx.model.wish import EVERYWHERE, Wish


class _Member(NamedTuple):
    subgroup: str
    node: int
    segment: int


def split_gangs(snapshot: Snapshot, policy: Policy, tasks: Int, nodes: Int, released: Int) -> list[str]:
    """Return the keys of gangs whose tasks would be split by these places, beyond what they are already."""
    of = snapshot.tasks.gang[tasks]
    rows = distinct(of[snapshot.gangs.wishes[of]])
    # A loop over the gangs with wishes that this plan places.
    return [
        snapshot.gangs.gangs[row].key
        for row in rows.tolist()
        if not _kept(snapshot, policy, row, tasks[of == row], nodes[of == row], released)
    ]


def _kept(snapshot: Snapshot, policy: Policy, row: int, tasks: Int, nodes: Int, released: Int) -> bool:
    table, gangs = snapshot.tasks, snapshot.gangs
    gang = gangs.gangs[row]
    running = [_Member(name, *pair) for name, on in gangs.located.get(row, {}).items() for pair in on]
    mine = np.arange(gangs.first[row], gangs.first[row] + gangs.count[row])
    stay = mine[(table.nominated[mine] >= 0) & ~np.isin(mine, tasks) & ~np.isin(mine, released)]
    running += _members(table, stay, table.nominated[stay])
    placed = _members(table, tasks, nodes)
    holder = holders(gang)
    parts: list[tuple[Gang | Subgroup, frozenset[str]]] = [(gang, frozenset(holder))]
    parts += [(part, frozenset({part.name, *(one.name for one in every(part.children))}))
              for part in every(gang.subgroups)]  # fmt: skip
    for part, inside in parts:
        wish = wish_of(snapshot, policy, part)
        here, there = ([one for one in members if one.subgroup in inside] for members in (placed, running))
        if wish is None or not here:
            continue
        if wish.problem is not None or not _in_one(wish, wish.required, here, there):
            return False
        name = "" if part is gang else part.name
        for number in {one.segment for one in here} if wish.segment is not None else ():
            own = ([one for one in members if one.segment == number and holder[one.subgroup] == name]
                   for members in (here, there))  # fmt: skip
            if not _in_one(wish, wish.segment, *own):
                return False
    return True


def _members(table: TaskTable, tasks: Int, nodes: Int) -> list[_Member]:
    return [
        _Member(table.subgroups[task] or "", node, int(table.segment[task]))
        for task, node in zip(tasks.tolist(), nodes.tolist(), strict=True)
    ]


def _in_one(wish: Wish, level: int | None, placed: Sequence[_Member], running: Sequence[_Member]) -> bool:
    if level is None or level == EVERYWHERE or not placed:
        return True
    domain = wish.tree.domain_of(level)
    new, old = ({int(domain[one.node]) for one in members} for members in (placed, running))
    return NO_DOMAIN not in new and (new <= old if old else len(new) == 1)
