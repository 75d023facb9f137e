"""One cycle without I/O: compile, decide, check, assume. A cluster and a simulator both drive it."""

from phalanx.engine.core import decide
from phalanx.engine.invariants import check
from phalanx.engine.policy import Policy
from phalanx.model.plan import Plan
from phalanx.world.world import World


class Loop:
    """Decides for a world by a policy. Events go into the world, plans come out of `cycle`."""

    def __init__(self, world: World, policy: Policy, seed: int = 0) -> None:
        self.world = world
        self.policy = policy
        self._seed = seed

    def cycle(self, now: float) -> Plan:
        """Return what to do now, already charged in the world; the caller carries it out and confirms."""
        snapshot = self.world.compile(now, self._seed)
        plan = decide(snapshot, self.policy)
        check(snapshot, self.policy, plan)
        self.world.assume(plan)
        return plan
