"""Reclaim: a queue that has less than its share takes back from queues that exceed their entitlement."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from phalanx.engine.eviction.candidates import Candidates, by_queue, may_follow, may_leave, whole_without
from phalanx.engine.eviction.hopeless import nothing_to_reclaim
from phalanx.engine.eviction.making_room import MakingRoom
from phalanx.engine.eviction.orderings import helpful_lines, helps_of, most_helpful
from phalanx.engine.eviction.prefix import Room, carry_out, make_room
from phalanx.engine.eviction.relocation import movable, relocate, within_limits
from phalanx.engine.eviction.rights import Claim, JointClaim, Reclaimed, claim_of
from phalanx.engine.eviction.search_budget import SearchBudget
from phalanx.engine.eviction.subset_search import SubsetSearch
from phalanx.engine.eviction.subsets import SUBSET_MAX, subset_table
from phalanx.engine.plugin import QueueOrder
from phalanx.engine.policy import Policy
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Unit
from phalanx.model.axis import Bool, Int


@dataclass(frozen=True, slots=True)
class Reclaim:
    """Evict what other queues have beyond what they are entitled to, for units that stay within their queue's share."""

    #: A candidate that may not be reclaimed may still be moved, if there is another place for it.
    moving: bool = True
    name: ClassVar[str] = "reclaim"
    reads_running: ClassVar[bool] = True
    evicts: ClassVar[bool] = True

    def run(self, session: Session, policy: Policy) -> None:
        """Try every unit that still waits, in order."""
        # An attempt asks for the same rights, so that thousands of claims do not look at everybody after each other.
        MakingRoom(session, policy, self.name, self._attempt, nothing_to_reclaim, refusals_max=1).run()

    def _attempt(
        self, session: Session, policy: Policy, unit: Unit, candidates: Candidates, budget: SearchBudget
    ) -> bool:
        """Make room for one unit."""
        claim = claim_of(session, unit)
        if not session.snapshot.queues.resources or not claim.entitled():
            return False
        queue = candidates.queue
        # Pods whose queue does not exist are never reclaimed.
        mask = may_leave(session, policy, unit) & (queue != claim.leaf) & (queue >= 0)
        if not mask.any():
            return False
        orders = tuple(plugin for plugin in policy.queue_orders if getattr(plugin, "finds_victims", False))
        fair = (victim for victim, _ in by_queue(session, orders, candidates, np.flatnonzero(mask)))
        search = _Claiming(session, policy, unit, candidates, budget, claim, orders)
        if self._along(search, self._legal(search, fair, Reclaimed(claim, in_order=True))):
            return True
        # The fair order may use up what may be reclaimed and make no room: then the most helpful candidates come first.
        helps, wanted = helps_of(session, unit, candidates, mask), len(unit.tasks)
        lines = helpful_lines(helps, candidates, wanted)
        if any(self._along(search, self._legal(search, line, Reclaimed(claim, in_order=False))) for line in lines):
            return True
        chosen = np.flatnonzero(mask)
        if len(chosen) > SUBSET_MAX:
            chosen = np.sort(np.array(most_helpful(helps, candidates, wanted), np.int64))
        return self._by_sets(search, chosen) if 0 < len(chosen) <= SUBSET_MAX else False

    def _by_sets(self, search: "_Claiming", chosen: Int) -> bool:
        """Make room for one unit with any set of these candidates."""
        session, candidates = search.session, search.candidates
        queues = candidates.queue[chosen].tolist()
        sides = {
            victim: side
            for victim, queue in zip(chosen.tolist(), queues, strict=True)
            if (side := search.claim.diverging(queue)) and not self._protected(session, candidates, victim, side[1])
        }
        some = np.array(list(sides), np.int64)
        table = subset_table(session, search.policy, search.unit, candidates, some, search.budget)
        if table is None:
            return False
        together = JointClaim(search.claim, search.orders)

        def legal(taken: Bool) -> bool:
            victims = table.chosen[taken].tolist()
            return together.may_take([sides[victim] for victim in victims], candidates.gives[victims])

        why = self._why(session, search.unit)
        subsets = SubsetSearch(session, search.policy, candidates, table, search.budget, self.name, why)
        may_move = movable(session, candidates)[table.chosen]
        most = len(session.snapshot.running)
        return subsets.by_eviction(legal) or (self.moving and subsets.by_moving(may_move, legal, most))

    def _along(self, search: "_Claiming", line: Iterator[int]) -> bool:
        """Make room for one unit with victims of one line."""
        session, candidates, budget = search.session, search.candidates, search.budget
        search.moved.clear()
        room = make_room(session, search.policy, search.unit, candidates, line, budget)
        if room is None:
            return False
        why = self._why(session, search.unit)
        start = session.checkpoint()
        if search.moved.intersection(room.victims) and self._all_may_be_taken(search, room.victims):
            # Candidates that stood before them in the line stay after all, so no task has to be moved.
            search.moved.clear()

        def carried_out(victims: list[int]) -> bool:
            fewer = Room(victims, room.places, room.front)
            carry_out(session, search.policy, search.unit, fewer, candidates, self.name, why)
            moved = [victim for victim in victims if victim in search.moved]
            return not moved or (
                relocate(session, search.policy, candidates.tasks_of(moved)) and within_limits(session, search.unit)
            )

        victims = room.victims
        if carried_out(victims):
            return True
        session.rollback(start)
        # A candidate that is not needed for the places may occupy the place of a moved task.
        if len(room.front) == len(victims) or not carried_out(victims := room.front):
            session.rollback(start)
            return False
        # Only candidates that are not needed for the places are spared again.
        for victim in reversed([victim for victim in room.front if victim not in room.victims]):
            fewer = [other for other in victims if other != victim]
            if whole_without(candidates, fewer, victim) and budget.take():
                session.rollback(start)
                if carried_out(fewer):
                    victims = fewer
        session.rollback(start)
        return carried_out(victims)

    def _all_may_be_taken(self, search: "_Claiming", victims: list[int]) -> bool:
        """Tell whether none of these has to be moved."""
        queues = search.candidates.queue[victims].tolist()
        sides = [side for queue in queues if (side := search.claim.diverging(queue)) is not None]
        return JointClaim(search.claim, search.orders).may_take(sides, search.candidates.gives[victims])

    def _legal(self, search: "_Claiming", line: Iterable[int], taken: Reclaimed) -> Iterator[int]:
        """Yield the candidates that may be reclaimed, and then those that may only be moved: they are noted."""
        session, candidates = search.session, search.candidates
        queues = candidates.queue
        others: list[int] = []
        for victim in line:
            if not search.budget.take():
                return
            sides = search.claim.diverging(int(queues[victim]))
            if sides is None or self._protected(session, candidates, victim, sides[1]):
                continue
            gives = candidates.gives[victim]
            if (
                taken.may_add(*sides, gives)
                and search.claim.goes_first(search.orders, *sides, gives)
                and may_follow(session, candidates, victim)
            ):
                taken.add(*sides, gives)
                yield victim
            elif self.moving:
                others.append(victim)
        can_move = movable(session, candidates) if others else None
        for victim in others:
            if can_move is not None and can_move[victim] and may_follow(session, candidates, victim):
                search.moved.add(victim)
                yield victim

    def _protected(self, session: Session, candidates: Candidates, victim: int, queue: int) -> bool:
        """A gang's minimum is safe for a while after its start, and a queue may keep all that its work has."""
        if not session.snapshot.queues.queues[int(candidates.queue[victim])].reclaimable:
            return True
        runtime = session.snapshot.queues.queues[queue].reclaim_min_runtime or 0.0
        started = session.residents.started[candidates.gang[victim]]
        return bool(candidates.is_minimum[victim] and session.snapshot.now < started + runtime)

    def _why(self, session: Session, unit: Unit) -> str:
        table = session.snapshot.queues
        queue = table.queues[int(session.snapshot.gangs.queue[unit.gang])].name
        return f"queue {queue} reclaims its share"


@dataclass(frozen=True, slots=True)
class _Claiming:
    """The search for one unit."""

    session: Session
    policy: Policy
    unit: Unit
    candidates: Candidates
    budget: SearchBudget
    claim: Claim
    orders: tuple[QueueOrder, ...]
    #: Candidates of the line under way that may only be moved.
    moved: set[int] = field(default_factory=set[int])
