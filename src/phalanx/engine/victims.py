"""Victims: what of the running gangs can leave at once, and in which order.

A unit is one task that a gang has beyond its minimum, or what is left of the gang: never a part of its minimum.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from phalanx.engine.budgets import Needs, affordable, affords, needs_of
from phalanx.engine.plugin import QueueOrder
from phalanx.engine.policy import Policy
from phalanx.engine.session import Session
from phalanx.engine.turns import Turns
from phalanx.model.axis import Bool, Int
from phalanx.model.running import OVERBUDGETED
from phalanx.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class VictimUnits:
    """Every unit, as columns."""

    #: Row among the running gangs.
    gang: Int
    #: Its tasks are rows first … first + count - 1 of the running table.
    first: Int
    count: Int
    #: It is the minimum of its gang, or what is left of it.
    core: Bool
    #: [unit, resource]: what its queue has less without it, on the resources of the queue table.
    gives: Int
    #: Of disruption budgets.
    needs: Needs
    #: Row of its gang among those that wait for more tasks, or -1.
    waiting: Int

    def __len__(self) -> int:
        return len(self.gang)

    def tasks(self, unit: int) -> Int:
        """Return the rows of a unit."""
        return np.arange(self.first[unit], self.first[unit] + self.count[unit])


def victim_units(snapshot: Snapshot) -> VictimUnits:
    """Return the units of all running gangs, in the order in which a queue gives them up.

    The least important go first, of these what is beyond a minimum, of these the youngest gang, and its last task.
    """
    running = snapshot.running
    kept = np.minimum(running.needed, running.count)
    core = np.flatnonzero(kept > 0)
    surplus = running.count - kept
    of = np.repeat(np.arange(len(surplus)), surplus)
    step = np.arange(len(of)) - np.repeat(np.cumsum(surplus) - surplus, surplus)
    gang = np.concatenate([of, core])
    first = np.concatenate([running.first[of] + kept[of] + step, running.first[core]])
    count = np.concatenate([np.ones(len(of), np.int64), kept[core]])
    columns = snapshot.queues.columns
    added = np.concatenate([np.zeros((1, len(columns)), np.int64), np.cumsum(running.requests[:, columns], axis=0)])
    is_core = np.concatenate([np.zeros(len(of), np.bool_), np.ones(len(core), np.bool_)])
    keys = [running.priority[gang], is_core, -running.created[gang], -gang, -first]
    order = np.lexsort(keys[::-1])
    gives = added[first + count] - added[first]
    needs = needs_of(running, first[order], count[order])
    waiting = {one.key: row for row, one in enumerate(snapshot.gangs.gangs)}
    row_of = np.array([waiting.get(one.key, -1) for one in running.gangs], np.int64)
    return VictimUnits(
        gang[order], first[order], count[order], is_core[order], gives[order], needs, row_of[gang[order]]
    )


def able(session: Session, policy: Policy, units: VictimUnits, gang: int) -> Bool:
    """Return who may leave for a gang: preemptible, not gone already, not under two budgets, within its own.

    And whom every plugin lets go that has a word in it.
    """
    running = session.snapshot.running
    # Summed over the tasks of each unit.
    barred = (running.budget == OVERBUDGETED) | (session.columns["evicted"] > 0)
    for plugin in policy.victims:
        barred |= ~plugin.mask(session, gang)
    added = np.concatenate([np.zeros(1, np.int64), np.cumsum(barred)])
    free: Bool = added[units.first + units.count] == added[units.first]
    # Whoever gets a task in this plan is not robbed of others in the same plan: the new one would stay behind.
    served = (units.waiting >= 0) & (np.append(session.columns["served"], 0)[units.waiting] > 0)
    # Nobody leaves for his own gang.
    mine: Bool = free & ~served & (units.waiting != gang) & running.preemptible[units.gang]
    return mine & affordable(session, units.needs, len(units))


def may_follow(session: Session, units: VictimUnits, victim: int) -> bool:
    """Tell whether a unit may go after all who have gone: budgets are left, and nothing outlives its gang's minimum."""
    running, gang = session.snapshot.running, units.gang[victim]
    if units.core[victim] and units.count[victim] < running.count[gang]:
        here = slice(running.first[gang], running.first[gang] + running.count[gang])
        if session.columns["evicted"][here].sum() + units.count[victim] < running.count[gang]:
            return False
    return affords(session, units.needs, victim)


def whole_without(units: VictimUnits, victims: list[int], kept: int) -> bool:
    """Tell whether one who is kept back does not stay behind without the minimum of his gang."""
    return not any(units.core[other] and units.gang[other] == units.gang[kept] for other in victims)


def by_queue(
    session: Session, orders: tuple[QueueOrder, ...], units: VictimUnits, chosen: Int
) -> "Iterator[tuple[int, Turns]]":
    """Yield unit after unit, from the queue that is furthest above what it is entitled to.

    Whoever takes a unit must evict it before asking for the next: then the order follows what the queues still have.
    """
    queues = session.snapshot.running.queue[units.gang]
    known = chosen[queues[chosen] >= 0]
    turns = Turns(session, orders, known, queues, -units.gives, last_first=True)
    while len(line := turns.line()):
        yield int(line[0]), turns
        turns.done(1)
