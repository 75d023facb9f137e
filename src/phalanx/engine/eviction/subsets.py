"""Subsets: where few candidates could leave, all sets of them are judged at once.

Lines of candidates miss some ways to make room: the first candidates may use up what may be taken, or block
others. Of at most a dozen there are 4,096 sets; which of them could be enough is one expression over the nodes that
they are on. The promising ones are then looked at one by one.
"""

from dataclasses import dataclass, replace

import numpy as np

from phalanx.engine.eviction.candidates import Candidates
from phalanx.engine.eviction.search_budget import SearchBudget
from phalanx.engine.kernels.packing import pack
from phalanx.engine.placement.copies import caps
from phalanx.engine.placement.find import request_of
from phalanx.engine.plugin import UNLIMITED
from phalanx.engine.policy import Policy
from phalanx.engine.session.request import Request, When
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Unit
from phalanx.model.axis import Bool, Int

#: Of so many candidates every set is judged.
SUBSET_MAX = 12
#: Nodes beside those of the candidates on which tasks of one shape may find a place, where a packing is needed.
OTHERS = 64
#: Sets times nodes that are judged at once: beyond that too many nodes matter.
CELLS = 2**18
#: Of these as many cost as much as one placement that is tried.
CELLS_OF_A_STEP = 2**12
#: Looks at a node in one packing.
LOOKS = 50_000


@dataclass(frozen=True, slots=True)
class SubsetTable:
    """Few candidates, the nodes that matter to them, and the kinds of tasks that need a place."""

    unit: Unit
    chosen: Int
    #: [set, candidate]: every set that splits no gang and that the budgets allow, fewest tasks first, of equally many
    #: those without the important. The empty one is first.
    sets: Bool
    #: Those of the candidates, and others.
    nodes: Int
    #: [node, resource] now, and [candidate, node, resource] what is more without each.
    space: Int
    frees: Int
    #: Per kind: what one asks for, [kind, node] how many may be there at most, and which shapes it is made of.
    asks: Int
    caps: Int
    kind_of: dict[int, int]
    #: [kind]: how many fit on all nodes that no candidate is on.
    elsewhere: Int
    #: [kind]: how many the unit has; [candidate, kind]: how many each candidate has.
    wants: Int
    moves: Int

    def enough(self, leaving: Bool, moved: Bool) -> Bool:
        """Return for which of these [set, candidate] there may be enough space, judged kind by kind."""
        # Only the nodes of the candidates differ from set to set.
        freed = self.frees.any(axis=(0, 2))
        space = self.space[freed] + np.tensordot(leaving.astype(np.int64), self.frees[:, freed], 1)
        fine = np.ones(len(leaving), np.bool_)
        # A loop over the kinds, which are few.
        for ask, cap, elsewhere in zip(self.asks, self.caps, self.elsewhere.tolist(), strict=True):
            # Where one of these goes, one of this kind could go.
            harder = (self.asks >= ask).all(axis=1) & (self.caps <= cap).all(axis=1)
            need = self.wants[harder].sum() + moved @ self.moves[:, harder].sum(axis=1)
            if need.any():
                fine &= elsewhere + _copies(space, ask, cap[freed]).sum(axis=1) >= need
        return fine

    def packed(self, leaving: Bool, moved: Bool) -> tuple[dict[int, Int] | None, int]:
        """Return the nodes for each kind once these have left, for the unit first and then for moved tasks.

        And how many looks at a node it took.
        """
        space = self.space + np.tensordot(leaving.astype(np.int64), self.frees, 1)
        found, looks = pack(space, self.asks, self.wants + moved @ self.moves, self.caps, LOOKS)
        return None if found is None else {kind: self.nodes[nodes] for kind, nodes in enumerate(found)}, looks


def subset_table(
    session: Session, policy: Policy, unit: Unit, candidates: Candidates, chosen: Int, budget: SearchBudget
) -> SubsetTable | None:
    """Return the table of these candidates; None: they are too many, on too many nodes, or of no help at all."""
    if not 0 < len(chosen) <= SUBSET_MAX or budget.stopped:
        return None
    snapshot, table = session.snapshot, session.residents
    tasks = candidates.tasks_of(chosen.tolist())
    of = np.repeat(np.arange(len(chosen)), candidates.count[chosen])
    shapes, at = np.unique(np.append(snapshot.tasks.shape[unit.tasks], table.shape[tasks]), return_inverse=True)
    asks = snapshot.requests[shapes]
    columns = np.flatnonzero(asks.any(axis=0))
    mine = request_of(session, unit.gang, int(snapshot.tasks.shape[unit.tasks[0]]), when=When.LATER)
    now = session.spare_amounts(replace(mine, beside=False))[:, columns]
    vacated = np.unique(table.node[tasks])
    cells = len(vacated) * 2 ** len(chosen)
    if cells > CELLS or not budget.take(1 + cells // CELLS_OF_A_STEP):
        return None
    requests = [Request(shape, gang=unit.gang, when=When.LATER) for shape in shapes.tolist()]
    room = np.array([caps(session, policy, request, tasks) for request in requests])
    fits = np.array([_copies(now, ask, cap) for ask, cap in zip(asks[:, columns], room, strict=True)])
    fits[:, vacated] = 0
    # Each task may be in the way of another: there must be as many nodes for each shape as there are tasks in all.
    nodes = np.unique(np.concatenate([vacated, *(_most(one, min(len(at), OTHERS)) for one in fits)]))
    frees = np.zeros((len(chosen), len(nodes), len(columns)), np.int64)
    np.add.at(frees, (of, np.searchsorted(nodes, table.node[tasks])), snapshot.requests[table.shape[tasks]][:, columns])
    # Shapes that differ in nothing that counts here are of one kind.
    rows = np.hstack([asks[:, columns], room[:, nodes], np.minimum(fits.sum(axis=1), UNLIMITED)[:, None]])
    kinds, kind = np.unique(rows, axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    wants = np.bincount(kind[at[: len(unit.tasks)]], minlength=len(kinds))
    moves = np.zeros((len(chosen), len(kinds)), np.int64)
    np.add.at(moves, (of, kind[at[len(unit.tasks) :]]), 1)
    asks, most, elsewhere = np.split(kinds, [len(columns), kinds.shape[1] - 1], axis=1)
    kind_of = dict(zip(shapes.tolist(), kind.tolist(), strict=True))
    everybody, nobody = np.ones((1, len(chosen)), np.bool_), np.zeros((1, len(chosen)), np.bool_)
    found = SubsetTable(
        unit, chosen, everybody, nodes, now[nodes], frees, asks, most, kind_of, elsewhere[:, 0], wants, moves
    )
    if not found.enough(everybody, nobody).all():
        return None
    return replace(found, sets=_sets(session, candidates, chosen))


def _copies(space: Int, ask: Int, most: Int) -> Int:
    """Return how many of one kind fit, from [..., node, resource]."""
    wanted = np.flatnonzero(ask)
    fits = (space[..., wanted] // ask[wanted]).min(axis=-1, initial=UNLIMITED)
    return np.asarray(np.maximum(np.minimum(fits, most), 0), np.int64)


def _most(fits: Int, count: int) -> Int:
    """Return so many nodes with room, those with most of it."""
    least = max(int(np.partition(fits, -count)[-count]), 1) if count < len(fits) else 1
    more = np.flatnonzero(fits > least)
    return np.append(more, np.flatnonzero(fits == least)[: max(count - len(more), 0)])


def _sets(session: Session, candidates: Candidates, chosen: Int) -> Bool:
    """Return every set of these candidates that may leave together, the empty one too."""
    table, count = session.residents, len(chosen)
    numbers = np.arange(2**count)
    member = (numbers[:, None] >> np.arange(count) & 1).astype(np.bool_)
    fine = np.ones(len(member), np.bool_)
    gangs, counts = candidates.gang[chosen], candidates.count[chosen]
    # A loop over the minimums among a dozen candidates: each leaves only with all that its gang has.
    for one in np.flatnonzero(candidates.is_minimum[chosen] & (counts < table.count[gangs])).tolist():
        leaving = member[:, gangs == gangs[one]] @ counts[gangs == gangs[one]]
        fine &= ~member[:, one] | (leaving == table.count[gangs[one]])
    budgets = session.budgets
    needs = np.zeros((count, len(budgets)), np.int64)
    at = np.searchsorted(chosen, candidates.needs.unit)
    mine = np.append(chosen, -1)[at] == candidates.needs.unit
    np.add.at(needs, (at[mine], candidates.needs.budget[mine]), candidates.needs.count[mine])
    fine &= (member @ needs <= budgets).all(axis=1)
    # Candidates stand in the order in which they are given up, so the higher number has the more important one.
    order = np.lexsort([numbers, member @ counts])
    sets: Bool = member[order[fine[order]]]
    return sets
