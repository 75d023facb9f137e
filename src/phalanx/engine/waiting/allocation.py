"""Allocation: one pass over waiting units, in which each is placed in free space or told why not."""

from collections.abc import Callable
from dataclasses import replace
from weakref import WeakMethod

import numpy as np

from phalanx.engine.explain import ceiling, explain
from phalanx.engine.placement.copies import readings
from phalanx.engine.placement.find import find, fit, request_of
from phalanx.engine.placement.place import objection, place
from phalanx.engine.policy import Policy
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Lack, Unit, Units, leading
from phalanx.engine.waiting.kinds import ALONE, kinds_of, wishes_of
from phalanx.engine.waiting.order import asked, none_of, take_turns
from phalanx.engine.waiting.promises import not_yet
from phalanx.engine.waiting.walk import Walk
from phalanx.model.axis import Bool, Int
from phalanx.model.plan import Code, Reason

#: After so many refusals in one state of the books, every kind is looked at: then most of a backlog is passed over.
REFUSALS = 8


class Allocation:
    """Gives free space to units, in order."""

    def __init__(self, session: Session, policy: Policy, units: Units, only: Bool) -> None:
        """Line up these units."""
        self.session, self.policy, self.units = session, policy, units
        #: The first minimum of a gang, since it was last asked, that would fit if others were not there.
        self.blocked: int | None = None
        #: [gang]: its minimum found no place. Growth of one that has not its minimum would split it.
        self._without = np.zeros(len(session.snapshot.gangs), np.bool_)
        # A minimum that has its turn later, since its promise is disputed.
        later = ~units.growth & ~only & none_of(units, session.place >= 0)
        self._without[units.gang[later]] = True
        self._waits_for_place = not_yet(session, policy, units)
        self._kinds = self._kinds_of_units()
        self._noting = [(plugin, plugin.hears_refusal(session, units)) for plugin in policy.noting]
        self._why: dict[tuple[int, int], Reason] = {}
        gangs = session.snapshot.gangs
        # Whether a gang grows depends on whether its minimum was placed, so only what has no growth is decided in bulk.
        single = (gangs.count[units.gang] == 1) | units.growth
        self._bulk = (self._kinds != ALONE) & (units.count == 1) & single & ~gangs.wishes[units.gang]
        # Weakly: in a circle of references the session and all its arrays would stay until Python looks for garbage.
        hopeless = WeakMethod(self._hopeless)
        turns = take_turns(session, policy, units, only)
        self._walk = Walk(session, turns, self._kinds, lambda: _called(hopeless), REFUSALS)

    def run(self) -> None:
        """Decide all of them."""
        while len(line := self.line()):
            self.done(self.decide(line))

    def line(self) -> Int:
        """Return what is left of the line whose turn it is; empty when all had their turn."""
        return self._walk.line()

    def done(self, count: int) -> None:
        """Take so many units off the line whose turn it was."""
        self._walk.done(count)

    def decide(self, line: Int) -> int:
        """Decide the first unit of a line, with those behind it for which that settles it; return how many."""
        index = int(line[0])
        if self._waits_for_place[index]:
            count = leading(line, lambda part: self._waits_for_place[part])
            # Growth with a place lacks nothing; who else of its gang waits says why.
            minimums = line[:count][~self.units.growth[line[:count]]]
            self.tell(minimums, [self._place_not_free(one) for one in minimums.tolist()])
            return count
        count = self._pass_over(line)
        if count:
            return count
        # Whether the next asks for the same is seen at once, and mostly it does not.
        if self._walk.alone and self._bulk[index] and (self._kinds[line[1:2]] == self._kinds[index]).any():
            equal = leading(line, lambda part: self._alike(index, part))
            if equal > 1:
                self._place_alike(line[:equal])
                return equal
        reason = (
            None
            if self._without[self.units.gang[index]]
            else place_unit(self.session, self.policy, self.units.unit(index))
        )
        if reason is None:
            return 1
        if self._kinds[index] == ALONE:
            self.tell(line[:1], [reason])
            return 1
        objects = self._objects()
        # What a veto refuses to one queue it may grant to another.
        self._walk.refuse(index, objects if objects[index] else None)
        return self._pass_over(line)

    def tell(self, indices: Int, reasons: list[Reason]) -> None:
        """Note why units wait, one reason each. Growth of a gang without its minimum says nothing."""
        units = self.units
        gang, growth = units.gang[indices], units.growth[indices]
        fresh = ~self._without[gang]
        self._without[gang[~growth]] = True
        fresh &= ~(growth & self._without[gang])
        minimums = np.flatnonzero(fresh & ~growth)
        for plugin, hears in self._noting:
            for at in minimums[hears[indices[minimums]]].tolist():
                unit = units.unit(int(indices[at]))
                reasons[at] = plugin.refused(self.session, unit, reasons[at], self._ceiling)
        if self.blocked is None:
            full = (int(indices[at]) for at in minimums.tolist() if reasons[at].code is Code.FULL)
            self.blocked = next((index for index in full if not self._promised(index)), None)
        self.session.wait(gang[fresh], [reasons[at] for at in np.flatnonzero(fresh).tolist()])

    def _promised(self, index: int) -> bool:
        """A gang that has a promise needs no reservation elsewhere."""
        return bool(len(self.session.promised_tasks(int(self.units.gang[index]))))

    def _alike(self, index: int, others: Int) -> Bool:
        """Return which units ask for the same as one, for the same queue."""
        gangs, gang = self.session.snapshot.gangs, self.units.gang
        same = (self._kinds[others] == self._kinds[index]) & (self.units.count[others] == 1)
        same &= gangs.queue[gang[others]] == gangs.queue[gang[index]]
        shapes, rows = self.session.snapshot.tasks.shape, self.units.rows[self.units.first]
        same &= shapes[rows[others]] == shapes[rows[index]]
        found: Bool = same & self._bulk[others] & (gangs.preemptible[gang[others]] == gangs.preemptible[gang[index]])
        return found

    def _pass_over(self, line: Int) -> int:
        """Tell the units at the front of a line that are refused, as one of their kind was; return how many."""
        count = self._walk.front(line)
        indices = line[:count][~self._without[self.units.gang[line[:count]]]]
        if not len(indices):
            return count
        gangs, gang = self.session.snapshot.gangs, self.units.gang[indices]
        # A veto that counts refuses for a queue; where there is no room, there is none for any queue.
        side = np.where(self._objects()[indices], 2 * gangs.queue[gang] + gangs.preemptible[gang] + 2, 0)
        both = self._kinds[indices] * (2 * len(self.session.snapshot.queues) + 4) + side
        _, first, at = np.unique(both, return_index=True, return_inverse=True)
        # A loop over the kinds of requests in the backlog, never over units.
        reasons = [self._reason(int(indices[one]), int(both[one])) for one in first.tolist()]
        self.tell(indices, [reasons[one] for one in at.tolist()])
        return count

    def _reason(self, index: int, kind: int) -> Reason:
        key = ("refused", id(self.units), kind)
        return self.session.once(key, lambda: self._explain(self.units.unit(index)))

    def _explain(self, unit: Unit) -> Reason:
        objected = objection(self.session, self.policy, unit)
        if objected is not None:
            return objected
        return explain(self.session, self.policy, unit.gang, self._lack(unit))

    def _lack(self, unit: Unit) -> Lack:
        """Return what a unit of one shape lacks now."""
        if self.session.snapshot.gangs.wishes[unit.gang]:
            start = self.session.checkpoint()
            taken = place(self.session, self.policy, unit)
            self.session.rollback(start)
            if taken.lack is not None:
                return taken.lack
        shape, wanted = int(self.session.snapshot.tasks.shape[unit.tasks[0]]), len(unit.tasks)
        request = request_of(self.session, unit.gang, shape, wanted)
        return Lack(shape, wanted, fit(self.session, self.policy, request), wanted)

    def _objects(self) -> Bool:
        """Return [unit]: which units a veto that only counts refuses now."""

        def answer() -> Bool:
            asks = asked(self.session, self.units)
            masks = [veto.objects(self.session, self.units, asks) for veto in self.policy.counting]
            found: Bool = np.logical_or.reduce([np.zeros(len(self.units), np.bool_), *masks])
            return found

        return self.session.once(("objects", id(self.units)), answer)

    def _hopeless(self) -> Bool:
        """Return [unit]: units that find no place now, judged kind by kind."""
        found = self._objects() & (self._kinds != ALONE)
        kinds, first, at = np.unique(self._kinds, return_index=True, return_inverse=True)
        refused = np.zeros(len(kinds), np.bool_)
        # A loop over the kinds of requests in the backlog, never over units.
        for row, index in enumerate(first.tolist()):
            if kinds[row] != ALONE:
                lack = self._lack(self.units.unit(index))
                refused[row] = lack.fit < lack.wanted
        hopeless: Bool = found | refused[at]
        return hopeless

    def _kinds_of_units(self) -> Int:
        """Units of a gang with a promise, and all where a veto looks at each unit, are judged alone."""
        session, policy, units = self.session, self.policy, self.units
        if policy.judges_singly or not policy.by_count or not len(units):
            return np.full(len(units), ALONE)
        tasks = session.snapshot.tasks
        promised = np.bincount(tasks.gang[session.promise >= 0], minlength=len(session.snapshot.gangs)) > 0
        return kinds_of(session, units, readings(session, policy), ~promised[units.gang], wishes_of(session, units))

    def _place_not_free(self, index: int) -> Reason:
        snapshot = self.session.snapshot
        node = int(self.session.promise[self.units.rows[self.units.first[index]]])
        return Reason(Code.FULL, f"its place on {snapshot.nodes.names[node]} is not free yet", 1)

    def _ceiling(self, shape: int) -> Int:
        return ceiling(self.session, self.policy, shape)

    def _place_alike(self, run: Int) -> None:
        """Place as many of these equal tasks as fit, in their order; the others wait for the same reason."""
        session, policy, units = self.session, self.policy, self.units
        run = run[~self._without[units.gang[run]]]
        if not len(run):
            return
        tasks, gang = units.rows[units.first[run]], int(units.gang[run[0]])
        shape = int(session.snapshot.tasks.shape[tasks[0]])
        request = request_of(session, gang, shape)
        allowed = min((veto.copies(session, gang, shape) for veto in policy.counting), default=len(tasks))
        nodes = find(session, policy, replace(request, count=min(len(tasks), allowed)))
        if len(nodes):
            session.take(request, tasks[: len(nodes)], nodes)
        left = run[len(nodes) :]
        if len(left):
            self.tell(left, [self._explain(units.unit(int(left[0])))] * len(left))


def _called(method: "WeakMethod[Callable[[], Bool]]") -> Bool:
    alive = method()
    assert alive is not None, "an allocation outlives its walk"
    return alive()


def place_unit(session: Session, policy: Policy, unit: Unit) -> Reason | None:
    """Place one unit, or leave no trace of it. Return why some of it waits."""
    if unit.hold is not None:
        return unit.hold
    start = session.checkpoint()
    # Its promise is charged to its queue already, and must not count twice against a bound.
    session.drop_promise(unit.tasks)
    reason = objection(session, policy, unit)
    taken = place(session, policy, unit) if reason is None else None
    if taken is not None and taken.lack is None:
        reason = objection(session, policy, unit, taken)
        if reason is None:
            return None
    session.rollback(start)
    return reason if taken is None or taken.lack is None else explain(session, policy, unit.gang, taken.lack)
