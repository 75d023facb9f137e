"""Fairness: of sibling queues, the one that is furthest from what it is entitled to goes first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.plugin import Heads, Plugin
from phalanx.engine.session import Session
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

    def queue_key(self, session: Session, queues: Int, heads: Heads) -> Sequence[Int | Float | Bool]:
        """Return the columns in the order in which they decide."""
        table = session.snapshot.queues
        has = session.columns["queue_allocated"][queues]
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
