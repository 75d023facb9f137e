"""Kinds: units that ask for the same. What one of them was refused, all are, as long as the books do not change."""

import numpy as np

from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Units
from phalanx.model.axis import Bool, Int

#: The kind of a unit that is judged alone.
ALONE = -1


def kinds_of(session: Session, units: Units, readings: Int, plain: Bool, *more: Int | Bool) -> Int:
    """Return a number per unit: equal numbers ask for equally many tasks of which filters read the same, for as long.

    Units that are not plain, are held or have several shapes are judged alone, and so are those that must stay with
    members that run. `more`: what else must be equal.
    """
    numbers = np.full(len(units), ALONE)
    plain = plain & (units.count > 0) & ~_alone_by_wish(session, units)
    plain[list(units.holds)] = False
    rows = np.flatnonzero(plain)
    if not len(rows):
        return numbers
    shape = readings[session.snapshot.tasks.shape[units.rows]]
    first, count = units.first[rows], units.count[rows]
    # Rows of a unit lie together: the least and the greatest shape between its first and last row.
    ends = np.stack([first, first + count], axis=1).ravel()
    padded = np.append(shape, shape[-1:])
    least, greatest = (np.asarray(way.reduceat(padded, ends)[::2]) for way in (np.minimum, np.maximum))
    kind = least
    # Kinds are numbered one column after the other, so that no product of them can wrap.
    for column in (count, fills_gap(session, units.gang[rows]), *(column[rows] for column in more)):
        if (column != column[0]).any():
            _, values = np.unique(column, return_inverse=True)
            _, kind = np.unique(kind * (int(values.max()) + 1) + values, return_inverse=True)
    numbers[rows] = np.where(least == greatest, kind, ALONE)
    return numbers


def fills_gap(session: Session, gangs: Int) -> Bool:
    """Return which gangs, started now, are expected to be gone when the reserved place is needed, or get it."""
    reservation = session.reservation
    if reservation is None:
        return np.zeros(len(gangs), np.bool_)
    runtime = session.snapshot.gangs.expected_runtime[gangs]
    found: Bool = (session.snapshot.now + runtime <= reservation.start) | (gangs == reservation.gang)
    return found


def wishes_of(session: Session, units: Units) -> Int:
    """Return [unit]: a number per wish of a whole gang to be in one domain; 0: none."""
    gangs = session.snapshot.gangs
    numbers: dict[object, int] = {}
    of_gang = np.zeros(len(gangs), np.int64)
    # A loop over the gangs with wishes.
    for row in np.flatnonzero(gangs.wishes).tolist():
        gang = gangs.gangs[row]
        wish = (gang.topology_required, gang.topology_preferred, gang.topology, gang.segments, _composed(session, row))
        of_gang[row] = numbers.setdefault(wish, len(numbers) + 1)
    found: Int = of_gang[units.gang]
    return found


def _composed(session: Session, row: int) -> tuple[int, ...]:
    """Return how many tasks wait in each segment of a gang; nothing where it has none."""
    gangs = session.snapshot.gangs
    if gangs.gangs[row].segments is None:
        return ()
    mine = slice(int(gangs.first[row]), int(gangs.first[row] + gangs.count[row]))
    return tuple(np.unique(session.snapshot.tasks.segment[mine], return_counts=True)[1].tolist())


def _alone_by_wish(session: Session, units: Units) -> Bool:
    """Return [unit]: whether its place depends on more than its gang's spec: on wishes, or on what befell its gang."""
    gangs = session.snapshot.gangs
    alone = np.zeros(len(gangs), np.bool_)
    # A loop over the gangs with wishes.
    for row in np.flatnonzero(gangs.wishes).tolist():
        alone[row] = bool(gangs.gangs[row].subgroups) or row in gangs.located
    alone[list(session.fences.singled)] = True
    found: Bool = alone[units.gang] | (gangs.wishes[units.gang] & units.growth)
    return found
