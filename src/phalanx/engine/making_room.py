"""Making room: which victims let a waiting unit start, and no more of them than that.

Victims come in an order of which every front part is legal. The shortest front part that makes enough room is found by
doubling and then halving its length; then everybody is kept back who is not needed for the places that were found.
So the number of placements that are tried grows with the logarithm of the number of victims.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from phalanx.engine.placing import forbidden, place
from phalanx.engine.policy import Policy
from phalanx.engine.session import SLACK, Kept, Session
from phalanx.engine.units import Unit
from phalanx.engine.victims import VictimUnits
from phalanx.model.axis import Int


@dataclass(slots=True)
class Steps:
    """How much a search may still do. A step is one victim looked at or one placement tried, whatever the machine."""

    left: int
    stopped: bool = False

    def take(self, count: int = 1) -> bool:
        """Take a step, or so many; tell whether there were as many left."""
        self.left -= count
        self.stopped = self.stopped or self.left < 0
        return not self.stopped


@dataclass(frozen=True, slots=True)
class Room:
    """Who leaves, and where the unit goes then."""

    victims: list[int]
    places: list[Kept]
    #: The front part of the line with which the places were found: the victims, and who could be kept back.
    front: list[int]


def make_room(
    session: Session, policy: Policy, unit: Unit, units: VictimUnits, line: Iterator[int], steps: Steps
) -> Room | None:
    """Find victims along the line and places for the unit; leave no trace."""
    start = session.checkpoint()
    front: list[int] = []
    short, length, more = 0, 1, True
    places: list[Kept] | None = None
    while more:
        while len(front) < length and (more := (found := next(line, None)) is not None and steps.take()):
            assert found is not None
            session.evict(units.tasks(found))
            front.append(found)
        if len(front) > short and steps.take() and (places := tried(session, policy, unit)) is not None:
            break
        short, length = len(front), 2 * length
    else:
        session.rollback(start)
        return None
    enough = len(front)
    while enough - short > 1 and steps.take():
        middle = (short + enough) // 2
        session.rollback(start)
        session.evict(tasks_of(units, front[:middle]))
        found_there = tried(session, policy, unit)
        if found_there is None:
            short = middle
        else:
            enough, places = middle, found_there
    session.rollback(start)
    assert places is not None, "the loop above ends with places or not here"
    front = front[:enough]
    room = Room(needed(session, units, front, places), places, front)
    room = _spare_more(session, policy, unit, units, room, steps)
    return Room(_with_bounds(session, policy, unit, units, front, room.victims), room.places, front)


def carry_out(session: Session, unit: Unit, room: Room, units: VictimUnits, action: str, why: str) -> None:
    """Evict, and keep the places."""
    session.evict_for(tasks_of(units, sorted(room.victims)), action, unit.gang, why)
    session.release_nominations(unit.gang)
    session.ahead = True
    for kept in room.places:
        session.take(int(session.snapshot.tasks.shape[kept.tasks[0]]), kept.tasks, kept.nodes)
    session.ahead = False


def tried(session: Session, policy: Policy, unit: Unit) -> list[Kept] | None:
    """Return where the unit would go once all that leaves has left, or None; leave no trace."""
    start = session.checkpoint()
    # First: what is promised to the unit itself must not count against it.
    session.release_nominations(unit.gang)
    if forbidden(session, policy, unit):
        session.rollback(start)
        return None
    noted = len(session.log)
    session.ahead = session.curt = True
    taken = place(session, policy, unit)
    session.ahead = session.curt = False
    found = [entry for entry in session.log[noted:] if isinstance(entry, Kept)] if taken.reason is None else None
    session.rollback(start)
    return found


def _spare_more(session: Session, policy: Policy, unit: Unit, units: VictimUnits, room: Room, steps: Steps) -> Room:
    """Return room with fewer victims, if other places need fewer: half of them at a time, then half of that."""
    if len(room.victims) < 2 or not _more_than_enough(session, unit, units, room.victims):
        return room
    start = session.checkpoint()
    # Whoever would be last to go is kept back first.
    groups = [room.victims[::-1]]
    while groups:
        group = groups.pop(0)
        leaving = {int(units.gang[victim]) for victim in room.victims if units.core[victim] and victim not in group}
        back = {victim for victim in group if int(units.gang[victim]) not in leaving}
        fewer = [victim for victim in room.victims if victim not in back]
        if back and len(fewer) < len(room.victims) and steps.take():
            session.evict(tasks_of(units, fewer))
            places = tried(session, policy, unit)
            session.rollback(start)
            if places is not None:
                room = Room(needed(session, units, fewer, places), places, room.front)
                continue
        if len(group) > 1:
            groups[:0] = [group[: len(group) // 2], group[len(group) // 2 :]]
    return room


def _more_than_enough(session: Session, unit: Unit, units: VictimUnits, victims: list[int]) -> bool:
    """Tell whether the smallest victim could stay if only the amounts on all nodes together counted."""
    snapshot, tasks = session.snapshot, tasks_of(units, victims)
    ask = snapshot.requests[snapshot.tasks.shape[unit.tasks]].sum(axis=0)
    session.ahead = True
    there = [int(np.maximum(session.spare(column), 0).sum()) for column in range(len(ask))]
    session.ahead = False
    given = snapshot.running.requests[tasks].sum(axis=0)
    least = np.min(
        [snapshot.running.requests[units.tasks(victim)].sum(axis=0) for victim in victims], axis=0, initial=2**62
    )
    return bool((there + given - least >= ask)[ask > 0].all())


def _with_bounds(
    session: Session, policy: Policy, unit: Unit, units: VictimUnits, front: list[int], chosen: list[int]
) -> list[int]:
    """Return the chosen victims with as many more as it takes to come below the bounds of the queues again."""
    start = session.checkpoint()
    others = [victim for victim in front if victim not in set(chosen)]
    if not others:
        return chosen
    session.release_nominations(unit.gang)
    session.evict(tasks_of(units, chosen))
    while others and forbidden(session, policy, unit):
        chosen = [*chosen, others.pop(0)]
        session.evict(units.tasks(chosen[-1]))
    session.rollback(start)
    return chosen


def needed(session: Session, units: VictimUnits, victims: list[int], places: list[Kept]) -> list[int]:
    """Return the victims without whom the places would not be there; who would be last to go is kept back first."""
    running = session.snapshot.running
    # What the places still lack without any victim, and then with those that are not kept back.
    lack, worth = _lack(session, places)
    wanted = np.zeros(len(lack), np.bool_)
    for kept in places:
        wanted[kept.nodes] = True
    gives = np.zeros_like(lack)
    everybody = tasks_of(units, victims)
    np.add.at(gives, running.node[everybody], worth[everybody])
    needed: list[int] = []
    leaving: set[int] = set()
    # A loop over the victims, who are few; each costs a look at its own nodes, never a placement.
    for victim in reversed(victims):
        tasks = units.tasks(victim)
        here = tasks[wanted[running.node[tasks]]]
        gang = int(units.gang[victim])
        if gang not in leaving:
            nodes = np.unique(running.node[here])
            less = gives[nodes].copy()
            np.add.at(less, np.searchsorted(nodes, running.node[here]), -worth[here])
            if (less >= np.minimum(lack[nodes], gives[nodes])).all():
                gives[nodes] = less
                continue
        needed.append(victim)
        if units.core[victim]:
            # Without its minimum nothing of a gang may stay.
            leaving.add(gang)
    return needed[::-1]


def _lack(session: Session, places: list[Kept]) -> tuple[Int, Int]:
    """Return [node, resource] what is not there for these places, and [running task, resource] what each would add.

    Beside a place that is kept for somebody else it is asked twice: now, and when that place is needed.
    """
    running, snapshot = session.snapshot.running, session.snapshot
    asked = np.zeros_like(session.columns["free"])
    for kept in places:
        np.add.at(asked, kept.nodes, snapshot.requests[snapshot.tasks.shape[kept.tasks]])
    lack = asked - (session.columns["free"] + session.columns["releasing"] - session.columns["held"])
    if session.hold is None or session.brief:
        return lack, running.requests
    lasting = running.requests * session.hold.lasting[:, None]
    return np.hstack([lack, asked - session.columns[SLACK]]), np.hstack([running.requests, lasting])


def tasks_of(units: VictimUnits, chosen: list[int]) -> Int:
    """Return the rows of all these units."""
    return np.concatenate([np.zeros(0, np.int64), *(units.tasks(unit) for unit in chosen)])
