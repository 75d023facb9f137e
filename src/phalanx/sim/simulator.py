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
        self.world = World(policy.label_keys)
        self._loop = Loop(self.world, policy, seed)
        self._agenda = Agenda[Happening]()
        self.cluster = Cluster(self.world, self._agenda, timeline)
        self._interval = interval
        self._next_cycle = 0.0
        self._due = False
        self._look = FOREVER
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
            changed = self._due or bool(happenings)
            self._due = changed or at >= self._look
            if not self._due:
                continue
            self.now = at
            # Before the cycle too: work that lost a member is lost, however soon another place is found.
            self.cluster.settle(at)
            plan = self._cycle(at)
            self.cluster.settle(at)
            if changed or (plan is not None and len(plan.steps) > len(plan.waits)):
                yield Moment(at, happenings, plan)
        if until < FOREVER and any(life.members for life in self.lives):
            # What still runs or waits does so to the end of the time that was asked for.
            self.now = until

    def _cycle(self, now: float) -> Plan | None:
        if now < self._next_cycle:
            self._agenda.put(self._next_cycle, Wake())
            return None
        plan = self._loop.cycle(now)
        snapshot, share = self._loop.snapshot, self.policy.share
        if snapshot is not None:
            divided = share is not None and bool(snapshot.queues.resources)
            shares = share.deserved(snapshot) if share is not None and divided else None
            self.cluster.queues.entitle(now, snapshot.queues, shares)
        self.cluster.execute(plan)
        self.cycles += 1
        self._due = False
        self._next_cycle = now + self._interval
        self._look_again(now)
        return plan

    def _look_again(self, now: float) -> None:
        """Wake up when a protection ends, or a gang has been broken for long enough."""
        before, self._look = self._look, max(self.world.next_look, self._next_cycle)
        # A gang that stays broken is looked at less and less often: at the end nothing else happens any more.
        if self._look not in {before, FOREVER} and (len(self._agenda) or self._look - now < LOOK_MAX):
            self._agenda.put(self._look, Wake())
