"""One cycle without I/O: compile, decide, check, assume. A cluster and a simulator both drive it."""

import math
from dataclasses import dataclass

from phalanx.engine.decide import deliberate
from phalanx.engine.invariants import Violation, check
from phalanx.engine.policy import Policy
from phalanx.model.axis import Int
from phalanx.model.plan import Bind, Evict, Plan, Search
from phalanx.model.snapshot import Snapshot
from phalanx.world.usage import Usage
from phalanx.world.world import World

#: How long a gang for which we made a broken plan is left alone.
ERROR_REST = 300.0
#: How many broken plans a cycle sets aside before it gives up.
TRIES_MAX = 4
#: What queues have is measured by cycles: at least so often where use is remembered, because it changes shares.
MEASURE_PERIOD = 60.0
#: So long after a search that stopped early the next units have their turn of a whole search, though nothing changed.
SEARCH_PERIOD = 60.0
#: So often at most in a row: where nothing changes, every unit has had its turn after about as many cycles.
SEARCHES_MAX = 60
_SEARCH_ON = "a search stopped early"


@dataclass(frozen=True, slots=True)
class Cycle:
    """One decision with all it saw and said. Whoever tells, records or draws anything reads it here."""

    now: float
    #: Why it was decided now.
    cause: str
    policy: Policy
    snapshot: Snapshot
    #: [queue, resource]: what each queue is entitled to; None: nothing is divided.
    shares: Int | None
    plan: Plan
    searches: tuple[Search, ...] = ()
    #: Plans that broke a promise and were not carried out, before this one.
    broken: tuple[Violation, ...] = ()


class Loop:
    """Decides for a world by a policy. Events go into the world, cycles come out."""

    def __init__(self, world: World, policy: Policy, *, charged: bool = True, live: bool = False) -> None:
        self.world = world
        #: Whether plans are meant for a real cluster, where a pod may need more than its place on the node.
        self._live = live
        #: Whether plans are carried out, and so charged at once. Else each cycle decides from what the world shows.
        self._charged = charged
        self.policy = policy
        #: The last one.
        self.last: Cycle | None = None
        #: Whether its plan changed what queues have, and the history of use that it measured.
        self._changed = False
        self._measured: Usage | None = None
        #: How many more cycles are due for the sake of searches that stopped early.
        self._searches_left = 0

    @property
    def policy(self) -> Policy:
        """Return the policy that decides."""
        return self._policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        """Decide by this policy from the next cycle on; the world keeps of the past what it wants to see."""
        self._policy = policy
        self.world.remember(policy.share.memory if policy.share is not None else None)
        self.world.queues.read_charges(policy.charges)
        self.world.remember_users(policy.by_user)
        self.world.failures.span = policy.recalls
        self.world.look_for_victims(wanted=policy.reads_running or policy.groups)
        self.world.said.images = policy.reads_images
        self.world.said.services.wanted = "Service" in policy.asks
        self.world.sharings.set(policy.sharing, live=self._live)

    def due(self, now: float) -> str | None:
        """Return why a decision is due; None: it is not. The one rule of when to decide, for cluster and simulator."""
        if self._unmeasured(now):
            return self.world.due(now) or "what queues have is measured"
        return self.world.due(now) or (_SEARCH_ON if now >= self._search_on_at else None)

    @property
    def _search_on_at(self) -> float:
        return self.last.now + SEARCH_PERIOD if self.last is not None and self._searches_left else math.inf

    def _unmeasured(self, now: float) -> bool:
        """Tell whether the last cycle's figures of queues are old: it changed them itself, or long ago."""
        queues = self.world.queues
        if self.last is None or not queues.seen:
            return False
        old = queues.usage is not self._measured or abs(now - self.last.now) >= MEASURE_PERIOD
        return self._changed or (queues.usage is not None and old)

    @property
    def next_due(self) -> float:
        """Return when a decision is due although nothing changes, measuring apart; infinity: never."""
        return min(self.world.next_due, self._search_on_at)

    def cycle(self, now: float, cause: str | None = None) -> Cycle:
        """Return what to do now, already charged in the world if it is carried out; the caller does so and confirms.

        A plan that breaks a promise is not carried out. The gangs that it fails on are set aside, so that one gang
        stops nobody else; if that does not help, the violation goes to the caller.
        """
        cause = cause or self.due(now) or "asked for"
        broken: list[Violation] = []
        for attempt in range(TRIES_MAX):
            snapshot = self.world.compile(now)
            decision = deliberate(snapshot, self.policy)
            try:
                check(snapshot, self.policy, decision.plan)
            except Violation as violation:
                broken.append(violation)
                if not violation.gangs or attempt == TRIES_MAX - 1:
                    raise
                for key in violation.gangs:
                    self.world.rest(key, now + ERROR_REST, f"our mistake, please report it: {violation}", ours=True)
            else:
                if self._charged:
                    self.world.assume(decision.plan)
                found = Cycle(
                    now, cause, self.policy, snapshot, decision.shares, decision.plan, decision.searches, tuple(broken)
                )
                self.last, self._measured = found, self.world.queues.usage
                stopped = sum(search.stopped and not search.found for search in decision.searches)
                most = self._searches_left - 1 if cause == _SEARCH_ON else SEARCHES_MAX
                self._searches_left = min(stopped, most)
                self._changed = self._charged and any(isinstance(step, Bind | Evict) for step in found.plan.acts)
                return found
        raise AssertionError("unreachable: the last try returns or raises")
