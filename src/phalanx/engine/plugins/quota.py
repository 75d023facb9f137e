"""Quota: no queue gets more than its limit, and what cannot be preempted stays within its queue's quota."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.plugin import UNLIMITED as ANY
from phalanx.engine.plugin import Plugin
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Taken, Unit, Units
from phalanx.model.axis import Bool, Int
from phalanx.model.plan import Code, Reason
from phalanx.model.quantity import written
from phalanx.model.queue import UNLIMITED


@dataclass(frozen=True, slots=True)
class Quota(Plugin):
    """Bound a queue and all above it. A gang is charged whole, so it is let in whole or not at all."""

    name: ClassVar[str] = "quota"

    def check(self, session: Session, unit: Unit, taken: Taken | None) -> Reason | None:
        """Return which queue is short of what, if one is."""
        queue = int(session.snapshot.gangs.queue[unit.gang])
        if taken is not None or queue < 0 or not len(unit.tasks):
            return None
        snapshot = session.snapshot
        shapes = snapshot.tasks.shape[unit.tasks]
        ask = snapshot.charges[shapes][:, snapshot.queues.columns].sum(axis=0)
        path = snapshot.queues.paths[queue]
        for bound, has, why in _bounds(session, unit.gang, path):
            over = (has + ask > bound) & (ask > 0)
            if over.any():
                row, column = (int(place) for place in np.argwhere(over)[0])
                return _short(session, int(path[row]), column, int(ask[column]), int(has[row, column]), why)
        return None

    def objects(self, session: Session, units: Units, asks: Int) -> Bool:
        """Return which units `check` would refuse now. `asks` is [unit, resource] of the queue table."""
        table, gangs = session.snapshot.queues, session.snapshot.gangs
        fixed = ~gangs.preemptible[units.gang]
        quota = np.where(table.listed, table.quota, UNLIMITED)
        found = np.zeros(len(units), np.bool_)
        rows = gangs.queue[units.gang]
        # A loop over the levels of the tree, from the leaves up.
        while (rows >= 0).any():
            over = session.queues.allocated[rows] + asks > table.limit[rows]
            over |= fixed[:, None] & (session.queues.fixed[rows] + asks > quota[rows])
            found |= (rows >= 0) & (over & (asks > 0)).any(axis=1)
            rows = np.where(rows >= 0, table.parent[rows], -1)
        return found

    def copies(self, session: Session, gang: int, shape: int) -> int:
        """Return how many tasks of this shape fit below every bound of the gang's queue."""
        table = session.snapshot.queues
        queue = int(session.snapshot.gangs.queue[gang])
        ask = session.snapshot.charges[shape, table.columns]
        wanted = np.flatnonzero(ask)
        if queue < 0 or not len(wanted):
            return ANY
        rooms = [
            ((bound - has)[:, wanted] // ask[wanted]).min()
            for bound, has, _ in _bounds(session, gang, table.paths[queue])
        ]
        return int(np.clip(min(rooms), 0, ANY))


def _bounds(session: Session, gang: int, path: Int) -> list[tuple[Int, Int, str]]:
    """Return, for the queues on the path: what bounds them, what counts against it, and its name."""
    table = session.snapshot.queues
    bounds = [(table.limit[path], session.queues.allocated[path], "limit")]
    if not session.snapshot.gangs.preemptible[gang]:
        # A queue that does not list a resource does not check it; one above it may.
        quota = np.where(table.listed[path], table.quota[path], UNLIMITED)
        bounds.append((quota, session.queues.fixed[path], "quota"))
    return bounds


def _short(session: Session, queue: int, column: int, ask: int, has: int, why: str) -> Reason:
    table = session.snapshot.queues
    name = table.resources[column]
    bound = int((table.limit if why == "limit" else table.quota)[queue, column])
    asked, held, most, more = (written(value, name) for value in (ask, has, bound, has + ask - bound))
    spec = table.queues[queue]
    own = spec.terms.get(name)
    if why == "quota":
        has_ = f"has {held} that is not preemptible, of its quota of {most} {name}"
    elif not spec.borrowing and own is not None and own.quota == bound:
        has_ = f"has {held} of its quota of {most} {name} and does not borrow"
    else:
        has_ = f"has {held} of its limit of {most} {name}"
    return Reason(Code.HELD, f"queue {spec.name} {has_}: {asked} asked, {more} too many")
