"""Rights: from which queues a queue may reclaim. Two queues are compared on the level where their paths diverge."""

from dataclasses import dataclass, field

import numpy as np

from phalanx.engine.plugin import Heads, QueueOrder
from phalanx.engine.session.rows import distinct
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Unit, Units
from phalanx.engine.waiting.order import asked, none_of
from phalanx.model.axis import Bool, Int
from phalanx.model.queue import UNLIMITED


@dataclass(frozen=True, slots=True)
class Claim:
    """What one waiting unit of a leaf queue may claim from others.

    `claimant` and `victim` are rows of queues: the two on the level where the paths diverge.
    """

    session: Session
    leaf: int
    #: On the resources of the queue table.
    ask: list[int]

    def entitled(self) -> bool:
        """Tell whether the queue, with the unit, stays within its share in every resource that it is measured by."""
        share, has = self._row(self.session.shares, self.leaf), self._has(self.leaf)
        measured = self.measured(self.leaf)
        return all(has[column] + self.ask[column] <= share[column] for column in measured)

    def diverging(self, victim: int) -> tuple[int, int] | None:
        """Return the two queues, above the claimant and above the victim, on the level where their paths diverge."""
        table = self.session.snapshot.queues
        above_claimant, above_victim = table.paths[self.leaf].tolist(), table.paths[victim].tolist()
        while above_claimant and above_victim and above_claimant[-1] == above_victim[-1]:
            above_claimant.pop()
            above_victim.pop()
        return (above_claimant[-1], above_victim[-1]) if above_claimant and above_victim else None

    def may_take(self, claimant: int, victim: int, gives: Int, more: list[int]) -> bool:
        """Tell whether a unit may be reclaimed from the victim's queue now, if that had so much `more`.

        What was reclaimed before is gone already.
        """
        has = [there + extra for there, extra in zip(self._has(victim), more, strict=True)]
        legal = self._exceeds_entitlement(victim, has) or self._needs_quota(claimant, victim, has)
        return legal and self._fair(claimant, victim, gives)

    def goes_first(self, orders: tuple[QueueOrder, ...], claimant: int, victim: int, gives: Int) -> bool:
        """Tell whether the claimant goes before the victim once that is gone: else the victim would have it again."""
        session, index = self.session, np.zeros(1, np.int64)
        claimants_key = self._key(orders, claimant, Heads(None, index, np.array([self.ask], np.int64)))
        start = session.checkpoint()
        session.queues.shift(victim, -gives)
        victims_key = self._key(orders, victim, Heads(None, index, gives[None]))
        session.rollback(start)
        return claimants_key < victims_key

    def _key(self, orders: tuple[QueueOrder, ...], queue: int, head: Heads) -> list[float]:
        row = np.array([queue])
        key = [column.tolist()[0] for order in orders for column in order.queue_key(self.session, row, head)]
        return [*key, *self.session.snapshot.queues.age[row].tolist()]

    def _exceeds_entitlement(self, victim: int, has: list[int]) -> bool:
        """The victim's queue exceeds its entitlement in at least one resource.

        The entitlement is the larger of quota and share, within the limit.
        """
        table = self.session.snapshot.queues
        share, quota, limit = (self._row(rows, victim) for rows in (self.session.shares, table.quota, table.limit))
        for column in self.measured(victim):
            entitled = max(quota[column], share[column])
            may = limit[column] if quota[column] == UNLIMITED else min(limit[column], entitled)
            if has[column] > may:
                return True
        return False

    def _needs_quota(self, claimant: int, victim: int, has: list[int]) -> bool:
        """The claimant's queue stays within its quota, and the victim's exceeds its own in a resource asked for."""
        quota, measured = self._row(self.session.snapshot.queues.quota, victim), self.measured(claimant)
        contested = [column for column in self.measured(victim) if column in measured and self.ask[column]]
        return self.within_quota(claimant) and any(has[column] > quota[column] for column in contested)

    def within_quota(self, claimant: int) -> bool:
        """The claimant's queue stays within its quota."""
        quota, has = self._row(self.session.snapshot.queues.quota, claimant), self._has(claimant)
        return all(has[column] + self.ask[column] <= quota[column] for column in self.measured(claimant))

    def may_return(self, victim: int, gives: Int, units: set[tuple[int, ...]]) -> bool:
        """Tell whether the victim's queue could claim one of these units back within its quota, once all is gone."""
        quota, has = self._row(self.session.snapshot.queues.quota, victim), self._has(victim)
        left = [(column, has[column] - given) for column, given in enumerate(gives.tolist())]
        measured = set(self.measured(victim))
        return any(
            all(rest + unit[column] <= quota[column] for column, rest in left if column in measured) for unit in units
        )

    def _fair(self, claimant: int, victim: int, gives: Int) -> bool:
        """The claimant's queue must not end above its share while the victim's is no further above its own."""
        has, victim_has = self._has(claimant), self._has(victim)
        share, victim_share = self._row(self.session.shares, claimant), self._row(self.session.shares, victim)
        for column, (wanted, given) in enumerate(zip(self.ask, gives.tolist(), strict=True)):
            if not (wanted or given) or share[column] == UNLIMITED:
                continue
            used = _ratio(has[column] + wanted, share[column])
            if (
                used > 1
                and victim_share[column] > 0
                and used >= _ratio(victim_has[column] - given, victim_share[column])
            ):
                return False
        return True

    def measured(self, queue: int) -> list[int]:
        """Return the resources that count for a queue: those that it lists, or all where it lists none."""
        listed = self.session.snapshot.queues.listed[queue].tolist()
        return [column for column, yes in enumerate(listed) if yes] or list(range(len(listed)))

    def _has(self, queue: int) -> list[int]:
        return self._row(self.session.queues.allocated, queue)

    def _row(self, rows: Int, queue: int) -> list[int]:
        row: list[int] = rows[queue].tolist()
        return row


@dataclass(frozen=True, slots=True)
class Reclaimed:
    """What one claim has reclaimed so far, from each queue.

    In order, each candidate must be legal after those before it. Otherwise it is enough that the candidates are legal
    in some order, and that is so if they are with the largest last. A claim beyond its quota reclaims nothing that the
    victim's queue could claim back within its own quota: that would go on for ever.
    """

    claim: Claim
    in_order: bool
    #: Per pair of diverging queues: what candidates gave, equal ones once. Most are equal.
    units: dict[tuple[int, int], set[tuple[int, ...]]] = field(
        default_factory=dict[tuple[int, int], set[tuple[int, ...]]]
    )

    def may_add(self, claimant: int, victim: int, gives: Int) -> bool:
        """Tell whether a candidate of the victim's queue may be reclaimed too."""
        kinds = self.units.get((claimant, victim), set()) | {tuple(gives.tolist())}
        if not self.claim.within_quota(claimant) and self.claim.may_return(victim, gives, kinds):
            return False
        largest = gives if self.in_order else np.max(list(kinds), axis=0)
        return self.claim.may_take(claimant, victim, gives, (largest - gives).tolist())

    def add(self, claimant: int, victim: int, gives: Int) -> None:
        """Note that it is reclaimed."""
        self.units.setdefault((claimant, victim), set()).add(tuple(gives.tolist()))


@dataclass(frozen=True, slots=True)
class JointClaim:
    """Whether candidates may be reclaimed together, in some order. Answers are remembered: most sets give the same.

    What a queue has only becomes less, so whatever may be reclaimed last may be reclaimed before. It is enough that
    some candidate may be the last. What other queues give is not counted on.
    """

    claim: Claim
    orders: tuple[QueueOrder, ...]
    known: dict[tuple[int, int, frozenset[tuple[int, ...]], tuple[int, ...]], bool] = field(
        default_factory=dict[tuple[int, int, frozenset[tuple[int, ...]], tuple[int, ...]], bool]
    )

    def may_take(self, sides: list[tuple[int, int]], gives: Int) -> bool:
        """Tell whether candidates may be reclaimed that give so much, each from its pair of diverging queues."""
        # A loop over the queues of a dozen candidates.
        return all(self._from_side(*side, gives[[other == side for other in sides]]) for side in dict.fromkeys(sides))

    def _from_side(self, claimant: int, victim: int, gives: Int) -> bool:
        kinds, total = frozenset(map(tuple, gives.tolist())), gives.sum(axis=0)
        key = (claimant, victim, kinds, tuple(total.tolist()))
        if key not in self.known:
            self.known[key] = any(
                self._with_last(claimant, victim, total, np.array(last), set(kinds)) for last in kinds
            )
        return self.known[key]

    def _with_last(self, claimant: int, victim: int, total: Int, last: Int, kinds: set[tuple[int, ...]]) -> bool:
        session, claim = self.claim.session, self.claim
        start = session.checkpoint()
        session.queues.shift(victim, last - total)
        legal = claim.may_take(claimant, victim, last, [0] * len(last)) and claim.goes_first(
            self.orders, claimant, victim, last
        )
        legal = legal and (claim.within_quota(claimant) or not claim.may_return(victim, last, kinds))
        session.rollback(start)
        return legal


def claim_of(session: Session, unit: Unit) -> Claim:
    """Return what a waiting unit asks for, as a claim of its queue."""
    snapshot = session.snapshot
    ask = snapshot.charges[snapshot.tasks.shape[unit.tasks]][:, snapshot.queues.columns].sum(axis=0).tolist()
    return Claim(session, int(snapshot.gangs.queue[unit.gang]), ask)


def _ratio(part: int, whole: int) -> float:
    if whole:
        return part / whole
    return float("inf") if part > 0 else 0.0


def entitled(session: Session, units: Units) -> Bool:
    """Return [unit]: whether its queue, with the unit, stays within its share in every resource it is measured by."""
    table = session.snapshot.queues
    if not table.resources:
        return np.zeros(len(units), np.bool_)
    queue = session.snapshot.gangs.queue[units.gang]
    measured = table.listed | ~table.listed.any(axis=1, keepdims=True)
    within = session.queues.allocated[queue] + asked(session, units) <= session.shares[queue]
    found: Bool = (queue >= 0) & (within | ~measured[queue]).all(axis=1)
    return found


def claimed_by(session: Session, waiting: Bool | None = None) -> set[int]:
    """Return the queues in which a unit waits that is within their share.

    `waiting` is [unit]; None: those without a place.
    """
    units = session.units
    if waiting is None:
        homeless = none_of(units, session.place >= 0)
        return session.once("claimed by the homeless", lambda: claimed_by(session, homeless))
    claims = entitled(session, units) & waiting
    return set(distinct(session.snapshot.gangs.queue[units.gang[claims]]).tolist())


def claimed_back(session: Session, unit: Unit, claimed: set[int]) -> bool:
    """Tell whether what a unit got would be claimed back at once: other queues claim, and its own is beyond its share.

    `claimed`: the queues that claim. Of its own queue only what it has more of than when the cycle began counts.
    """
    snapshot = session.snapshot
    if not claimed - {int(snapshot.gangs.queue[unit.gang])}:
        return False
    claim = claim_of(session, unit)
    has = session.queues.allocated[claim.leaf]
    grown = (has > snapshot.queues.allocated[claim.leaf]) & (has > session.shares[claim.leaf])
    return bool(grown[claim.measured(claim.leaf)].any())
