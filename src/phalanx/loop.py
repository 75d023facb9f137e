"""One cycle without I/O: compile, decide, check, assume. A cluster and a simulator both drive it."""

from phalanx.engine.core import decide
from phalanx.engine.invariants import Violation, check
from phalanx.engine.policy import Policy
from phalanx.engine.units import gang_units
from phalanx.model.plan import Code, Nominate, Plan
from phalanx.model.snapshot import Snapshot
from phalanx.world.gangs import gang_key
from phalanx.world.world import World

#: How long a gang for which we made a broken plan is left alone.
ERROR_REST = 300.0
#: How many broken plans a cycle sets aside before it gives up.
TRIES_MAX = 4


class Loop:
    """Decides for a world by a policy. Events go into the world, plans come out of `cycle`."""

    def __init__(self, world: World, policy: Policy, seed: int = 0) -> None:
        self.world = world
        self.policy = policy
        #: Plans that broke a promise and were not carried out.
        self.violations: list[Violation] = []
        #: What the last plan was decided on.
        self.snapshot: Snapshot | None = None
        self._seed = seed

    @property
    def policy(self) -> Policy:
        """Return the policy that decides."""
        return self._policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        """Decide by this policy from the next cycle on; the world keeps of the past what it wants to see."""
        self._policy = policy
        self.world.remember(policy.share.memory if policy.share is not None else None)
        self.world.look_for_victims(wanted=policy.reads_running)

    def cycle(self, now: float) -> Plan:
        """Return what to do now, already charged in the world; the caller carries it out and confirms.

        A plan that breaks a promise is not carried out. The gangs that it fails on are set aside, so that one gang
        stops nobody else; if that does not help, the violation goes to the caller.
        """
        for attempt in range(TRIES_MAX):
            snapshot = self.snapshot = self.world.compile(now, self._seed)
            plan = decide(snapshot, self.policy)
            try:
                check(snapshot, self.policy, plan)
            except Violation as violation:
                self.violations.append(violation)
                if not violation.gangs or attempt == TRIES_MAX - 1:
                    raise
                for key in violation.gangs:
                    self.world.rest(key, now + ERROR_REST, f"our mistake, please report it: {violation}", ours=True)
            else:
                self.world.assume(plan)
                if self.policy.takes and self.world.nominated:
                    self._withdraw(plan)
                return plan
        raise AssertionError("unreachable: the last try returns or raises")

    def _withdraw(self, plan: Plan) -> None:
        """Give back the places of gangs for which there is no room any more, not even later: others may have them."""
        waiting = {wait.gang_key for wait in plan.waits if wait.reason.code in {Code.FULL, Code.NEVER}}
        if held := {wait.gang_key for wait in plan.waits if wait.reason.code is Code.HELD}:
            waiting |= held - self._incomplete()
        nominated = {step.uid for step in plan.steps if isinstance(step, Nominate)}
        kept = [uid for uids in self.world.nominated.values() for uid in uids if uid not in nominated]
        for uid in kept:
            task = self.world.tasks[uid]
            if task.ours and gang_key(task) in waiting:
                self.world.nominate(uid, None)

    def _incomplete(self) -> set[str]:
        """Return the gangs that are held for themselves: gates, members that are not there. Others a bound holds."""
        assert self.snapshot is not None, "what is withdrawn was decided on a snapshot"
        units, gangs = gang_units(self.snapshot), self.snapshot.gangs.gangs
        return {gangs[units.gang[index]].key for index in units.holds}
