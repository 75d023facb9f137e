"""Making room: what is common to all actions that make room for waiting units.

No task is evicted where room is being made already: a unit with a promise keeps it, and one that fits into what
others are about to leave is promised that.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from phalanx.engine.eviction.by_domain import attempt_by_domain
from phalanx.engine.eviction.candidates import Candidates
from phalanx.engine.eviction.rights import claimed_back, claimed_by
from phalanx.engine.eviction.search_budget import SearchBudget
from phalanx.engine.placement.copies import copies, readings
from phalanx.engine.placement.find import request_of
from phalanx.engine.placement.place import places_later
from phalanx.engine.policy import Policy
from phalanx.engine.session.request import When
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Unit, Units
from phalanx.engine.waiting.kinds import ALONE, kinds_of, wishes_of
from phalanx.engine.waiting.order import none_of, take_turns
from phalanx.engine.waiting.promises import complete, renew
from phalanx.engine.waiting.walk import Walk
from phalanx.model.axis import Bool, Int
from phalanx.model.plan import Search

#: Makes room for one unit, or leaves no trace; tells which.
Attempt: TypeAlias = Callable[[Session, Policy, Unit, Candidates, SearchBudget], bool]
#: Returns [unit]: units for which an action can make no room in this state of the books, judged all at once.
Hopeless: TypeAlias = Callable[[Session, Units], Bool]

#: The first searches of an action together take at most so many times the steps of one. Beyond that each gets a part.
SEARCHES = 4
#: The part: what is easy to find is found with it.
PART = 20
#: So many units get the steps of a whole search wherever they stand: others in each cycle, so that no unit starves
#: behind units for which nothing can be found.
TURNS = 4
#: The golden ratio: multiples of its fraction visit every part of a line evenly, at whatever interval cycles follow.
GOLDEN = 0.6180339887498949


@dataclass(slots=True)
class MakingRoom:
    """Goes through the units that still wait, and makes room for them where that is right."""

    session: Session
    policy: Policy
    action: str
    attempt: Attempt
    hopeless: Hopeless
    #: After so many attempts in vain in one state of the books it is asked who is hopeless; 0: before the first.
    refusals_max: int = 0
    _budget_left: int = field(init=False, default=0)
    #: Queues in which a unit waits that is within their share.
    _claimed: set[int] = field(init=False, default_factory=set[int])
    #: [unit]: it gets a whole search in this cycle, whatever was searched before.
    _turn: Bool = field(init=False, default_factory=lambda: np.zeros(0, np.bool_))

    def run(self) -> None:
        """Try every unit once, in order."""
        session, policy, units = self.session, self.policy, self.session.units
        renew(session, policy, units)
        homeless = none_of(units, session.place >= 0) & ~complete(session, units)
        homeless &= session.snapshot.gangs.evicts[units.gang]
        homeless[list(units.holds)] = False
        nobody = not len(session.snapshot.running) and not (session.promise >= 0).any()
        if not homeless.any() or (nobody and not session.snapshot.nodes.leaving.any()):
            return
        self._budget_left = SEARCHES * policy.search_steps
        self._claimed = claimed_by(session)
        kinds = session.once("kinds of the homeless", lambda: self._kinds(units, homeless))
        self._turn = _turn(session.snapshot.now, kinds, homeless)
        turns = take_turns(session, policy, units, homeless)
        walk = Walk(session, turns, kinds, lambda: self._hopeless(units, kinds), self.refusals_max)
        while len(line := walk.line()):
            count = walk.front(line)
            if not count:
                unit, count = units.unit(int(line[0])), 1
                turn = bool(self._turn[line[0]])
                if self._may_be_tried(unit) and not self._room_made(unit, turn=turn):
                    walk.refuse(int(line[0]))
                    count = walk.front(line)
            walk.done(max(count, 1))

    def _kinds(self, units: Units, homeless: Bool) -> Int:
        """A Victim plugin may answer differently for each gang; a promise counts for its own gang alone."""
        session, gangs = self.session, self.session.snapshot.gangs
        if self.policy.victims or self.policy.judges_singly:
            return np.full(len(units), ALONE)
        promised = np.bincount(session.snapshot.tasks.gang[session.promise >= 0], minlength=len(gangs)) > 0
        more: tuple[Int | Bool, ...] = (
            units.priority, gangs.queue[units.gang], gangs.preemptible[units.gang], units.growth,
            wishes_of(session, units),
        )  # fmt: skip
        return kinds_of(session, units, readings(session, self.policy), homeless & ~promised[units.gang], *more)

    def _hopeless(self, units: Units, kinds: Int) -> Bool:
        """Return [unit]: units that do not fit into what is being vacated, and that this action cannot help."""
        found = self.hopeless(self.session, units)
        gangs, snapshot = self.session.snapshot.gangs, self.session.snapshot
        if units.growth.any():
            placed = np.bincount(snapshot.tasks.gang[self.session.place >= 0], minlength=len(gangs))
            found &= ~(units.growth & (gangs.running + placed >= gangs.minimum)[units.gang])
        if snapshot.nodes.leaving.any() and found.any():
            found &= ~self._fits_later(units, kinds, found)
        return found

    def _fits_later(self, units: Units, kinds: Int, asked: Bool) -> Bool:
        """Return who of these may fit into what is free or being left; those that are judged alone may."""
        fits = np.ones(int(kinds.max(initial=-1)) + 2, np.bool_)
        _, first = np.unique(np.where(asked, kinds, ALONE), return_index=True)
        # A loop over the kinds of requests in the backlog, never over units.
        for index in first.tolist():
            if asked[index] and kinds[index] != ALONE:
                unit = units.unit(index)
                shape, wanted = int(self.session.snapshot.tasks.shape[unit.tasks[0]]), len(unit.tasks)
                room = copies(self.session, self.policy, request_of(self.session, unit.gang, shape, 1, When.LATER))
                fits[kinds[index]] = int(np.minimum(room, wanted).sum()) >= wanted
        found: Bool = fits[kinds]
        return found

    def _room_made(self, unit: Unit, *, turn: bool) -> bool:
        """Promise the unit places in what is free or being left anyway, if that is enough; else make room for it."""
        # What is free now a minimum found no place in; growth was not tried before its minimum had one.
        if (self.session.snapshot.nodes.leaving.any() or not unit.whole) and self._promised(unit):
            return True
        session, policy = self.session, self.policy
        most = policy.search_steps
        granted = most if turn else max(min(most, self._budget_left), most // PART)
        budget = SearchBudget(granted)
        found = attempt_by_domain(session, policy, unit, self.attempt, budget)
        self._budget_left -= 0 if turn else budget.taken
        name = session.snapshot.gangs.gangs[unit.gang].key
        session.searches.append(Search(name, self.action, min(budget.taken, granted), budget.stopped, found))
        if budget.stopped and not found:
            session.note(unit.gang, f"the search for victims ({self.action}) stopped after {granted} steps")
        return found

    def _promised(self, unit: Unit) -> bool:
        session, start = self.session, self.session.checkpoint()
        places = places_later(session, self.policy, unit)
        for promised in places or ():
            shape = int(session.snapshot.tasks.shape[promised.tasks[0]])
            request = request_of(session, unit.gang, shape, len(promised.nodes), When.LATER)
            session.take(request, promised.tasks, promised.nodes)
        if places is not None and claimed_back(session, unit, self._claimed):
            session.rollback(start)
            return False
        return places is not None

    def _may_be_tried(self, unit: Unit) -> bool:
        """A unit that waits, of a gang that has its minimum or gets it now, and of which nobody leaves by this plan."""
        session, gangs = self.session, self.session.snapshot.gangs
        if (session.place[unit.tasks] >= 0).any():
            return False
        mine = slice(gangs.first[unit.gang], gangs.first[unit.gang] + gangs.count[unit.gang])
        there = int(gangs.running[unit.gang]) + int(np.count_nonzero(session.place[mine] >= 0))
        return not self._leaving(unit.gang) and (unit.whole or there >= int(gangs.minimum[unit.gang]))

    def _leaving(self, gang: int) -> bool:
        """Tell whether a task of the gang leaves by this plan: then what it lacks is another number."""
        session, table = self.session, self.session.residents
        if not session.evicting:
            return False
        if gang not in session.once("gangs with residents", lambda: frozenset(table.waiting.tolist()), static=True):
            return False
        rows = np.flatnonzero(table.waiting[table.gang] == gang)
        return bool(session.evicted[rows].any())


def _turn(now: float, kinds: Int, homeless: Bool) -> Bool:
    """Return [unit]: whose turn it is to get a whole search. It depends on the time alone, so a decision stays pure."""
    rows = np.flatnonzero(homeless)
    if len(rows) <= TURNS:
        return homeless
    alone = kinds[rows] == ALONE
    # Those that are judged alone are each a kind of their own.
    _, kind = np.unique(np.where(alone, -1 - rows, kinds[rows]), return_inverse=True)
    count = int(kind.max(initial=-1)) + 1
    part = now * GOLDEN % 1.0
    chosen = {int(count * ((part + turn / TURNS) % 1.0)) for turn in range(TURNS)}
    found = np.zeros(len(homeless), np.bool_)
    found[rows[np.isin(kind, list(chosen))]] = True
    return found
