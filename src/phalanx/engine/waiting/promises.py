"""Promises: places that are kept for waiting units. What no longer serves is given up at once, in the plan."""

import numpy as np

from phalanx.engine.placement.copies import copies, fits_there
from phalanx.engine.placement.find import request_of
from phalanx.engine.placement.place import objection
from phalanx.engine.placement.settle import settle
from phalanx.engine.placement.wishes import broken, parts_of
from phalanx.engine.policy import Policy
from phalanx.engine.session.entries import Promised
from phalanx.engine.session.request import Request, When
from phalanx.engine.session.rows import distinct
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Taken, Unit, Units
from phalanx.engine.waiting.order import all_of, none_of, tasks_of, waiting_units
from phalanx.model.axis import Bool, Int
from phalanx.model.plan import Code, Reason
from phalanx.model.snapshot import NOMINATION_DEADLINE


def release_invalid(session: Session, policy: Policy) -> None:
    """Give up the promises that no longer serve: their gangs are placed, or have room made for them, anew."""
    if not session.promising:
        return
    snapshot, tasks = session.snapshot, session.snapshot.tasks
    promised = np.flatnonzero(session.promise >= 0)
    doubtful = _without_room(session, policy, promised) | _beyond_limit(session, promised)
    gangs = set(tasks.gang[promised[doubtful]].tolist())
    if policy.judges_singly:
        gangs = set(tasks.gang[promised].tolist())
    gangs.update(gang for gang in tasks.gang[promised].tolist() if snapshot.gangs.gangs[gang].forfeits)
    # Nodes may have been relabelled since.
    gangs.update(tasks.gang[promised[snapshot.gangs.wishes[tasks.gang[promised]]]].tolist())
    # A loop over the gangs in doubt, the least important first: what it gives up may serve the next.
    for gang in sorted(gangs, key=lambda row: (snapshot.gangs.priority[row], -snapshot.gangs.created[row], row)):
        why = _why_not(session, policy, gang)
        if why is not None:
            session.release(session.promised_tasks(gang), why)


def _without_room(session: Session, policy: Policy, promised: Int) -> Bool:
    """Return [promise]: whether its node has no room for all that is promised, once every leaving task left."""
    shapes, nodes = session.snapshot.tasks.shape[promised], session.promise[promised]
    short = np.zeros(len(promised), np.bool_)
    # A loop over the shapes of those who have a promise; all of one shape are judged at once.
    for shape in distinct(shapes).tolist():
        mine = np.flatnonzero(shapes == shape)
        start = session.checkpoint()
        session.drop_promise(promised[mine])
        room = copies(session, policy, Request(shape, when=When.LATER))
        session.rollback(start)
        asked = np.bincount(nodes[mine], minlength=len(room))
        short[mine] = (room < asked)[nodes[mine]]
    return short


def _beyond_limit(session: Session, promised: Int) -> Bool:
    """Return [promise]: whether its queue, or one above it, exceeds its limit with all that is promised."""
    table = session.snapshot.queues
    over = np.asarray((session.queues.allocated > table.limit).any(axis=1))
    beyond = np.zeros(len(over) + 1, np.bool_)
    # A loop over queues, and only where one is beyond its limit.
    for row, path in table.paths.items() if over.any() else ():
        beyond[row] = over[path].any()
    found: Bool = beyond[session.snapshot.gangs.queue[session.snapshot.tasks.gang[promised]]]
    return found


def _why_not(session: Session, policy: Policy, gang: int) -> str | None:
    """Return why the promise of a gang no longer serves; None: it does."""
    snapshot = session.snapshot
    if snapshot.gangs.gangs[gang].forfeits:
        return "room for its gang could not be made"
    mine = session.promised_tasks(gang)
    shapes, nodes = snapshot.tasks.shape[mine], session.promise[mine]
    for shape in distinct(shapes).tolist():
        request = request_of(session, gang, shape, when=When.LATER)
        where = nodes[shapes == shape]
        if not fits_there(session, policy, request, where):
            return _no_room(session, policy, request, where)
    start = session.checkpoint()
    # A loop over the units of one gang: what one of them takes the next has not.
    for unit in _units_of(session, policy, gang):
        places = Taken(unit.tasks, session.promise[unit.tasks])
        if not settle(session, policy, unit, places, When.LATER):
            part = parts_of(session, policy, unit)
            split = None if part is None else broken(session.snapshot.tasks, part, places.tasks, places.nodes)
            session.drop_promise(unit.tasks)
            if split is not None:
                session.rollback(start)
                return split
            reason = objection(session, policy, unit) or objection(session, policy, unit, places)
            session.rollback(start)
            return "there is no room for it any more" if reason is None else str(reason)
    session.rollback(start)
    return None


def _units_of(session: Session, policy: Policy, gang: int) -> list[Unit]:
    """Return the units of a gang all of whose tasks have a promise."""
    units = waiting_units(session, policy)
    found = [units.unit(index) for index in np.flatnonzero((units.gang == gang) & (units.count > 0)).tolist()]
    return [unit for unit in found if (session.promise[unit.tasks] >= 0).all()]


def _no_room(session: Session, policy: Policy, request: Request, nodes: Int) -> str:
    """Name the filter that leaves no room where places are promised."""
    rows, counts = np.unique(nodes, return_counts=True)
    for plugin in policy.filters:
        room = plugin.room(session, request)
        short = rows[:0] if room is None else rows[room[rows] < counts]
        if len(short):
            name = session.snapshot.nodes.names[short[0]]
            refused = plugin.refusals(session, request, short[:1])
            # Where some of the copies fit, no filter refuses the node.
            return f"{name} is {refused[0][1]}" if refused else f"{name} has no room for all of them"
    return "there is no room for it any more"


def complete(session: Session, units: Units) -> Bool:
    """Return the units all of whose tasks have a promise, and no place yet."""
    if not session.promising:
        return np.zeros(len(units), np.bool_)

    def answer() -> Bool:
        found = all_of(units, (session.promise >= 0) & (session.place < 0))
        found[list(units.holds)] = False
        return found

    return session.once(("complete", id(units)), answer)


def not_yet(session: Session, policy: Policy, units: Units) -> Bool:
    """Return the units that wait for the places that are promised to them: they find no others now.

    It saves a search in vain, for each of thousands that wait for others to leave. Nothing becomes free while units
    are placed, so it holds until all had their turn.
    """
    found = complete(session, units)
    if not found.any() or not policy.takes or not policy.by_count:
        return np.zeros(len(units), np.bool_)
    roomy = np.zeros(len(session.snapshot.shapes), np.bool_)
    tasks = session.snapshot.tasks.shape
    promised = session.promise >= 0
    # A loop over the shapes of those who wait so.
    for shape in distinct(tasks[promised]).tolist():
        roomy[shape] = bool(copies(session, policy, Request(shape, beside=False)).any())
    return found & none_of(units, roomy[tasks])


def renew(session: Session, policy: Policy, units: Units) -> None:
    """Let units keep the places that are promised to them: nobody makes room for them elsewhere.

    The places are charged to them already, and so are their queues: it is only noted that they need no other. Growth
    of a gang whose minimum has no place yet is not among them: the minimum may take its place.
    """
    for index in np.flatnonzero(complete(session, units)).tolist():
        mine, gang = units.unit(index).tasks, int(units.gang[index])
        if units.growth[index] and _without_minimum(session, units)[gang]:
            continue
        # The minimum of a gang may have taken the place of its growth.
        if session.served[gang] and units.growth[index] and _why_not(session, policy, gang) is not None:
            why = "the minimum of its gang took the place"
            session.release(mine, why)
            session.wait(units.gang[[index]], [Reason(Code.FULL, why)])
            continue
        session.write(session.place, mine, session.promise[mine])
        session.write(session.served, session.snapshot.tasks.gang[mine[:1]], 1)
        session.log.append(Promised(mine, session.promise[mine]))


def _without_minimum(session: Session, units: Units) -> Bool:
    """Return [gang]: whether its minimum waits without a place."""

    def answer() -> Bool:
        found = np.zeros(len(session.snapshot.gangs), np.bool_)
        found[units.gang[~units.growth & none_of(units, session.place >= 0)]] = True
        return found

    return session.once(("without minimum", id(units)), answer)


def release_unused(session: Session, units: Units) -> None:
    """Give up promises of gangs for which there is no room any more, not even later; and those that nobody takes.

    A gang that is held for a reason of its own (a gate, missing members) keeps its promise until its time is over.
    """
    snapshot, tasks = session.snapshot, session.snapshot.tasks
    if not session.promising and not tasks.lost:
        return
    # Growth never starts before its minimum; what is kept for it may be what the minimum lacks.
    early = complete(session, units) & units.growth & _without_minimum(session, units)[units.gang]
    if early.any():
        session.release(tasks_of(units, np.flatnonzero(early))[0], "the minimum of its gang waits")
    held = {int(units.gang[index]) for index in units.holds}
    late = (session.promise >= 0) & (snapshot.now - tasks.nominated_since >= NOMINATION_DEADLINE)
    late &= ~np.append(snapshot.nodes.leaving.any(axis=1), False)[session.promise]
    left = np.flatnonzero((session.promise >= 0) & ((session.place < 0) | late))
    # A loop over the gangs with promises that were not kept, which are few.
    for gang in dict.fromkeys(tasks.gang[left].tolist()):
        mine = left[tasks.gang[left] == gang]
        reason = session.reasons.get(gang)
        if late[mine].any():
            session.release(mine[late[mine]], "its gang did not start there in time")
        elif reason is not None and reason.code is not Code.ERROR and gang not in held:
            session.release(mine, "there is no room for its gang any more")
    lost = [row for row in tasks.lost if session.place[row] < 0 and int(tasks.gang[row]) in session.reasons]
    if lost:
        session.release(np.array(lost), "the node is not there")
