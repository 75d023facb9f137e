"""A round: one pass over waiting units, in which each is placed or told why not."""

import numpy as np

from phalanx.engine.explain import ceiling, explain
from phalanx.engine.holding import alike, turn_to
from phalanx.engine.placing import find, place, room
from phalanx.engine.policy import Policy
from phalanx.engine.session import Session
from phalanx.engine.units import Unit, Units, leading
from phalanx.model.axis import Bool, Int
from phalanx.model.plan import Code, Reason

#: No state of a session has this number.
NEVER = -1


class Round:
    """One pass over the units."""

    def __init__(self, session: Session, policy: Policy, units: Units) -> None:
        self.session, self.policy, self.units = session, policy, units
        #: Gangs whose minimum found no place: growth of one that has not its minimum would split it.
        self.without: set[int] = set()
        self.wishes = _wishes(session, policy, units)
        self.not_yet = _not_yet(session, policy, units)
        self.noting = [(plugin, plugin.minds(session, units)) for plugin in policy.noting]
        #: By wish: the state of the session in which it was turned away (the last place: of no wish), and why.
        self.turned_away_at = np.full(int(self.wishes.max(initial=-1)) + 2, NEVER)
        self.reasons: dict[int, Reason] = {}
        #: The last minimum of a gang that would fit if others were not there.
        self.blocked: int | None = None
        gangs = session.snapshot.gangs
        # Whether a gang grows depends on whether its minimum was placed, so only what has no growth is decided in bulk.
        single = (gangs.count[units.gang] == 1) | units.growth
        self.bulk = (self.wishes >= 0) & (units.count == 1) & single

    def decide(self, line: Int, *, alone: bool) -> int:
        """Decide the first unit of a line, with those behind it for which that settles it; return how many."""
        if self.not_yet[line[0]]:
            count = leading(line, lambda part: self.not_yet[part])
            for index in line[:count].tolist():
                self._wait_for_place(index)
            return count
        wish = int(self.wishes[line[0]])
        if alone and self.bulk[line[0]]:
            equal = leading(line, lambda part: self.wishes[part] == wish)
            if equal > 1:
                self._place_alike(line[:equal])
                return equal
        unit = self.units.unit(int(line[0]))
        if unit.gang in self.without:
            return 1
        if self.turned_away_at[wish] != self.session.version:
            reason = _place_unit(self.session, self.policy, unit)
            if reason is None:
                return 1
            if wish < 0:
                self.tell(int(line[0]), reason)
                return 1
            self.turned_away_at[wish], self.reasons[wish] = self.session.version, reason
        # What one was refused all that are equal to it are, as long as nothing is placed.
        version = self.session.version
        count = leading(line, lambda part: self.turned_away_at[self.wishes[part]] == version)
        for index in line[:count].tolist():
            self.tell(index, self.reasons[int(self.wishes[index])])
        return count

    def tell(self, index: int, reason: Reason) -> None:
        """Note why a unit waits."""
        gang = int(self.units.gang[index])
        if gang in self.without:
            return
        if not self.units.growth[index]:
            self.without.add(gang)
            if reason.code is Code.FULL and self.blocked is None:
                self.blocked = index
            for plugin, minds in self.noting:
                if minds[index]:
                    reason = plugin.refused(self.session, self.units.unit(index), reason, self._ceiling)
        self.session.wait(gang, reason)

    def _wait_for_place(self, index: int) -> None:
        snapshot = self.session.snapshot
        node = int(snapshot.tasks.nominated[self.units.rows[self.units.first[index]]])
        self.tell(index, Reason(Code.FULL, f"its place on {snapshot.nodes.names[node]} is not free yet", 1))

    def _ceiling(self, shape: int) -> Int:
        return ceiling(self.session, self.policy, shape)

    def _place_alike(self, run: Int) -> None:
        """Place as many of these equal tasks as fit, in their order; the others wait for the same reason."""
        session, policy, units = self.session, self.policy, self.units
        run = run[[gang not in self.without for gang in units.gang[run].tolist()]]
        if not len(run):
            return
        tasks, gang = units.rows[units.first[run]], int(units.gang[run[0]])
        shape = int(session.snapshot.tasks.shape[tasks[0]])
        turn_to(session, gang)
        allowed = min((veto.copies(session, gang, shape) for veto in policy.counting), default=len(tasks))
        nodes = find(session, policy, shape, min(len(tasks), allowed))
        if len(nodes):
            session.take(shape, tasks[: len(nodes)], nodes)
        left = run[len(nodes) :]
        if not len(left):
            return
        first = units.unit(int(left[0]))
        reason = _vetoed(session, policy, first) or explain(session, policy, shape, 1, 0)
        for index in left.tolist():
            self.tell(index, reason)


def wait_behind(round_: Round, line: Int) -> None:
    """Tell those behind a blocked unit that they wait for it."""
    assert round_.blocked is not None
    name = round_.session.snapshot.gangs.gangs[int(round_.units.gang[round_.blocked])].name
    reason = Reason(Code.FULL, f"behind {name}, which finds no place: nobody is passed over here")
    for index in line.tolist():
        round_.tell(index, reason)


def _wishes(session: Session, policy: Policy, units: Units) -> Int:
    """Return a number per unit: equal numbers wish for equally many tasks of one shape, for one queue.

    In a backlog of equal gangs one refusal answers for all, as long as nothing was placed in between. Units with a
    word of their own (a hold, a veto that does not only count, a nomination, several shapes) get -1.
    """
    if policy.choosy or not policy.by_count or not len(units):
        return np.full(len(units), -1)
    return alike(session, units, ~_nominated(session)[units.gang])


def _nominated(session: Session) -> Bool:
    """Return the gangs for some task of which a place is kept."""
    tasks = session.snapshot.tasks
    found: Bool = np.bincount(tasks.gang[tasks.nominated >= 0], minlength=len(session.snapshot.gangs)) > 0
    return found


def _not_yet(session: Session, policy: Policy, units: Units) -> Bool:
    """Return the units of one task that wait for the place that is kept for them, which is all they could take now.

    It saves a search in vain, for each of thousands who wait for others to leave. Nothing becomes free in a round, so
    it holds to its end.
    """
    snapshot, tasks = session.snapshot, session.snapshot.tasks
    found = np.zeros(len(units), np.bool_)
    alone = np.flatnonzero((units.count == 1) & _nominated(session)[units.gang])
    if not len(alone) or not policy.takes or not policy.by_count:
        return found
    alone = alone[tasks.nominated[units.rows[units.first[alone]]] >= 0]
    task = units.rows[units.first[alone]]
    node, own = tasks.nominated[task], snapshot.requests[tasks.shape[task]]
    owed = session.columns["held"][node] - own - session.columns["releasing"][node]
    short = ((session.columns["free"][node] - np.maximum(owed, 0) < own) & (own > 0)).any(axis=1)
    # Whoever is gone in time may go anywhere; others find less.
    before, session.brief = session.brief, True
    # A loop over the shapes of those who wait so.
    for shape in np.unique(tasks.shape[task[short]]).tolist():
        if room(session, policy, shape).any():
            short &= tasks.shape[task] != shape
    session.brief = before
    found[alone[short]] = True
    found[list(units.holds)] = False
    return found


def _place_unit(session: Session, policy: Policy, unit: Unit) -> Reason | None:
    """Place one unit, or leave no trace of it. Return why some of it waits."""
    if unit.hold is not None:
        return unit.hold
    turn_to(session, unit.gang)
    start = session.checkpoint()
    # First: what is promised to the unit itself must not count against it.
    session.release_nominations(unit.gang)
    reason = _vetoed(session, policy, unit)
    if reason is not None:
        session.rollback(start)
        return reason
    taken = place(session, policy, unit)
    reason = taken.reason
    for veto in policy.vetoes:
        reason = reason or veto.check(session, unit, taken)
    if reason is not None:
        session.rollback(start)
        return reason
    session.restore_nominations(unit.gang)
    return None


def _vetoed(session: Session, policy: Policy, unit: Unit) -> Reason | None:
    """Return the first word against even trying."""
    return next(filter(None, (veto.check(session, unit, None) for veto in policy.vetoes)), None)
