"""Place: where the tasks of a unit go, given every filter and score of the policy."""

import numpy as np

from phalanx.engine.placement.copies import copies
from phalanx.engine.placement.find import NO_TASKS, find, fit, request_of
from phalanx.engine.placement.together import place_parts
from phalanx.engine.placement.wishes import parts_of
from phalanx.engine.plugin import UNLIMITED
from phalanx.engine.policy import Policy
from phalanx.engine.session.entries import Promised
from phalanx.engine.session.request import Request, When
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Lack, Taken, Unit
from phalanx.model.axis import Int
from phalanx.model.plan import Reason

#: Ranking shapes by room asks all of them after each placement; a gang with more kinds of tasks is taken as it comes.
RANKED_MAX = 8


def place(session: Session, policy: Policy, unit: Unit, when: When = When.NOW) -> Taken:
    """Place the tasks of a unit: a whole one entirely or not at all, another task by task as far as it goes."""
    part = parts_of(session, policy, unit)
    if part is not None and len(unit.tasks):
        return place_parts(session, policy, unit, part, when)
    return _place_whole(session, policy, unit, when) if unit.whole else _place_singly(session, policy, unit, when)


def objection(session: Session, policy: Policy, unit: Unit, taken: Taken | None = None) -> Reason | None:
    """Return the first veto's word against a unit: against even trying, or against what was found for it."""
    return next(filter(None, (veto.check(session, unit, taken) for veto in policy.vetoes)), None)


def places_later(session: Session, policy: Policy, unit: Unit) -> list[Promised] | None:
    """Return where the unit would go once every leaving task has left, or None; leave no trace."""
    start = session.checkpoint()
    found = None
    # Its promise is charged to its queue already, and must not count twice against a bound.
    session.drop_promise(unit.tasks)
    if objection(session, policy, unit) is None:
        noted = len(session.log)
        taken = place(session, policy, unit, When.LATER)
        if taken.lack is None and objection(session, policy, unit, taken) is None:
            found = [entry for entry in session.log[noted:] if isinstance(entry, Promised)]
    session.rollback(start)
    return found


def _place_whole(session: Session, policy: Policy, unit: Unit, when: When) -> Taken:
    """Place all or nothing. Different shapes go one after the other, the one with the least room first.

    What fits almost nowhere must not find its few places taken by what fits anywhere. This is a heuristic: a gang of
    several shapes may wait although some assignment exists. A gang of equal tasks is placed whenever one does.
    """
    shapes = session.snapshot.tasks.shape[unit.tasks]
    tasks, nodes = [NO_TASKS], [NO_TASKS]
    start = session.checkpoint()
    left = _distinct(shapes)
    while left:
        shape = left.pop(_hardest(session, policy, unit.gang, left, when))
        mine = unit.tasks[shapes == shape]
        request = request_of(session, unit.gang, shape, len(mine), when)
        found = _find_all(session, policy, request)
        if len(found) < len(mine):
            session.rollback(start)
            lack = Lack(
                shape, len(unit.tasks), len(found) + sum(map(len, tasks)), len(mine), _too_much(session, shapes)
            )
            return Taken(NO_TASKS, NO_TASKS, lack)
        session.take(request, mine, found)
        tasks.append(mine)
        nodes.append(found)
    return Taken(np.concatenate(tasks), np.concatenate(nodes))


def _place_singly(session: Session, policy: Policy, unit: Unit, when: When) -> Taken:
    """Place what fits, in the order of the tasks; neighbours of one shape at once."""
    shapes = session.snapshot.tasks.shape[unit.tasks]
    tasks, nodes, lack = [NO_TASKS], [NO_TASKS], None
    for mine in np.split(unit.tasks, np.flatnonzero(np.diff(shapes)) + 1):
        request = request_of(session, unit.gang, int(session.snapshot.tasks.shape[mine[0]]), len(mine), when)
        found = find(session, policy, request)
        if len(found):
            session.take(request, mine[: len(found)], found)
            tasks.append(mine[: len(found)])
            nodes.append(found)
        if len(found) < len(mine) and lack is None:
            lack = Lack(request.shape, 1, 0, 1)
    return Taken(np.concatenate(tasks), np.concatenate(nodes), lack)


def _distinct(shapes: Int) -> list[int]:
    """Return the distinct shapes by first task, never by number (see `GangRows`)."""
    if (shapes == shapes[:1]).all():
        return [int(shape) for shape in shapes[:1]]
    kinds, first = np.unique(shapes, return_index=True)
    ordered: list[int] = kinds[np.argsort(first)].tolist()
    return ordered


def _hardest(session: Session, policy: Policy, gang: int, shapes: list[int], when: When) -> int:
    """Return the position of the shape with the least room now; beyond a few shapes, the first.

    What has no room may get some from the others: it wants to be near them.
    """
    if len(shapes) == 1 or len(shapes) > RANKED_MAX:
        return 0
    rooms = (copies(session, policy, request_of(session, gang, shape, 1, when)) for shape in shapes)
    totals = np.array([int(np.minimum(room, len(shapes)).sum()) for room in rooms])
    return int(np.argmin(np.where((totals > 0) | (not policy.reaching), totals, UNLIMITED)))


def _find_all(session: Session, policy: Policy, request: Request) -> Int:
    """Find all or, without searching, show how many would fit."""
    if policy.by_count and request.count > 1:
        there = int(np.minimum(copies(session, policy, request), request.count).sum())
        if there < request.count:
            return np.full(fit(session, policy, request), -1)
    return find(session, policy, request)


def _too_much(session: Session, shapes: Int) -> bool:
    """Tell whether tasks ask for more than the whole cluster has."""
    # As floats: exact up to 2^53 in all, and beyond that these sums must not wrap.
    asked = session.snapshot.requests[shapes].sum(axis=0, dtype=np.float64)
    return bool((asked > session.snapshot.nodes.allocatable.sum(axis=0, dtype=np.float64)).any())
