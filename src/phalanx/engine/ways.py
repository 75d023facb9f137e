"""Ways: where few could leave, every way to make room is tried: who is taken, who is moved, and where all go.

It comes last, when the lines of victims found nothing: there the least important go, here the fewest tasks.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from phalanx.engine.few import Few
from phalanx.engine.making_room import Room, Steps, carry_out, tasks_of, tried
from phalanx.engine.moving import move, within_limits
from phalanx.engine.placing import fit_there, forbidden
from phalanx.engine.policy import Policy
from phalanx.engine.session import Kept, Session
from phalanx.engine.victims import VictimUnits
from phalanx.model.axis import Bool, Int

#: Sets that are tried for one unit, once they are known to be legal and to free enough.
TRIALS = 256
#: So many looks at a node cost as much as one placement that is tried.
LOOKS_OF_A_STEP = 25

#: Tells whether these may be taken: a mask over the few.
Legal: TypeAlias = Callable[[Bool], bool]


@dataclass(frozen=True, slots=True)
class Ways:
    """The ways to make room for one unit."""

    session: Session
    policy: Policy
    units: VictimUnits
    few: Few
    steps: Steps
    action: str
    why: str
    trials: Steps = field(default_factory=lambda: Steps(TRIALS))

    def by_taking(self, legal: Legal) -> bool:
        """Take a set that is legal and makes room."""
        if self._nobody_leaves():
            return True
        sets = self.few.sets[1:]
        for leaving in sets[self.few.enough(sets, np.zeros_like(sets))]:
            if legal(leaving):
                if not self._another():
                    return False
                if self._taken(leaving):
                    return True
        return False

    def by_moving(self, movable: Bool, legal: Legal | None, most: int) -> bool:
        """Move at most so many tasks, and take as few as that is possible with; without a law nobody is taken."""
        if self._nobody_leaves():
            return True
        sets = self.few.sets if legal is not None else self.few.sets[:1]
        # Where moving all others is no help, moving some of them is none: they could have stayed.
        others = ~sets & movable
        fine = self.few.enough(sets | others, others)
        for taken, rest in zip(sets[fine], others[fine], strict=True):
            if legal is not None and taken.any() and not legal(taken):
                continue
            if not self._another():
                return False
            if self._packed(taken | rest, rest) is not None and self._some_moved(taken, rest, most):
                return True
        return False

    def _some_moved(self, taken: Bool, rest: Bool, most: int) -> bool:
        """Take these and move some of the rest, as few as possible."""
        sets = self.few.sets
        sets = sets[(sets >= taken).all(axis=1) & (sets <= taken | rest).all(axis=1)]
        moved = sets & ~taken
        counts = moved @ self.units.count[self.few.chosen]
        fine = self.few.enough(sets, moved) & (counts > 0) & (counts <= most)
        for leaving, some in zip(sets[fine], moved[fine], strict=True):
            if not self._another():
                return False
            nodes = self._packed(leaving, some)
            if nodes is not None and self._moved(leaving, some, nodes):
                return True
        return False

    def _nobody_leaves(self) -> bool:
        """Find places that are free already for tasks of several kinds, which were in each other's way."""
        nobody = np.zeros(len(self.few.chosen), np.bool_)
        if np.count_nonzero(self.few.wants) < 2 or not self.few.enough(nobody[None], nobody[None]).all():
            return False
        nodes = self._packed(nobody, nobody) if self._another() else None
        return nodes is not None and self._moved(nobody, nobody, nodes)

    def _packed(self, leaving: Bool, moved: Bool) -> dict[int, Int] | None:
        """Pack, and let the search pay for every look."""
        found, looks = self.few.packed(leaving, moved)
        self.steps.take(looks // LOOKS_OF_A_STEP)
        return found

    def _another(self) -> bool:
        return self.trials.take() and self.steps.take()

    def _taken(self, leaving: Bool) -> bool:
        session, unit, victims = self.session, self.few.unit, self._victims(leaving)
        start = session.checkpoint()
        session.evict(tasks_of(self.units, victims))
        places = tried(session, self.policy, unit)
        session.rollback(start)
        if places is None and np.count_nonzero(self.few.wants) > 1:
            # Tasks of several kinds were in each other's way, perhaps.
            nobody = np.zeros_like(leaving)
            nodes = self._packed(leaving, nobody)
            return nodes is not None and self._moved(leaving, nobody, nodes)
        if places is not None:
            carry_out(session, unit, Room(victims, places, victims), self.units, self.action, self.why)
        return places is not None

    def _moved(self, leaving: Bool, moved: Bool, nodes: dict[int, Int]) -> bool:
        """Let them leave and put everybody where he was packed, if every plugin agrees."""
        session, unit, victims = self.session, self.few.unit, self._victims(leaving)
        tasks = tasks_of(self.units, self._victims(moved))
        running, shapes = session.snapshot.running, session.snapshot.tasks.shape[unit.tasks]
        places = [Kept(unit.tasks[shapes == shape], where) for shape, where in self._split(nodes, shapes)]
        known = dict(self._split(nodes, running.shape[tasks]))
        start = session.checkpoint()
        session.evict(tasks_of(self.units, victims))
        fine = self._allowed(places)
        session.rollback(start)
        if fine:
            carry_out(session, unit, Room(victims, places, victims), self.units, self.action, self.why)
            if move(session, self.policy, tasks, known) and within_limits(session, unit):
                return True
        session.rollback(start)
        return False

    def _allowed(self, places: list[Kept]) -> bool:
        """Tell whether the unit may start, and may be in these places."""
        session, unit = self.session, self.few.unit
        session.release_nominations(unit.gang)
        if forbidden(session, self.policy, unit):
            return False
        session.ahead, fine = True, True
        # A loop over the shapes of one unit.
        for kept in places:
            shape = int(session.snapshot.tasks.shape[kept.tasks[0]])
            fine = fine and fit_there(session, self.policy, shape, kept.nodes)
            session.take(shape, kept.tasks, kept.nodes)
        session.ahead = False
        return fine

    def _split(self, nodes: dict[int, Int], shapes: Int) -> Iterator[tuple[int, Int]]:
        """Yield each of these shapes with nodes of its kind, which are used up."""
        each, counts = np.unique(shapes, return_counts=True)
        for shape, count in zip(each.tolist(), counts.tolist(), strict=True):
            kind = self.few.kind_of[shape]
            yield shape, nodes[kind][:count]
            nodes[kind] = nodes[kind][count:]

    def _victims(self, mask: Bool) -> list[int]:
        victims: list[int] = self.few.chosen[mask].tolist()
        return victims
