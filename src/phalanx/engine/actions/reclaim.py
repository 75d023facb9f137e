"""Reclaim: a queue that has less than its share takes back from queues that have more."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from phalanx.engine.few import FEW, few_of
from phalanx.engine.lines import helpful_lines, helps_of, most_helpful
from phalanx.engine.making_room import Room, Steps, carry_out, make_room, tasks_of
from phalanx.engine.moving import movable, move, within_limits
from phalanx.engine.plugin import QueueOrder
from phalanx.engine.policy import Policy
from phalanx.engine.rights import Claim, Taken, Together, claim_of
from phalanx.engine.session import Session
from phalanx.engine.taking import Taking
from phalanx.engine.units import Unit
from phalanx.engine.victims import VictimUnits, able, by_queue, may_follow, whole_without
from phalanx.engine.ways import Ways
from phalanx.model.axis import Bool, Int


@dataclass(frozen=True, slots=True)
class Reclaim:
    """Evict what other queues have beyond what they are entitled to, for units that stay within their queue's share."""

    #: Whoever is entitled to what he has may still be moved, if there is another place for him.
    moving: bool = True
    name: ClassVar[str] = "reclaim"
    reads_running: ClassVar[bool] = True
    evicts: ClassVar[bool] = True

    def run(self, session: Session, policy: Policy) -> None:
        """Try every unit that still waits, in order."""
        Taking(session, policy, self._attempt).run()

    def _attempt(self, session: Session, policy: Policy, unit: Unit, units: VictimUnits, steps: Steps) -> bool:
        """Make room for one unit."""
        claim = claim_of(session, unit)
        if not session.snapshot.queues.resources or not claim.entitled():
            return False
        queue = session.snapshot.running.queue[units.gang]
        # Whoever is in no queue that exists is on no side.
        mask = able(session, policy, units, unit.gang) & (queue != claim.leaf) & (queue >= 0)
        orders = tuple(plugin for plugin in policy.queue_orders if getattr(plugin, "finds_victims", False))
        fair = (victim for victim, _ in by_queue(session, orders, units, np.flatnonzero(mask)))
        search = _Search(session, policy, unit, units, steps, claim, orders)
        if self._along(search, self._legal(search, fair, Taken(claim, in_order=True))):
            return True
        # What is taken first may be all that may be taken, and of no help: then whoever helps most comes first.
        helps, wanted = helps_of(session, unit, units, mask), len(unit.tasks)
        lines = helpful_lines(helps, units, wanted)
        if any(self._along(search, self._legal(search, line, Taken(claim, in_order=False))) for line in lines):
            return True
        chosen = np.flatnonzero(mask)
        if len(chosen) > FEW:
            chosen = np.sort(np.array(most_helpful(helps, units, wanted), np.int64))
        return self._by_sets(search, chosen) if 0 < len(chosen) <= FEW else False

    def _by_sets(self, search: "_Search", chosen: Int) -> bool:
        """Make room for one unit with any set of these few."""
        session, units = search.session, search.units
        queues = session.snapshot.running.queue[units.gang[chosen]].tolist()
        sides = {
            victim: side
            for victim, queue in zip(chosen.tolist(), queues, strict=True)
            if (side := search.claim.parting(queue)) and not self._protected(session, units, victim, side[1])
        }
        few = few_of(session, search.policy, search.unit, units, np.array(list(sides), np.int64), search.steps)
        if few is None:
            return False
        together = Together(search.claim, search.orders)

        def legal(taken: Bool) -> bool:
            victims = few.chosen[taken].tolist()
            return together.may_take([sides[victim] for victim in victims], units.gives[victims])

        ways = Ways(session, search.policy, units, few, search.steps, self.name, self._why(session, search.unit))
        may_move = movable(session, units)[few.chosen]
        most = len(session.snapshot.running)
        return ways.by_taking(legal) or (self.moving and ways.by_moving(may_move, legal, most))

    def _along(self, search: "_Search", line: Iterator[int]) -> bool:
        """Make room for one unit with victims of one line."""
        session, units, steps = search.session, search.units, search.steps
        search.moved.clear()
        room = make_room(session, search.policy, search.unit, units, line, steps)
        if room is None:
            return False
        why = self._why(session, search.unit)
        start = session.checkpoint()
        if search.moved.intersection(room.victims) and self._all_may_be_taken(search, room.victims):
            # Who stood before them in the line stays after all, so nobody has to be moved.
            search.moved.clear()

        def carried_out(victims: list[int]) -> bool:
            carry_out(session, search.unit, Room(victims, room.places, room.front), units, self.name, why)
            moved = [victim for victim in victims if victim in search.moved]
            return not moved or (
                move(session, search.policy, tasks_of(units, moved)) and within_limits(session, search.unit)
            )

        victims = room.victims
        if carried_out(victims):
            return True
        session.rollback(start)
        # Who is not needed for the places may be in the way of those who are moved.
        if len(room.front) == len(victims) or not carried_out(victims := room.front):
            session.rollback(start)
            return False
        # Kept back again is only who is not needed for the places either.
        for victim in reversed([victim for victim in room.front if victim not in room.victims]):
            fewer = [other for other in victims if other != victim]
            if whole_without(units, fewer, victim) and steps.take():
                session.rollback(start)
                if carried_out(fewer):
                    victims = fewer
        session.rollback(start)
        return carried_out(victims)

    def _all_may_be_taken(self, search: "_Search", victims: list[int]) -> bool:
        """Tell whether none of these has to be moved."""
        queues = search.session.snapshot.running.queue[search.units.gang[victims]].tolist()
        sides = [side for queue in queues if (side := search.claim.parting(queue)) is not None]
        return Together(search.claim, search.orders).may_take(sides, search.units.gives[victims])

    def _legal(self, search: "_Search", line: Iterable[int], taken: Taken) -> Iterator[int]:
        """Yield whom we may take from, and then whom we may only move: they are noted."""
        session, units = search.session, search.units
        running = session.snapshot.running
        others: list[int] = []
        for victim in line:
            if not search.steps.take():
                return
            sides = search.claim.parting(int(running.queue[units.gang[victim]]))
            if sides is None or self._protected(session, units, victim, sides[1]):
                continue
            gives = units.gives[victim]
            if (
                taken.may_add(*sides, gives)
                and search.claim.goes_first(search.orders, *sides, gives)
                and may_follow(session, units, victim)
            ):
                taken.add(*sides, gives)
                yield victim
            elif self.moving:
                others.append(victim)
        can_move = movable(session, units) if others else None
        for victim in others:
            if can_move is not None and can_move[victim] and may_follow(session, units, victim):
                search.moved.add(victim)
                yield victim

    def _protected(self, session: Session, units: VictimUnits, victim: int, queue: int) -> bool:
        """A gang's minimum is safe for a while after its start."""
        runtime = session.snapshot.queues.queues[queue].reclaim_min_runtime or 0.0
        started = session.snapshot.running.started[units.gang[victim]]
        return bool(units.core[victim] and session.snapshot.now < started + runtime)

    def _why(self, session: Session, unit: Unit) -> str:
        table = session.snapshot.queues
        queue = table.queues[int(session.snapshot.gangs.queue[unit.gang])].name
        return f"queue {queue} takes back what is its share"


@dataclass(frozen=True, slots=True)
class _Search:
    """The search for one unit."""

    session: Session
    policy: Policy
    unit: Unit
    units: VictimUnits
    steps: Steps
    claim: Claim
    orders: tuple[QueueOrder, ...]
    #: Victims of the line under way from whom we may not take.
    moved: set[int] = field(default_factory=set[int])
