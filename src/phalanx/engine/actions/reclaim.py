"""Reclaim: a queue that has less than its share takes back from queues that have more."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from phalanx.engine.making_room import Steps
from phalanx.engine.policy import Policy
from phalanx.engine.rights import Claim
from phalanx.engine.session import Session
from phalanx.engine.taking import Taking
from phalanx.engine.units import Unit
from phalanx.engine.victims import VictimUnits, able, by_queue, in_order


@dataclass(frozen=True, slots=True)
class Reclaim:
    """Evict what other queues have beyond what they are entitled to, for units that stay within their queue's share."""

    name: ClassVar[str] = "reclaim"
    evicts: ClassVar[bool] = True

    def run(self, session: Session, policy: Policy) -> None:
        """Try every unit that still waits, in order."""
        Taking(session, policy, self.name, self._line, self._why).run()

    def _line(self, session: Session, policy: Policy, unit: Unit, units: VictimUnits, steps: Steps) -> Iterator[int]:
        snapshot = session.snapshot
        leaf = int(snapshot.gangs.queue[unit.gang])
        ask = snapshot.requests[snapshot.tasks.shape[unit.tasks]][:, snapshot.queues.columns].sum(axis=0).tolist()
        claim = Claim(session, leaf, ask)
        if not snapshot.queues.resources or not claim.entitled():
            return
        running = snapshot.running
        mask = able(session, units) & (running.queue[units.gang] != leaf)
        order = in_order(session, units)
        orders = tuple(plugin for plugin in policy.queue_orders if getattr(plugin, "finds_victims", False))
        for victim, _ in by_queue(session, orders, units, order[mask[order]]):
            if not steps.take():
                return
            gang = int(units.gang[victim])
            sides = claim.parting(int(running.queue[gang]))
            if sides is None or self._protected(session, units, victim, sides[1]):
                continue
            if claim.may_take(*sides, units.gives[victim]):
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
