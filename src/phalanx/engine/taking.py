"""Taking: what every action has in common that evicts for somebody who waits.

Nobody is evicted for whom room is being made already: who has a place that will be free keeps it, and who fits into
what others are about to leave waits for that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from phalanx.engine.holding import alike, turn_to
from phalanx.engine.making_room import Steps, tried
from phalanx.engine.policy import Policy
from phalanx.engine.session import Kept, Session, Waiting
from phalanx.engine.units import Unit, Units, gang_units, leading
from phalanx.engine.victims import VictimUnits, victim_units
from phalanx.engine.waiting import take_turns
from phalanx.model.axis import Bool, Int

#: Makes room for one unit, or leaves no trace; tells which.
Attempt: TypeAlias = Callable[[Session, Policy, Unit, VictimUnits, Steps], bool]


@dataclass(frozen=True, slots=True)
class Taking:
    """Goes through the units that still wait, and makes room for them where that is right."""

    session: Session
    policy: Policy
    attempt: Attempt

    def run(self) -> None:
        """Try every unit once, in order."""
        session, policy = self.session, self.policy
        waiting = gang_units(session.snapshot)
        keep_nominated(session, waiting)
        leaving = bool(session.snapshot.nodes.releasing.any())
        homeless = self._homeless(waiting)
        if not homeless.any() or (not len(session.snapshot.running) and not leaving):
            return
        victims = session.once("victims", lambda: victim_units(session.snapshot), static=True)
        steps = Steps(policy.search_steps)
        turns = take_turns(session, policy, waiting, homeless)
        # A plugin may let somebody go for one gang and not for another that is equal to it.
        kinds = alike(session, waiting, homeless & (not policy.victims), waiting.priority)
        #: Where nobody was found for a unit, nobody is found for one that is equal to it.
        failed: dict[int, int] = {}
        untried: set[int] = set()
        while len(line := turns.line()):
            kind = int(kinds[line[0]])
            if kind >= 0 and failed.get(kind) == session.version:
                turns.done(leading(line, partial(_equal, kinds, kind)))
                continue
            unit = waiting.unit(int(line[0]))
            if self._worth_trying(unit):
                turn_to(session, unit.gang)
                # What is free now a minimum found no place in; growth was not tried before its minimum had one.
                hopeful = leaving or not unit.whole
                found = not steps.stopped and (
                    (hopeful and self._in_time(unit)) or self.attempt(session, policy, unit, victims, steps)
                )
                if steps.stopped and not found:
                    untried.add(unit.gang)
                elif not found:
                    failed[kind] = session.version
            turns.done(1)
        self._tell(untried)

    def _in_time(self, unit: Unit) -> bool:
        """Keep places for a unit in what is free or being left anyway, if that is enough; tell whether it was."""
        session, snapshot = self.session, self.session.snapshot
        shapes = snapshot.tasks.shape[unit.tasks]
        later = session.columns["free"] + session.columns["releasing"] - session.columns["held"]
        roomy = (later >= snapshot.requests[np.unique(shapes)].min(axis=0)).all(axis=1)
        if not roomy.any() and not (snapshot.tasks.nominated[unit.tasks] >= 0).any():
            return False
        places = tried(session, self.policy, unit)
        if places is None:
            return False
        session.release_nominations(unit.gang)
        session.ahead = True
        for kept in places:
            session.take(int(snapshot.tasks.shape[kept.tasks[0]]), kept.tasks, kept.nodes)
        session.ahead = False
        return True

    def _tell(self, untried: set[int]) -> None:
        """Add to the reasons of those whose search was cut short that it was."""
        session, text = self.session, f"the search for victims stopped after {self.policy.search_steps} steps"
        for position, entry in enumerate(session.log):
            if isinstance(entry, Waiting) and entry.gang in untried:
                session.log[position] = Waiting(entry.gang, entry.reason.adding(text))
                untried.discard(entry.gang)

    def _homeless(self, waiting: Units) -> Bool:
        """Return the units of which nobody has a place yet."""
        taken = np.append(0, np.cumsum(self.session.place[waiting.rows] >= 0))
        found: Bool = (waiting.count > 0) & (taken[waiting.first + waiting.count] == taken[waiting.first])
        return found

    def _worth_trying(self, unit: Unit) -> bool:
        """A unit that waits, of a gang that has its minimum or gets it now, and of which nobody leaves by this plan."""
        session, gangs = self.session, self.session.snapshot.gangs
        if unit.hold is not None or not len(unit.tasks) or (session.place[unit.tasks] >= 0).any():
            return False
        if not gangs.evicts[unit.gang]:
            return False
        mine = slice(gangs.first[unit.gang], gangs.first[unit.gang] + gangs.count[unit.gang])
        there = int(gangs.running[unit.gang]) + int(np.count_nonzero(session.place[mine] >= 0))
        return not self._leaving(unit.gang) and (unit.whole or there >= int(gangs.minimum[unit.gang]))

    def _leaving(self, gang: int) -> bool:
        """Tell whether somebody of a gang must leave by this plan: what it lacks is another number then."""
        running, session = self.session.snapshot.running, self.session
        rows = session.once(
            "running gangs", lambda: {one.key: row for row, one in enumerate(running.gangs)}, static=True
        )
        row = rows.get(session.snapshot.gangs.gangs[gang].key)
        if row is None:
            return False
        here = slice(running.first[row], running.first[row] + running.count[row])
        return bool(session.columns["evicted"][here].any())


def _equal(kinds: Int, kind: int, part: Int) -> Bool:
    found: Bool = kinds[part] == kind
    return found


def keep_nominated(session: Session, waiting: Units) -> None:
    """Let units keep the places that are nominated to them, as long as all that is promised there will be free.

    The space is charged to them already, and so are their queues: it is only noted that they need no other.
    """
    snapshot, tasks = session.snapshot, session.snapshot.tasks
    if not (tasks.nominated >= 0).any():
        return
    # What is free now was offered to them before: whatever they lack is still leaving.
    later = session.columns["free"] + session.columns["releasing"] - session.columns["held"]
    sound = (later >= 0).all(axis=1) & snapshot.nodes.ready & ~snapshot.nodes.cordoned
    nodes = tasks.nominated[waiting.rows]
    lacking = np.append(
        0, np.cumsum((nodes < 0) | ~np.append(sound, False)[nodes] | (session.place[waiting.rows] >= 0))
    )
    full = (waiting.count > 0) & (lacking[waiting.first + waiting.count] == lacking[waiting.first])
    full &= ~_beyond_limits(session)[snapshot.gangs.queue[waiting.gang]]
    # A loop over the units that wait for a place that is theirs, which are few.
    for index in np.flatnonzero(full).tolist():
        mine = waiting.unit(index).tasks
        session.write("place", mine, tasks.nominated[mine])
        session.write("served", tasks.gang[mine[:1]], np.ones(1, np.int64))
        session.log.append(Kept(mine, tasks.nominated[mine]))


def _beyond_limits(session: Session) -> Bool:
    """Return the queues that, or above which one, would have more than their limit with all that is promised to them.

    One more at the end, for those in none.
    """
    table = session.snapshot.queues
    over = np.asarray((session.columns["queue_allocated"] > table.limit).any(axis=1), np.bool_)
    found = np.zeros(len(over) + 1, np.bool_)
    # A loop over queues, and only where one is beyond its limit.
    for row, path in enumerate(table.paths) if over.any() else ():
        found[row] = over[path].any()
    return found
