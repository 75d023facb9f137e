"""Holding: a place and a time for a gang that waits, worked out from when running work is expected to end."""

import numpy as np

from phalanx.engine.making_room import tried
from phalanx.engine.policy import Policy
from phalanx.engine.session import SLACK, Hold, Kept, Session, Waiting
from phalanx.engine.units import Unit, Units
from phalanx.model.axis import Bool, Float, Int
from phalanx.model.queue import UNLIMITED


def hold_for(session: Session, policy: Policy, unit: Unit) -> Hold | None:
    """Keep the place where a unit can start first, or none where no expected end makes room for it.

    From then on `Session.spare` keeps it: whoever will not be gone by then gets only what is left beside it.
    """
    ends = session.once("ends", lambda: _ends(session), static=True)
    known = np.flatnonzero(np.isfinite(ends) & (session.columns["evicted"] == 0))
    if not len(known):
        return None
    moments = np.unique(ends[known])
    start = session.checkpoint()
    low, high, places = 0, len(moments), None
    # The more has ended the more fits: halving finds the first moment.
    while low < high:
        middle = (low + high) // 2
        session.evict(known[ends[known] <= moments[middle]])
        found = tried(session, policy, unit)
        session.rollback(start)
        if found is None:
            low = middle + 1
        else:
            high, places = middle, found
    if places is None:
        return None
    hold = Hold(unit.gang, float(moments[high]), ends > moments[high])
    _keep(session, known[ends[known] <= hold.start], places)
    _tell(session, hold, len(unit.tasks))
    return hold


def turn_to(session: Session, gang: int) -> None:
    """From here on the gang under way is this one: how its queue wants its nodes, and whether it may use any gap."""
    queue = int(session.snapshot.gangs.queue[gang])
    session.placement = session.snapshot.queues.placement[queue] if queue >= 0 else None
    session.brief = is_brief(session, gang)


def is_brief(session: Session, gang: int) -> bool:
    """Tell whether a gang that starts now is expected to be gone when the place that is kept is needed, or gets it."""
    if session.hold is None or session.hold.gang == gang:
        return session.hold is not None
    runtime = session.snapshot.gangs.gangs[gang].expected_runtime
    return runtime is not None and session.snapshot.now + runtime <= session.hold.start


def alike(session: Session, units: Units, plain: Bool, *more: Int) -> Int:
    """Return a number per unit: equal numbers ask for equally many tasks of one shape, for one queue and as long.

    Units with a word of their own (not plain, a hold, several shapes) get -1. `more`: what else must be equal.
    """
    numbers = np.full(len(units), -1)
    plain = plain & (units.count > 0)
    plain[list(units.holds)] = False
    rows = np.flatnonzero(plain)
    if not len(rows):
        return numbers
    shape = session.snapshot.tasks.shape[units.rows]
    first, count = units.first[rows], units.count[rows]
    # Rows of a unit lie together: the least and the greatest shape between its first and last row.
    ends = np.stack([first, first + count], axis=1).ravel()
    padded = np.append(shape, shape[-1:])
    least, greatest = (np.asarray(way.reduceat(padded, ends)[::2]) for way in (np.minimum, np.maximum))
    gangs, gang = session.snapshot.gangs, units.gang[rows]
    brief = np.array([is_brief(session, one) for one in gang.tolist()]) if session.hold else units.growth[rows]
    kind = least
    # Kinds are numbered one column after the other, so that no product of them can wrap.
    others = (column[rows] for column in more)
    for column in (count, gangs.queue[gang], gangs.preemptible[gang], units.growth[rows], brief, *others):
        _, values = np.unique(column, return_inverse=True)
        _, kind = np.unique(kind * (int(values.max(initial=0)) + 1) + values, return_inverse=True)
    numbers[rows] = np.where(least == greatest, kind, -1)
    return numbers


def _ends(session: Session) -> Float:
    """Return when each running task is expected to end; infinity where nobody said so. Overdue work ends any moment."""
    running = session.snapshot.running
    # A loop over the gangs that run, once a cycle.
    runtimes = [np.inf if gang.expected_runtime is None else gang.expected_runtime for gang in running.gangs]
    ends: Float = np.maximum(running.started + np.array(runtimes), session.snapshot.now)
    return ends[running.gang]


def _keep(session: Session, gone: Int, places: list[Kept]) -> None:
    """Note what is left beside the kept place when it is needed; on other nodes there is no bound."""
    running, snapshot = session.snapshot.running, session.snapshot
    later = session.columns["free"] + session.columns["releasing"] - session.columns["held"]
    np.add.at(later, running.node[gone], running.requests[gone])
    nodes = np.unique(np.concatenate([kept.nodes for kept in places]))
    for kept in places:
        np.add.at(later, kept.nodes, -snapshot.requests[snapshot.tasks.shape[kept.tasks]])
    session.columns[SLACK] = np.full(later.shape, UNLIMITED, order="F")
    session.write(SLACK, nodes, later[nodes])


def _tell(session: Session, hold: Hold, size: int) -> None:
    """Add to the reason of the gang when it will start."""
    minutes = (hold.start - session.snapshot.now) / 60
    kept = "a place is" if size == 1 else f"{size} places are"
    more = f"{kept} kept for it, and it starts in {minutes:.0f} min if all ends as expected"
    for position, entry in enumerate(session.log):
        if isinstance(entry, Waiting) and entry.gang == hold.gang:
            session.log[position] = Waiting(entry.gang, entry.reason.adding(more))
