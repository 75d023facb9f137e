"""Split gangs: who would not be in the domains that they require if a plan were carried out. For the check of plans."""

from collections.abc import Sequence

import numpy as np

from phalanx.engine.placement.wishes import EVERYWHERE, wish_of
from phalanx.engine.policy import Policy
from phalanx.engine.session.rows import distinct
from phalanx.model.axis import Int
from phalanx.model.gang import Gang, Subgroup, every
from phalanx.model.snapshot import Snapshot


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
    running = [(name, node) for name, on in gangs.located.get(row, {}).items() for node in on]
    mine = np.arange(gangs.first[row], gangs.first[row] + gangs.count[row])
    stay = mine[(table.nominated[mine] >= 0) & ~np.isin(mine, tasks) & ~np.isin(mine, released)]
    running += [(table.subgroups[task] or "", int(table.nominated[task])) for task in stay.tolist()]
    placed = [(table.subgroups[task] or "", node) for task, node in zip(tasks.tolist(), nodes.tolist(), strict=True)]
    parts: list[tuple[Gang | Subgroup, frozenset[str] | None]] = [(gang, None)]
    parts += [(part, frozenset({part.name, *(one.name for one in every(part.children))}))
              for part in every(gang.subgroups)]  # fmt: skip
    return all(_in_one(snapshot, policy, part, inside, placed, running) for part, inside in parts)


def _in_one(
    snapshot: Snapshot, policy: Policy, of: Gang | Subgroup, inside: frozenset[str] | None,
    placed: Sequence[tuple[str, int]], running: Sequence[tuple[str, int]],
) -> bool:  # fmt: skip
    wish = wish_of(snapshot, policy, of)
    mine = [node for name, node in placed if inside is None or name in inside]
    if wish is None or not mine or (wish.required == EVERYWHERE and wish.problem is None):
        return True
    if wish.problem is not None:
        return False
    domain = wish.tree.domain_of(wish.required)
    new = {int(domain[node]) for node in mine}
    old = {int(domain[node]) for name, node in running if inside is None or name in inside}
    return -1 not in new and (new <= old if old else len(new) == 1)
