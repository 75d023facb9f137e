"""Ageing: a gang that has waited long enough is not overtaken any more."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.plugin import UNLIMITED, Ceiling, Heads, Plugin
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Unit, Units
from phalanx.model.axis import Bool, Float, Int
from phalanx.model.duration import Seconds
from phalanx.model.plan import Code, Reason
from phalanx.model.snapshot import Snapshot

_SIX_HOURS = Seconds(6 * 3600.0)


@dataclass(frozen=True, slots=True)
class Ageing(Plugin):
    """From `after` on a gang goes before all younger ones, and where it finds no room, nodes are kept for it.

    It gets the nodes with the most room now, and only as many as it needs. No task is evicted: those that run there
    end in their time, and no other gang follows them. So a gang is overtaken only while it is younger than `after`.
    Nodes are kept for one gang of a queue at a time, the oldest, while its queue has less than its share: kept for all
    old gangs, they would close the cluster to all others.
    """

    after: Seconds = _SIX_HOURS
    name: ClassVar[str] = "ageing"
    #: It looks at no field of a shape; () would mean all of them.
    reads: ClassVar[tuple[str, ...]] = ("requests",)
    band: ClassVar[bool] = True
    only_lifts: ClassVar[bool] = True

    def gang_key(self, session: Session, units: Units) -> Int | Float:
        """Return when a gang came that has waited long enough: the oldest goes first, whatever the priorities."""
        return np.where(self.hears_refusal(session, units), session.snapshot.gangs.created[units.gang], np.inf)

    def hears_refusal(self, session: Session, units: Units) -> Bool:
        """Tell for which units nodes would be kept."""
        return self._aged(session.snapshot, units.gang) & ~units.growth

    def queue_key(self, session: Session, queues: Int, heads: Heads) -> Sequence[Int | Float | Bool]:
        """Return 0 for queues whose first gang has waited long enough, while they have less than their share of it.

        Otherwise a queue with a long line would get more than its part, only because its line is long.
        """
        units = heads.units
        assert units is not None, "victims are not found by age"
        below = _below_share(session, queues, heads.asks)
        aged = self._aged(session.snapshot, units.gang[heads.index]) & ~units.growth[heads.index]
        return (~(aged & below),)

    def room(self, session: Session, request: Request) -> Int | None:
        """Return no room where a node is fenced off for another gang."""
        if not session.fences.gangs:
            return None
        return np.where((session.fences.of_node > 0) & (session.fences.of_node != request.gang + 1), 0, UNLIMITED)

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Name the gangs for which nodes are fenced off."""
        del request
        gangs = session.snapshot.gangs.gangs
        counts = Counter(gangs[row - 1].name for row in session.fences.of_node[nodes].tolist())
        return [(count, f"kept for {name}, which has waited long enough") for name, count in counts.most_common()]

    def refused(self, session: Session, unit: Unit, reason: Reason, ceiling: Ceiling) -> Reason:
        """Keep nodes for a gang that would fit if others were not there."""
        if reason.code is not Code.FULL or not _first_of_its_queue(session, unit):
            return reason
        nodes = self._choose(session, unit, ceiling)
        if not len(nodes):
            return reason
        session.fences.put(nodes, unit.gang)
        waited = (session.snapshot.now - session.snapshot.gangs.created[unit.gang]) / 3600
        kept = "1 node is kept" if len(nodes) == 1 else f"{len(nodes)} nodes are kept"
        return reason.adding(f"it has waited {waited:.1f} h, so no younger gang overtakes it: {kept} for it")

    def _choose(self, session: Session, unit: Unit, ceiling: Ceiling) -> Int:
        """Return enough nodes for every shape of the unit, those with the most room now first."""
        shapes, counts = np.unique(session.snapshot.tasks.shape[unit.tasks], return_counts=True)
        free = session.fences.of_node == 0
        chosen = [np.zeros(0, np.int64)]
        if not free.any():
            return chosen[0]
        # A loop over the shapes of one gang.
        for shape, count in zip(shapes.tolist(), counts.tolist(), strict=True):
            most = np.where(free, np.minimum(ceiling(shape), count), 0)
            by_room = np.argsort(-_nearness(session, Request(shape, gang=unit.gang)), kind="stable")
            by_room = by_room[most[by_room] > 0]
            enough = np.searchsorted(np.cumsum(most[by_room]), count)
            if enough == len(by_room):
                return chosen[0]
            chosen.append(by_room[: int(enough) + 1])
            free[chosen[-1]] = False
        return np.concatenate(chosen)

    def _aged(self, snapshot: Snapshot, gangs: Int) -> Bool:
        waiting = snapshot.gangs.running[gangs] == 0
        aged: Bool = waiting & (snapshot.now - snapshot.gangs.created[gangs] >= self.after)
        return aged


def _below_share(session: Session, queues: Int, asks: Int) -> Bool:
    """Tell which queues have less than their share of everything that is asked for."""
    has = session.queues.allocated[queues]
    return np.asarray(((has < session.shares[queues]) | (asks == 0)).all(axis=1), np.bool_)


def _first_of_its_queue(session: Session, unit: Unit) -> bool:
    """Tell whether nodes may be kept for a unit: its queue has less than its share, and none for others of it."""
    snapshot = session.snapshot
    queue = snapshot.gangs.queue[unit.gang]
    if queue in {snapshot.gangs.queue[gang] for gang in session.fences.gangs}:
        return False
    if queue < 0 or not snapshot.queues.resources:
        return True
    asks = snapshot.charges[snapshot.tasks.shape[unit.tasks]][:, snapshot.queues.columns].sum(axis=0)
    return bool(_below_share(session, np.array([queue]), asks[None])[0])


def _nearness(session: Session, request: Request) -> Float:
    """Return, per node, how much of one copy of the shape (or of several) fits now."""
    ask = session.snapshot.requests[request.shape]
    parts = [session.spare(request, resource) / ask[resource] for resource in np.flatnonzero(ask).tolist()]
    nearness: Float = np.minimum.reduce(parts)
    return nearness
