"""Fairness: of sibling queues, the one that is furthest from what it is entitled to goes first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.plugin import Heads, Plugin
from phalanx.engine.session.session import Session
from phalanx.model.axis import Bool, Float, Int
from phalanx.model.queue import UNLIMITED

#: What a unit counts for where a queue is entitled to none of it.
_NOTHING = 1000.0


@dataclass(frozen=True, slots=True)
class Fairness(Plugin):
    """Order sibling queues by their shares, with the first unit of each added.

    A queue that is over its share in every resource comes after those that are not; one that stays within its quota
    comes first; then by the queue's priority, and then by its dominant share: the largest of its parts of what it may
    have, over the resources that it lists.
    """

    name: ClassVar[str] = "fairness"
    finds_victims: ClassVar[bool] = True

    def queue_key(self, session: Session, queues: Int, heads: Heads) -> Sequence[Int | Float | Bool]:
        """Return the columns in the order in which they decide."""
        if len(queues) == 1:
            return [np.array([value]) for value in _alone(session, int(queues[0]), heads.asks[0].tolist())]
        table = session.snapshot.queues
        has = session.queues.allocated[queues]
        # A queue that lists nothing is measured by everything: it would always be first otherwise.
        listed = table.listed[queues] | ~table.listed[queues].any(axis=1, keepdims=True)
        with_head = has + heads.asks
        may = session.once("may have", lambda: _may_have(session), static=True)[queues]
        over = np.asarray(((session.shares[queues] < has) | ~listed).all(axis=1), np.bool_)
        beyond_quota = np.asarray(((with_head > table.quota[queues]) & listed).any(axis=1), np.bool_)
        wants_nothing = ((may == 0) & (heads.asks > 0) & listed).any(axis=1)
        size = np.where(may == UNLIMITED, table.total, may) / np.maximum(table.total, 1)
        return (
            over, beyond_quota, -table.priority[queues], wants_nothing,
            _dominant(with_head, may, listed, table.total, table.grain),
            _dominant(has, may, listed, table.total, table.grain),
            np.where(listed, size, 0.0).sum(axis=1),
        )  # fmt: skip


def _may_have(session: Session) -> Int:
    """Return what each queue may have: its quota or its share, whichever is more, within its limit."""
    table = session.snapshot.queues
    entitled = np.maximum(table.quota, session.shares)
    return np.where(table.quota == UNLIMITED, table.limit, np.minimum(table.limit, entitled))


def _dominant(has: Int, may: Int, listed: Bool, total: Int, grain: Int) -> Float:
    """Return the largest part that a queue has of what it may have; 0 where it lists nothing."""
    whole = np.where(may == UNLIMITED, total, may)
    part = np.where(whole > 0, has / np.maximum(whole, 1), has / grain * _NOTHING)
    most: Float = np.where(listed, part, 0.0).max(axis=1, initial=0.0)
    return most


def _alone(session: Session, queue: int, ask: list[int]) -> tuple[float, ...]:
    """Return the key of one queue. After each decision a few are compared anew, and on so few arrays only cost time."""
    known = session.once("terms of queues", dict[int, _Terms], static=True)
    terms = known.get(queue)
    if terms is None:
        terms = known[queue] = _terms(session, queue)
    has = session.queues.allocated[queue].tolist()
    over, beyond, wants_nothing, size, with_head, without = True, False, False, 0.0, 0.0, 0.0
    for column, share, quota, may, whole, grain, part in terms.columns:
        amount, more = has[column], has[column] + ask[column]
        over = over and share < amount
        beyond = beyond or more > quota
        wants_nothing = wants_nothing or (may == 0 and ask[column] > 0)
        size += part
        with_head = max(with_head, more / whole if whole else more / grain * _NOTHING)
        without = max(without, amount / whole if whole else amount / grain * _NOTHING)
    return (over, beyond, -terms.priority, wants_nothing, with_head, without, size)


@dataclass(frozen=True, slots=True)
class _Terms:
    """What of a queue does not change during a session."""

    priority: int
    #: Per resource that it is measured by: column, share, quota, what it may have, that as a number, grain, its size.
    columns: tuple[tuple[int, int, int, int, float, float, float], ...]


def _terms(session: Session, queue: int) -> _Terms:
    table = session.snapshot.queues
    listed = table.listed[queue] | ~table.listed[queue].any()
    may = session.once("may have", lambda: _may_have(session), static=True)[queue]
    whole = np.where(may == UNLIMITED, table.total, may).astype(np.float64)
    size = np.where(may == UNLIMITED, table.total, may) / np.maximum(table.total, 1)
    rows = zip(
        range(len(may)), session.shares[queue].tolist(), table.quota[queue].tolist(), may.tolist(), whole.tolist(),
        table.grain.astype(np.float64).tolist(), size.tolist(), strict=True,
    )  # fmt: skip
    columns = tuple(row for row, counts in zip(rows, listed.tolist(), strict=True) if counts)
    return _Terms(int(table.priority[queue]), columns)
