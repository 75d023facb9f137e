"""Candidates: what of the residents can leave at once, and in which order.

A candidate is one task that a gang has beyond its minimum, or what is left of the gang: never a part of its minimum.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from phalanx.engine.eviction.budgets import Needs, affordable, affords, needs_of
from phalanx.engine.placement.copies import allowed_nodes
from phalanx.engine.plugin import QueueOrder
from phalanx.engine.policy import Policy
from phalanx.engine.session.residents import Residents
from phalanx.engine.session.rows import steps
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Unit
from phalanx.engine.waiting.turns import Turns
from phalanx.model.axis import Bool, Int
from phalanx.model.running import OVERBUDGETED


@dataclass(frozen=True, slots=True)
class Candidates:
    """Every candidate, as columns, in the order in which a queue gives them up."""

    residents: Residents
    #: Row among the gangs of the residents.
    gang: Int
    #: Its tasks are residents first … first + count - 1.
    first: Int
    count: Int
    #: It is the minimum of its gang, or what is left of it.
    is_minimum: Bool
    #: [candidate, resource]: what its queue has less without it, on the resources of the queue table.
    gives: Int
    #: Of disruption budgets.
    needs: Needs
    #: The queue of each, or -1.
    queue: Int
    #: Those of several tasks; most are of one.
    several: Int

    def __len__(self) -> int:
        return len(self.gang)

    def tasks(self, candidate: int) -> Int:
        """Return the residents of one candidate."""
        return np.arange(self.first[candidate], self.first[candidate] + self.count[candidate])

    def tasks_of(self, chosen: list[int]) -> Int:
        """Return the residents of all these candidates."""
        if len(chosen) == 1:
            return self.tasks(chosen[0])
        rows = np.array(chosen, np.int64)
        of, step = steps(self.count[rows])
        return np.asarray(self.first[rows][of] + step)

    def any_of(self, true_of: Bool) -> Bool:
        """Return the candidates of which this is true of some task; `true_of` is [resident]."""
        found: Bool = true_of[self.first]
        if len(self.several):
            added = np.append(0, np.cumsum(true_of))
            first = self.first[self.several]
            found[self.several] = added[first + self.count[self.several]] > added[first]
        return found


def candidates_of(session: Session) -> Candidates:
    """Return the candidates, worked out once in a session.

    The least important go first, of these what is beyond a minimum, of these the youngest gang, and its last task.
    """
    return session.once("candidates", lambda: _candidates(session), static=True)


def _candidates(session: Session) -> Candidates:
    table, snapshot = session.residents, session.snapshot
    together = np.minimum(table.minimum, table.count)
    minimum = np.flatnonzero(together > 0)
    surplus = table.count - together
    of, step = steps(surplus)
    gang = np.concatenate([of, minimum])
    first = np.concatenate([table.first[of] + together[of] + step, table.first[minimum]])
    count = np.concatenate([np.ones(len(of), np.int64), together[minimum]])
    charges = snapshot.charges[table.shape][:, snapshot.queues.columns]
    added = np.concatenate([np.zeros((1, charges.shape[1]), np.int64), np.cumsum(charges, axis=0)])
    is_minimum = np.concatenate([np.zeros(len(of), np.bool_), np.ones(len(minimum), np.bool_)])
    # Between equal gangs a promise is taken before a running task.
    runs = gang < len(snapshot.running.gangs)
    keys = [table.priority[gang], runs, is_minimum, -table.created[gang], -gang, -first]
    order = np.lexsort(keys[::-1])
    gives = added[first + count] - added[first]
    needs = needs_of(table, len(session.budgets), first[order], count[order])
    return Candidates(
        table, gang[order], first[order], count[order], is_minimum[order], gives[order], needs,
        queue=table.queue[gang[order]], several=np.flatnonzero(count[order] > 1),
    )  # fmt: skip


def may_leave(session: Session, policy: Policy, unit: Unit) -> Bool:
    """Return which candidates may leave for a unit: preemptible, not gone already, within their disruption budgets.

    They have a task on a node that the unit may use, and every plugin that has a say lets them go.
    """
    found, table = candidates_of(session), session.residents
    gang = unit.gang
    barred = session.evicted[: len(table)] > 0
    barred |= session.once("beyond budgets", lambda: table.budget == OVERBUDGETED, static=True)
    if len(table) > table.running:
        # A promise that was given up, or has landed, in this cycle is there no more.
        there = np.where(session.released > 0, -1, session.promise)
        promised = table.task[table.running :]
        barred[table.running :] |= there[promised] != table.node[table.running :]
    for plugin in policy.victims:
        barred |= ~plugin.mask(session, gang)
    # A gang that gets a place in this plan loses no task in the same plan: the new task would be without the others.
    # One whose promise was kept so far got nothing new.
    served = np.append(session.served, 0)[table.waiting] > 0
    served[len(session.snapshot.running.gangs) :] = False
    # No candidate leaves for its own gang.
    mine = (table.waiting != gang) & table.preemptible & ~served
    shapes = session.snapshot.tasks.shape[unit.tasks]
    wanted = frozenset(shapes.tolist())
    near = session.once(("near", wanted), lambda: _near(session, policy, found, shapes), static=True)
    fine: Bool = mine[found.gang] & ~found.any_of(barred)
    confined = session.fences.confined.get(gang)
    if confined is not None:
        fine &= found.any_of(confined[table.node])
    if len(found.needs.unit):
        fine &= affordable(session, found.needs, len(found))
    return fine if near is None else fine & near


def _near(session: Session, policy: Policy, candidates: Candidates, shapes: Int) -> Bool | None:
    """Return which candidates have a task on a node that these shapes may use; None: all of them."""
    near = allowed_nodes(session, policy, shapes)[candidates.residents.node]
    return None if near.all() else candidates.any_of(near)


def may_follow(session: Session, candidates: Candidates, candidate: int) -> bool:
    """Tell whether one may go after all who have gone: budgets are left, and nothing outlives its gang's minimum."""
    table, gang = candidates.residents, candidates.gang[candidate]
    if candidates.is_minimum[candidate] and candidates.count[candidate] < table.count[gang]:
        here = slice(table.first[gang], table.first[gang] + table.count[gang])
        if session.evicted[here].sum() + candidates.count[candidate] < table.count[gang]:
            return False
    return affords(session, candidates.needs, candidate)


def whole_without(candidates: Candidates, victims: list[int], spared: int) -> bool:
    """Tell whether a candidate that is spared is not left behind without the minimum of its gang."""
    return not any(
        candidates.is_minimum[other] and candidates.gang[other] == candidates.gang[spared] for other in victims
    )


def by_queue(
    session: Session, orders: tuple[QueueOrder, ...], candidates: Candidates, chosen: Int
) -> "Iterator[tuple[int, Turns]]":
    """Yield candidate after candidate, from the queue that is furthest above what it is entitled to.

    The caller evicts a candidate before it asks for the next one: the order follows what the queues still have.
    """
    queues = candidates.queue
    known = chosen[queues[chosen] >= 0]
    turns = Turns(session, orders, known, queues, -candidates.gives, last_first=True)
    while len(line := turns.line()):
        yield int(line[0]), turns
        turns.done(1)
