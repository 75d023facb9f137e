"""Subset search: where few candidates could leave, every set is tried: which are evicted, which are moved.

It comes last, when no line of candidates made room: along a line the least important go, here the fewest tasks.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from phalanx.engine.eviction.candidates import Candidates
from phalanx.engine.eviction.prefix import Room, carry_out
from phalanx.engine.eviction.relocation import relocate, within_limits
from phalanx.engine.eviction.search_budget import SearchBudget
from phalanx.engine.eviction.subsets import SubsetTable
from phalanx.engine.placement.place import places_later
from phalanx.engine.placement.settle import settle, together
from phalanx.engine.policy import Policy
from phalanx.engine.session.entries import Promised
from phalanx.engine.session.request import When
from phalanx.engine.session.session import Session
from phalanx.model.axis import Bool, Int

#: Sets that are tried for one unit, once they are known to be legal and to free enough.
TRIALS = 256
#: So many looks at a node cost as much as one placement that is tried.
LOOKS_OF_A_STEP = 25

#: Tells whether these may be evicted: a mask over the candidates of the table.
Legal: TypeAlias = Callable[[Bool], bool]


@dataclass(frozen=True, slots=True)
class SubsetSearch:
    """The ways to make room for one unit."""

    session: Session
    policy: Policy
    candidates: Candidates
    table: SubsetTable
    budget: SearchBudget
    action: str
    why: str
    trials: SearchBudget = field(default_factory=lambda: SearchBudget(TRIALS))

    def by_eviction(self, legal: Legal) -> bool:
        """Evict a set that is legal and makes room."""
        if self._nobody_leaves():
            return True
        sets = self.table.sets[1:]
        for leaving in sets[self.table.enough(sets, np.zeros_like(sets))]:
            if legal(leaving):
                if not self._another():
                    return False
                if self._evicted(leaving):
                    return True
        return False

    def by_moving(self, movable: Bool, legal: Legal | None, most: int) -> bool:
        """Move at most so many tasks, and evict as few as possible; without `legal` nobody is evicted."""
        if self._nobody_leaves():
            return True
        sets = self.table.sets if legal is not None else self.table.sets[:1]
        # Where moving all others is no help, moving some of them is none: they could have stayed.
        others = ~sets & movable
        fine = self.table.enough(sets | others, others)
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
        sets = self.table.sets
        sets = sets[(sets >= taken).all(axis=1) & (sets <= taken | rest).all(axis=1)]
        moved = sets & ~taken
        counts = moved @ self.candidates.count[self.table.chosen]
        fine = self.table.enough(sets, moved) & (counts > 0) & (counts <= most)
        for leaving, some in zip(sets[fine], moved[fine], strict=True):
            if not self._another():
                return False
            nodes = self._packed(leaving, some)
            if nodes is not None and self._moved(leaving, some, nodes):
                return True
        return False

    def _nobody_leaves(self) -> bool:
        """Find places that are free already for tasks of several kinds, which were in each other's way."""
        nobody = np.zeros(len(self.table.chosen), np.bool_)
        if np.count_nonzero(self.table.wants) < 2 or not self.table.enough(nobody[None], nobody[None]).all():
            return False
        nodes = self._packed(nobody, nobody) if self._another() else None
        return nodes is not None and self._moved(nobody, nobody, nodes)

    def _packed(self, leaving: Bool, moved: Bool) -> dict[int, Int] | None:
        """Pack, and let the search pay for every look."""
        found, looks = self.table.packed(leaving, moved)
        self.budget.take(looks // LOOKS_OF_A_STEP)
        return found

    def _another(self) -> bool:
        return self.trials.take() and self.budget.take()

    def _evicted(self, leaving: Bool) -> bool:
        session, unit, victims = self.session, self.table.unit, self._victims(leaving)
        start = session.checkpoint()
        session.evict(self.candidates.tasks_of(victims))
        places = places_later(session, self.policy, unit)
        session.rollback(start)
        if places is None and np.count_nonzero(self.table.wants) > 1:
            # Tasks of several kinds were in each other's way, perhaps.
            nobody = np.zeros_like(leaving)
            nodes = self._packed(leaving, nobody)
            return nodes is not None and self._moved(leaving, nobody, nodes)
        if places is not None:
            self._carry_out(victims, places)
        return places is not None

    def _moved(self, leaving: Bool, moved: Bool, nodes: dict[int, Int]) -> bool:
        """Let them leave and put every task where it was packed, if every plugin agrees."""
        session, unit, victims = self.session, self.table.unit, self._victims(leaving)
        tasks = self.candidates.tasks_of(self._victims(moved))
        residents, shapes = session.residents, session.snapshot.tasks.shape[unit.tasks]
        places = [Promised(unit.tasks[shapes == shape], where) for shape, where in self._split(nodes, shapes)]
        known = dict(self._split(nodes, residents.shape[tasks]))
        start = session.checkpoint()
        session.evict(self.candidates.tasks_of(victims))
        fine = settle(session, self.policy, unit, together(places), When.LATER)
        session.rollback(start)
        if fine:
            self._carry_out(victims, places)
            if relocate(session, self.policy, tasks, known) and within_limits(session, unit):
                return True
        session.rollback(start)
        return False

    def _carry_out(self, victims: list[int], places: list[Promised]) -> None:
        room = Room(victims, places, victims)
        carry_out(self.session, self.policy, self.table.unit, room, self.candidates, self.action, self.why)

    def _split(self, nodes: dict[int, Int], shapes: Int) -> Iterator[tuple[int, Int]]:
        """Yield each of these shapes with nodes of its kind, which are used up."""
        each, counts = np.unique(shapes, return_counts=True)
        for shape, count in zip(each.tolist(), counts.tolist(), strict=True):
            kind = self.table.kind_of[shape]
            yield shape, nodes[kind][:count]
            nodes[kind] = nodes[kind][count:]

    def _victims(self, mask: Bool) -> list[int]:
        victims: list[int] = self.table.chosen[mask].tolist()
        return victims
