"""Allocate: give free resources to waiting gangs, in order, disturbing nobody."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from phalanx.engine.explain import explain
from phalanx.engine.placing import find, place
from phalanx.engine.policy import Policy
from phalanx.engine.session import Session
from phalanx.engine.units import Unit, Units, gang_units, task_units
from phalanx.model.axis import Int
from phalanx.model.plan import Reason


@dataclass(frozen=True, slots=True)
class Allocate:
    """Try every unit once. The minimum of a gang is placed whole or not at all."""

    name: ClassVar[str] = "allocate"

    def run(self, session: Session, policy: Policy) -> None:
        """Go through the units in order; equal single tasks in a row are decided at once."""
        units = gang_units(session.snapshot) if policy.groups else task_units(session.snapshot)
        refused: set[int] = set()
        wishes = _wishes(session, policy, units)
        turned_away: dict[int, tuple[int, Reason]] = {}
        for run in _runs(session, policy, units, _in_order(session, policy, units)):
            if len(run) > 1:
                _place_alike(session, policy, units, run)
                continue
            index = int(run[0])
            unit = units.unit(index)
            if unit.gang in refused:
                continue
            version, reason = turned_away.get(wishes[index], (-1, None))
            if version != session.version:
                reason = _place_unit(session, policy, unit)
            if reason is not None:
                session.wait(unit.gang, reason)
                if unit.whole:
                    # Growth of a gang that has not its minimum would split it.
                    refused.add(unit.gang)
                    turned_away[wishes[index]] = (session.version, reason)


def _wishes(session: Session, policy: Policy, units: Units) -> list[int]:
    """Return a number per unit: equal numbers wish for equally many tasks of one shape, all or nothing.

    In a backlog of equal gangs one refusal answers for all, as long as nothing was placed in between. Units with a
    word of their own (a hold, a veto, a nomination, several shapes) get numbers that nobody shares.
    """
    alone = [-2 - index for index in range(len(units))]
    if policy.vetoes or not policy.by_count or not len(units) or bool(session.columns["held"].any()):
        return alone
    shape = session.snapshot.tasks.shape[units.rows]
    wishes = np.array(alone)
    plain = ~units.growth & (units.count > 0)
    plain[list(units.holds)] = False
    first = units.first[plain]
    # Rows of a unit lie together: the least and the greatest shape between its first and last row.
    ends = np.stack([first, first + units.count[plain]], axis=1).ravel()
    padded = np.append(shape, shape[-1:])
    least = np.minimum.reduceat(padded, ends)[::2] if len(first) else first
    greatest = np.maximum.reduceat(padded, ends)[::2] if len(first) else first
    same = least == greatest
    wishes[np.flatnonzero(plain)[same]] = (least * (int(units.count.max()) + 1) + units.count[plain])[same]
    whole: list[int] = wishes.tolist()
    return whole


def _in_order(session: Session, policy: Policy, units: Units) -> Int:
    """Return the units sorted by the order plugins. Growth comes after every minimum of its band."""
    bands = [plugin.gang_key(session, units) for plugin in policy.orders if plugin.band]
    inside = [plugin.gang_key(session, units) for plugin in policy.orders if not plugin.band]
    growth = [units.growth] if policy.groups else []
    # Rows are sorted by key, and lexsort is stable, so equal units keep that order.
    keys = [*bands, *growth, *inside, units.gang]
    return np.lexsort(keys[::-1])


def _runs(session: Session, policy: Policy, units: Units, order: Int) -> Iterator[Int]:
    """Cut the order into units, keeping neighbours together that are one task each of the same shape."""
    alike = units.count == 1
    alike[list(units.holds)] = False
    if policy.groups:
        # Whether a gang grows depends on whether its minimum was placed.
        alike &= session.snapshot.gangs.count[units.gang] == 1
    # A veto speaks of one unit at a time, and so does a reach beyond the node.
    if policy.vetoes or not policy.by_count or bool(session.columns["held"].any()):
        alike[:] = False
    shape = np.full(len(units), -1)
    shape[alike] = session.snapshot.tasks.shape[units.rows[units.first[alike]]]
    joined = alike[order][1:] & alike[order][:-1] & (shape[order][1:] == shape[order][:-1])
    cuts = [0, *(np.flatnonzero(~joined) + 1).tolist(), len(order)]
    yield from (order[start:end] for start, end in pairwise(cuts) if end > start)


def _place_unit(session: Session, policy: Policy, unit: Unit) -> Reason | None:
    """Place one unit, or leave no trace of it. Return why some of it waits."""
    if unit.hold is not None and (unit.whole or not len(unit.tasks)):
        return unit.hold
    for veto in policy.vetoes:
        reason = veto.check(session, unit, None)
        if reason is not None:
            return reason
    start = session.checkpoint()
    session.release_nominations(unit.gang)
    taken = place(session, policy, unit)
    reason = taken.reason if unit.whole else None
    for veto in policy.vetoes:
        reason = reason or veto.check(session, unit, taken)
    if reason is not None:
        session.rollback(start)
        return reason
    session.restore_nominations(unit.gang)
    return taken.reason or unit.hold


def _place_alike(session: Session, policy: Policy, units: Units, run: Int) -> None:
    """Place as many of these equal tasks as fit, in their order; the others wait for the same reason."""
    tasks = units.rows[units.first[run]]
    shape = int(session.snapshot.tasks.shape[tasks[0]])
    nodes = find(session, policy, shape, len(tasks))
    if len(nodes):
        session.take(shape, tasks[: len(nodes)], nodes)
    if len(nodes) < len(tasks):
        reason = explain(session, policy, shape, 1, 0)
        for gang in dict.fromkeys(units.gang[run[len(nodes) :]].tolist()):
            session.wait(gang, reason)
