"""Prefix: the shortest front part of a line of candidates that makes room for a waiting unit, and no more than that.

Candidates come in an order of which every front part is legal. The shortest front part that makes enough room is found
by doubling and then halving its length; then every candidate is spared that the places that were found do not need.
So the number of placements that are tried grows with the logarithm of the number of candidates.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from phalanx.engine.eviction.candidates import Candidates
from phalanx.engine.eviction.reprieve import reprieve
from phalanx.engine.eviction.search_budget import SearchBudget
from phalanx.engine.placement.find import request_of
from phalanx.engine.placement.place import objection, places_later
from phalanx.engine.placement.settle import settle, together
from phalanx.engine.policy import Policy
from phalanx.engine.session.entries import Promised
from phalanx.engine.session.request import Request, When
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Unit


@dataclass(frozen=True, slots=True)
class Room:
    """The victims, and the places of the unit once they have left."""

    victims: list[int]
    places: list[Promised]
    #: The front part of the line with which the places were found: the victims, and candidates that could be spared.
    front: list[int]


def make_room(
    session: Session, policy: Policy, unit: Unit, candidates: Candidates, line: Iterator[int], budget: SearchBudget
) -> Room | None:
    """Find victims along the line and places for the unit; leave no trace."""
    start = session.checkpoint()
    front: list[int] = []
    short, length, more = 0, 1, True
    places: list[Promised] | None = None
    while more:
        while len(front) < length and (more := (found := next(line, None)) is not None and budget.take()):
            assert found is not None
            session.evict(candidates.tasks(found))
            front.append(found)
        if len(front) > short and budget.take() and (places := places_later(session, policy, unit)) is not None:
            break
        short, length = len(front), 2 * length
    else:
        session.rollback(start)
        return None
    enough = len(front)
    while enough - short > 1 and budget.take():
        middle = (short + enough) // 2
        session.rollback(start)
        session.evict(candidates.tasks_of(front[:middle]))
        found_there = places_later(session, policy, unit)
        if found_there is None:
            short = middle
        else:
            enough, places = middle, found_there
    session.rollback(start)
    assert places is not None, "the loop above ends with places or not here"
    front = front[:enough]
    room = Room(reprieve(session, policy, unit, candidates, front, places), places, front)
    room = _spare_more(session, policy, unit, candidates, room, budget)
    return Room(_with_bounds(session, policy, unit, candidates, front, room.victims), room.places, front)


def carry_out(
    session: Session, policy: Policy, unit: Unit, room: Room, candidates: Candidates, action: str, why: str
) -> None:
    """Evict, and promise the places; where only promises were taken over and the places are free, bind at once."""
    leaving = candidates.tasks_of(sorted(room.victims))
    session.evict_for(leaving, action, unit.gang, why)
    only_promises = len(leaving) and (leaving >= session.residents.running).all()
    if only_promises and settle(session, policy, unit, together(room.places), When.NOW):
        return
    # A loop over the shapes of one unit.
    for promised in room.places:
        shape = int(session.snapshot.tasks.shape[promised.tasks[0]])
        session.take(
            request_of(session, unit.gang, shape, len(promised.nodes), When.LATER), promised.tasks, promised.nodes
        )


def _spare_more(
    session: Session, policy: Policy, unit: Unit, candidates: Candidates, room: Room, budget: SearchBudget
) -> Room:
    """Return room with fewer victims, if other places need fewer: half of them at a time, then half of that."""
    if len(room.victims) < 2 or not _more_than_enough(session, unit, candidates, room.victims):
        return room
    start = session.checkpoint()
    # Candidates that would leave last are spared first.
    groups = [room.victims[::-1]]
    while groups:
        group = groups.pop(0)
        leaving = {int(candidates.gang[one]) for one in room.victims if candidates.is_minimum[one] and one not in group}
        back = {one for one in group if int(candidates.gang[one]) not in leaving}
        fewer = [one for one in room.victims if one not in back]
        if back and len(fewer) < len(room.victims) and budget.take():
            session.evict(candidates.tasks_of(fewer))
            places = places_later(session, policy, unit)
            session.rollback(start)
            if places is not None:
                room = Room(reprieve(session, policy, unit, candidates, fewer, places), places, room.front)
                continue
        if len(group) > 1:
            groups[:0] = [group[: len(group) // 2], group[len(group) // 2 :]]
    return room


def _more_than_enough(session: Session, unit: Unit, candidates: Candidates, victims: list[int]) -> bool:
    """Tell whether the smallest victim could stay if only the amounts on all nodes together counted."""
    snapshot, table = session.snapshot, session.residents
    ask = snapshot.requests[snapshot.tasks.shape[unit.tasks]].sum(axis=0)
    request = Request(int(snapshot.tasks.shape[unit.tasks[0]]), gang=unit.gang, when=When.LATER)
    there = np.maximum(session.spare_amounts(request), 0).sum(axis=0)
    requests = snapshot.requests[table.shape[candidates.tasks_of(victims)]]
    counts = candidates.count[victims]
    each = np.add.reduceat(requests, np.cumsum(counts) - counts, axis=0)
    return bool((there + each.sum(axis=0) - each.min(axis=0) >= ask)[ask > 0].all())


def _with_bounds(
    session: Session, policy: Policy, unit: Unit, candidates: Candidates, front: list[int], chosen: list[int]
) -> list[int]:
    """Return the chosen victims with as many more as it takes to come below the bounds of the queues again."""
    start = session.checkpoint()
    taken = set(chosen)
    others = [one for one in front if one not in taken]
    if not others:
        return chosen
    session.drop_promise(unit.tasks)
    session.evict(candidates.tasks_of(chosen))
    while others and objection(session, policy, unit) is not None:
        chosen = [*chosen, others.pop(0)]
        session.evict(candidates.tasks(chosen[-1]))
    session.rollback(start)
    return chosen
