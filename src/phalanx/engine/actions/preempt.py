"""Preempt: inside a queue the more important goes before the less important, even if that runs already."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.eviction.candidates import Candidates, may_follow, may_leave
from phalanx.engine.eviction.hopeless import nobody_below
from phalanx.engine.eviction.making_room import MakingRoom
from phalanx.engine.eviction.prefix import carry_out, make_room
from phalanx.engine.eviction.rights import claimed_back, claimed_by
from phalanx.engine.eviction.search_budget import SearchBudget
from phalanx.engine.eviction.subset_search import SubsetSearch
from phalanx.engine.eviction.subsets import subset_table
from phalanx.engine.placement.copies import by_amounts
from phalanx.engine.placement.find import request_of
from phalanx.engine.policy import Policy
from phalanx.engine.session.request import When
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Unit
from phalanx.model.axis import Int


@dataclass(frozen=True, slots=True)
class Preempt:
    """Evict gangs of the same queue that are of strictly lower priority."""

    name: ClassVar[str] = "preempt"
    reads_running: ClassVar[bool] = True
    evicts: ClassVar[bool] = True

    def run(self, session: Session, policy: Policy) -> None:
        """Try every unit that still waits, in order."""
        claimed = claimed_by(session)

        def attempt(session: Session, policy: Policy, unit: Unit, candidates: Candidates, budget: SearchBudget) -> bool:
            start = session.checkpoint()
            made = self._attempt(session, policy, unit, candidates, budget)
            if made and claimed_back(session, unit, claimed):
                session.rollback(start)
                return False
            return made

        MakingRoom(session, policy, self.name, attempt, nobody_below).run()

    def _attempt(
        self, session: Session, policy: Policy, unit: Unit, candidates: Candidates, budget: SearchBudget
    ) -> bool:
        """Make room for one unit."""
        below, why = self._below(session, policy, unit, candidates), self._why(session, unit)
        if not len(below):
            return False
        room = make_room(session, policy, unit, candidates, self._line(session, candidates, below, budget), budget)
        if room is not None:
            carry_out(session, policy, unit, room, candidates, self.name, why)
            return True
        if self._all_were_tried(session, policy, unit, candidates, below):
            return False
        # The first candidates may use up a budget without helping; tasks of several shapes may block each other.
        table = subset_table(session, policy, unit, candidates, below, budget)
        return table is not None and SubsetSearch(
            session, policy, candidates, table, budget, self.name, why
        ).by_eviction(lambda _: True)

    def _all_were_tried(self, session: Session, policy: Policy, unit: Unit, candidates: Candidates, below: Int) -> bool:
        """Tell whether no set of candidates could help, since all of them together did not."""
        shapes = session.snapshot.tasks.shape[unit.tasks]
        if (shapes != shapes[:1]).any() or np.isin(below, candidates.needs.unit).any() or policy.judges_singly:
            return False
        return by_amounts(session, policy, request_of(session, unit.gang, int(shapes[0]), when=When.LATER))

    def _below(self, session: Session, policy: Policy, unit: Unit, candidates: Candidates) -> Int:
        """Return which candidates may be evicted for a unit."""
        snapshot, table = session.snapshot, session.residents
        leaf = int(snapshot.gangs.queue[unit.gang])
        mask = may_leave(session, policy, unit) & (candidates.queue == leaf)
        mask &= table.priority[candidates.gang] < snapshot.gangs.priority[unit.gang]
        runtime = snapshot.queues.queues[leaf].preempt_min_runtime or 0.0
        safe = candidates.is_minimum & (snapshot.now < table.started[candidates.gang] + runtime)
        return np.flatnonzero(mask & ~safe)

    def _line(self, session: Session, candidates: Candidates, below: Int, budget: SearchBudget) -> Iterator[int]:
        for one in below.tolist():
            if not budget.take():
                return
            if may_follow(session, candidates, one):
                yield one

    def _why(self, session: Session, unit: Unit) -> str:
        return f"of higher priority in its queue ({session.snapshot.gangs.priority[unit.gang]})"
