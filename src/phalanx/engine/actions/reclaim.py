"""Reclaim: a queue that has less than its share takes back from queues that have more."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.making_room import Steps, carry_out, make_room, tasks_of
from phalanx.engine.moving import movable, move, within_limits
from phalanx.engine.policy import Policy
from phalanx.engine.rights import Claim, claim_of
from phalanx.engine.session import Session
from phalanx.engine.taking import Taking
from phalanx.engine.units import Unit
from phalanx.engine.victims import VictimUnits, able, by_queue, may_follow
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
        mask = able(session, units) & (session.snapshot.running.queue[units.gang] != claim.leaf)
        orders = tuple(plugin for plugin in policy.queue_orders if getattr(plugin, "finds_victims", False))
        fair = (victim for victim, _ in by_queue(session, orders, units, np.flatnonzero(mask)))
        if self._along(session, policy, unit, units, fair, claim, steps):
            return True
        # What is taken first may be all that may be taken, and of no help: then whoever helps most comes first.
        helpful = iter(_most_helpful(session, unit, units, mask))
        return self._along(session, policy, unit, units, helpful, claim, steps)

    def _along(
        self,
        session: Session,
        policy: Policy,
        unit: Unit,
        units: VictimUnits,
        line: Iterator[int],
        claim: Claim,
        steps: Steps,
    ) -> bool:
        """Make room for one unit with victims of one line."""
        start = session.checkpoint()
        illegal: set[int] = set()
        room = make_room(session, policy, unit, units, self._legal(session, units, line, claim, steps, illegal), steps)
        if room is None:
            return False
        carry_out(session, unit, room, units, self.name, self._why(session, unit))
        moved = [victim for victim in room.victims if victim in illegal]
        if moved and not (move(session, policy, tasks_of(units, moved)) and within_limits(session, unit)):
            session.rollback(start)
            return False
        return True

    def _legal(
        self, session: Session, units: VictimUnits, line: Iterator[int], claim: Claim, steps: Steps, illegal: set[int]
    ) -> Iterator[int]:
        """Yield whom we may take from, and then whom we may only move: they are noted as illegal."""
        running = session.snapshot.running
        others: list[int] = []
        for victim in line:
            if not steps.take():
                return
            sides = claim.parting(int(running.queue[units.gang[victim]]))
            if sides is None or self._protected(session, units, victim, sides[1]):
                continue
            if claim.may_take(*sides, units.gives[victim]) and may_follow(session, units, victim):
                yield victim
            elif self.moving:
                others.append(victim)
        can_move = movable(session, units) if others else None
        for victim in others:
            if can_move is not None and can_move[victim] and may_follow(session, units, victim):
                illegal.add(victim)
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


def _most_helpful(session: Session, unit: Unit, units: VictimUnits, mask: Bool) -> list[int]:
    """Return the victims by how many more copies their node takes without them, alone or together."""
    snapshot, running = session.snapshot, session.snapshot.running
    ask = snapshot.requests[snapshot.tasks.shape[unit.tasks[0]]]
    wanted = np.flatnonzero(ask)
    chosen = np.flatnonzero(mask)
    node, mine = running.node[units.first[chosen]], running.requests[units.first[chosen]][:, wanted]
    now = (session.columns["free"] + session.columns["releasing"] - session.columns["held"])[:, wanted]
    empty = now.copy()
    tasks = tasks_of(units, chosen.tolist())
    np.add.at(empty, running.node[tasks], running.requests[tasks][:, wanted])

    def copies(amounts: Int) -> Int:
        return np.asarray(np.maximum((amounts // ask[wanted]).min(axis=1), 0), np.int64)

    alone = copies(now[node] + mine) - copies(now)[node]
    together = (copies(empty) - copies(now))[node]
    gives = (mine / ask[wanted]).max(axis=1)
    order: list[int] = chosen[np.lexsort([chosen, node, -gives, -together, -alone])].tolist()
    return order
