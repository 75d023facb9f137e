"""The simulator: the loop of a real cluster on a virtual clock.

A cycle runs when something changed, once for everything that happens at one instant, and not more often than
every `interval`. Same timeline, same policy: same run, instant by instant.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from phalanx.engine.policy import Policy
from phalanx.loop import Loop
from phalanx.model.plan import Plan
from phalanx.sim.agenda import Agenda
from phalanx.sim.cluster import Cluster, Happening, Wake
from phalanx.sim.life import Life
from phalanx.sim.timeline import Timeline
from phalanx.world.world import World

FOREVER = float("inf")


@dataclass(frozen=True, slots=True)
class Moment:
    """One instant: what happened, and what was decided on it; None where the cycle has to wait its turn."""

    now: float
    happenings: tuple[Happening, ...]
    plan: Plan | None


#: Seconds after which a run that has nothing else to do is over.
LOOK_MAX = 3600.0


class Simulator:
    """Runs a timeline under a policy."""

    def __init__(self, timeline: Timeline, policy: Policy, seed: int = 0, interval: float = 1.0) -> None:
        self.policy = policy
        self.seed = seed
        self.now = 0.0
        self.cycles = 0
        self.world = World(policy.label_keys, policy.devices)
        self._loop = Loop(self.world, policy)
        self._agenda = Agenda[Happening]()
        self.cluster = Cluster(self.world, self._agenda, timeline, policy.by_user)
        self.cluster.places.levels = policy.levels
        self._interval = interval
        self._next_cycle = 0.0
        self._wake_at = FOREVER
        for at, happening in timeline.happenings:
            self._agenda.put(at, happening)
        self.cluster.settle(0.0)

    @property
    def lives(self) -> list[Life]:
        """Return every gang that ever had a member, in order of arrival."""
        return [life for life in self.cluster.lives.values() if life.ours]

    def run(self, until: float = FOREVER) -> Iterator[Moment]:
        """Yield instant after instant, until nothing more can happen or the time is over."""
        while len(self._agenda) and self._agenda.next <= until:
            at = self._agenda.next
            happenings = tuple(one for one in self._agenda.pop() if self.cluster.apply(one, at))
            cause = self._loop.due(at)
            if cause is None and not happenings:
                self._wake(at)
                continue
            self.now = at
            # Before the cycle too: work that lost a member is lost, however soon another place is found.
            self.cluster.settle(at)
            plan = None if cause is None else self._cycle(at, cause)
            self.cluster.settle(at)
            self._wake(at)
            if happenings or (plan is not None and len(plan.steps) > len(plan.waits)):
                yield Moment(at, happenings, plan)
        if until < FOREVER and any(life.members for life in self.lives):
            # What still runs or waits does so to the end of the time that was asked for.
            self.now = until

    def _cycle(self, now: float, cause: str) -> Plan | None:
        if now < self._next_cycle:
            return None
        cycle = self._loop.cycle(now, cause)
        self.cluster.queues.entitle(now, cycle.snapshot.queues, cycle.shares)
        self.cluster.execute(cycle.plan)
        self.cycles += 1
        self._next_cycle = now + self._interval
        return cycle.plan

    def _wake(self, now: float) -> None:
        """Wake up when the next decision is due: at once, or when a time comes."""
        at = now if self._loop.due(now) else self._loop.next_due
        at = max(at, self._next_cycle)
        # A gang that stays broken is looked at less and less often: at the end nothing else happens any more.
        if at not in {self._wake_at, FOREVER} and (len(self._agenda) or at - now < LOOK_MAX):
            self._agenda.put(at, Wake())
            self._wake_at = at
