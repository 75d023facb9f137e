"""Rights: from whom a queue may reclaim. Between two queues the level counts on which their ways part."""

from dataclasses import dataclass, field

import numpy as np

from phalanx.engine.plugin import Heads, QueueOrder
from phalanx.engine.session import Session
from phalanx.engine.units import Unit, gang_units
from phalanx.model.axis import Int
from phalanx.model.queue import UNLIMITED


@dataclass(frozen=True, slots=True)
class Claim:
    """What one waiting unit of a leaf queue may claim from others."""

    session: Session
    leaf: int
    #: On the resources of the queue table.
    ask: list[int]

    def entitled(self) -> bool:
        """Tell whether the queue, with the unit, stays within its share in every resource that it is measured by."""
        share, has = self._row(self.session.shares, self.leaf), self._has(self.leaf)
        measured = self.measured(self.leaf)
        return all(has[column] + self.ask[column] <= share[column] for column in measured)

    def parting(self, victim: int) -> tuple[int, int] | None:
        """Return the two queues, of the claimant and of the victim, on the level where their ways part."""
        table = self.session.snapshot.queues
        mine, theirs = table.paths[self.leaf].tolist(), table.paths[victim].tolist()
        while mine and theirs and mine[-1] == theirs[-1]:
            mine.pop()
            theirs.pop()
        return (mine[-1], theirs[-1]) if mine and theirs else None

    def may_take(self, mine: int, theirs: int, gives: Int, more: list[int]) -> bool:
        """Tell whether a unit may be taken from their side now, if they had so much more.

        What was taken before is gone already.
        """
        has = [there + extra for there, extra in zip(self._has(theirs), more, strict=True)]
        legal = self._keeps_share(theirs, has) or self._needs_quota(mine, theirs, has)
        return legal and self._fair(mine, theirs, gives)

    def goes_first(self, orders: tuple[QueueOrder, ...], mine: int, theirs: int, gives: Int) -> bool:
        """Tell whether our unit comes before theirs once that is gone: otherwise theirs would have the place again."""
        session, index = self.session, np.zeros(1, np.int64)
        ours = self._key(orders, mine, Heads(None, index, np.array([self.ask], np.int64)))
        start, row = session.checkpoint(), np.array([theirs])
        session.write("queue_allocated", row, session.columns["queue_allocated"][row] - gives)
        their = self._key(orders, theirs, Heads(None, index, gives[None]))
        session.rollback(start)
        return ours < their

    def _key(self, orders: tuple[QueueOrder, ...], queue: int, head: Heads) -> list[float]:
        row = np.array([queue])
        key = [column.tolist()[0] for order in orders for column in order.queue_key(self.session, row, head)]
        return [*key, *self.session.snapshot.queues.age[row].tolist()]

    def _keeps_share(self, theirs: int, has: list[int]) -> bool:
        """They have more than they may have of something."""
        table = self.session.snapshot.queues
        share, quota, limit = (self._row(rows, theirs) for rows in (self.session.shares, table.quota, table.limit))
        for column in self.measured(theirs):
            entitled = max(quota[column], share[column])
            may = limit[column] if quota[column] == UNLIMITED else min(limit[column], entitled)
            if has[column] > may:
                return True
        return False

    def _needs_quota(self, mine: int, theirs: int, other: list[int]) -> bool:
        """We stay within our quota, and they are beyond theirs in something that we ask for."""
        their, measured = self._row(self.session.snapshot.queues.quota, theirs), self.measured(mine)
        contested = [column for column in self.measured(theirs) if column in measured and self.ask[column]]
        return self.within_quota(mine) and any(other[column] > their[column] for column in contested)

    def within_quota(self, mine: int) -> bool:
        """We stay within our quota."""
        quota, has = self._row(self.session.snapshot.queues.quota, mine), self._has(mine)
        return all(has[column] + self.ask[column] <= quota[column] for column in self.measured(mine))

    def may_return(self, theirs: int, gives: Int, units: set[tuple[int, ...]]) -> bool:
        """Tell whether they could claim one of these units back within their quota, once all and so much is gone."""
        quota, has = self._row(self.session.snapshot.queues.quota, theirs), self._has(theirs)
        left = [(column, has[column] - given) for column, given in enumerate(gives.tolist())]
        measured = set(self.measured(theirs))
        return any(
            all(rest + unit[column] <= quota[column] for column, rest in left if column in measured) for unit in units
        )

    def _fair(self, mine: int, theirs: int, gives: Int) -> bool:
        """We must not end above our share while they are no further above theirs."""
        has, other = self._has(mine), self._has(theirs)
        share, their = self._row(self.session.shares, mine), self._row(self.session.shares, theirs)
        for column, (asked, given) in enumerate(zip(self.ask, gives.tolist(), strict=True)):
            if not (asked or given) or share[column] == UNLIMITED:
                continue
            ours = _ratio(has[column] + asked, share[column])
            if ours > 1 and their[column] > 0 and ours >= _ratio(other[column] - given, their[column]):
                return False
        return True

    def measured(self, queue: int) -> list[int]:
        """Return the resources that count for a queue: those that it lists, or all where it lists none."""
        listed = self.session.snapshot.queues.listed[queue].tolist()
        return [column for column, yes in enumerate(listed) if yes] or list(range(len(listed)))

    def _has(self, queue: int) -> list[int]:
        return self._row(self.session.columns["queue_allocated"], queue)

    def _row(self, rows: Int, queue: int) -> list[int]:
        row: list[int] = rows[queue].tolist()
        return row


@dataclass(frozen=True, slots=True)
class Taken:
    """What one claim has taken so far, from each side.

    In order, each unit must be legal after those before it. Otherwise it is enough that the units are legal in some
    order, and that is so if they are with the largest last. A claim beyond its quota takes nothing that its owner
    could claim back within his own: that would go on for ever.
    """

    claim: Claim
    in_order: bool
    #: Per pair of sides: what units gave, equal ones once. Most are equal.
    units: dict[tuple[int, int], set[tuple[int, ...]]] = field(
        default_factory=dict[tuple[int, int], set[tuple[int, ...]]]
    )

    def may_add(self, mine: int, theirs: int, gives: Int) -> bool:
        """Tell whether a unit may be taken from their side too."""
        kinds = self.units.get((mine, theirs), set()) | {tuple(gives.tolist())}
        if not self.claim.within_quota(mine) and self.claim.may_return(theirs, gives, kinds):
            return False
        largest = gives if self.in_order else np.max(list(kinds), axis=0)
        return self.claim.may_take(mine, theirs, gives, (largest - gives).tolist())

    def add(self, mine: int, theirs: int, gives: Int) -> None:
        """Note that it is taken."""
        self.units.setdefault((mine, theirs), set()).add(tuple(gives.tolist()))


@dataclass(frozen=True, slots=True)
class Together:
    """Whether units may be taken together, in some order. Answers are remembered: most sets give the same.

    What one side has only becomes less, so whatever may be taken last may be taken before. It is enough that some unit
    may be the last. What other sides give is not counted on.
    """

    claim: Claim
    orders: tuple[QueueOrder, ...]
    known: dict[tuple[int, int, frozenset[tuple[int, ...]], tuple[int, ...]], bool] = field(
        default_factory=dict[tuple[int, int, frozenset[tuple[int, ...]], tuple[int, ...]], bool]
    )

    def may_take(self, sides: list[tuple[int, int]], gives: Int) -> bool:
        """Tell whether units may be taken that give so much, each from its side."""
        # A loop over the sides of a dozen units.
        return all(self._from_side(*side, gives[[other == side for other in sides]]) for side in dict.fromkeys(sides))

    def _from_side(self, mine: int, theirs: int, gives: Int) -> bool:
        kinds, total = frozenset(map(tuple, gives.tolist())), gives.sum(axis=0)
        key = (mine, theirs, kinds, tuple(total.tolist()))
        if key not in self.known:
            self.known[key] = any(self._with_last(mine, theirs, total, np.array(last), set(kinds)) for last in kinds)
        return self.known[key]

    def _with_last(self, mine: int, theirs: int, total: Int, last: Int, kinds: set[tuple[int, ...]]) -> bool:
        session, claim, row = self.claim.session, self.claim, np.array([theirs])
        start = session.checkpoint()
        session.write("queue_allocated", row, session.columns["queue_allocated"][row] - (total - last))
        legal = claim.may_take(mine, theirs, last, [0] * len(last)) and claim.goes_first(
            self.orders, mine, theirs, last
        )
        legal = legal and (claim.within_quota(mine) or not claim.may_return(theirs, last, kinds))
        session.rollback(start)
        return legal


def claim_of(session: Session, unit: Unit) -> Claim:
    """Return what a waiting unit asks for, as a claim of its queue."""
    snapshot = session.snapshot
    ask = snapshot.requests[snapshot.tasks.shape[unit.tasks]][:, snapshot.queues.columns].sum(axis=0).tolist()
    return Claim(session, int(snapshot.gangs.queue[unit.gang]), ask)


def _ratio(part: int, whole: int) -> float:
    if whole:
        return part / whole
    return float("inf") if part > 0 else 0.0


def claimed_by(session: Session) -> set[int]:
    """Return the queues in which something waits that is within their share."""
    waiting = gang_units(session.snapshot)
    gangs = session.snapshot.gangs
    found: set[int] = set()
    #: Queues with a shape and a number of it that is beyond their share.
    refused: set[tuple[int, tuple[int, ...]]] = set()
    for index in np.flatnonzero((waiting.count > 0) & (gangs.queue[waiting.gang] >= 0)).tolist():
        unit = waiting.unit(index)
        queue = int(gangs.queue[unit.gang])
        kind = (queue, tuple(session.snapshot.tasks.shape[unit.tasks].tolist()))
        if queue in found or kind in refused or (session.place[unit.tasks] >= 0).any():
            continue
        if session.snapshot.queues.resources and claim_of(session, unit).entitled():
            found.add(queue)
        else:
            refused.add(kind)
    return found


def beyond_share(session: Session, unit: Unit) -> bool:
    """Tell whether the queue of a unit has more now than when the cycle began, and more than its share."""
    snapshot = session.snapshot
    claim = claim_of(session, unit)
    has = session.columns["queue_allocated"][claim.leaf]
    grown = (has > snapshot.queues.allocated[claim.leaf]) & (has > session.shares[claim.leaf])
    return bool(grown[claim.measured(claim.leaf)].any())
