"""A stage: a cluster from a scenario, on which a test lets things happen between cycles that no line can say."""

from dataclasses import replace
from textwrap import dedent
from typing import Any

from phalanx.engine.policy import Policy
from phalanx.loop import Cycle, Loop
from phalanx.model.events import NodeSeen, TaskGone, TaskSeen
from phalanx.model.node import Taint
from phalanx.model.task import Task
from phalanx.policy.load import load_policy
from phalanx.sim.cycles import carry_out, release
from phalanx.sim.duration import seconds
from phalanx.sim.scenario import read_scenario
from phalanx.sim.timeline import Arrive, timeline
from phalanx.testing.scenario import compare
from phalanx.world.world import World


class Stage:
    """Plays cycle after cycle; every step of a plan succeeds, and who was evicted is gone when its grace has passed."""

    def __init__(self, given: str, policy: str | Policy = "default") -> None:
        chosen = load_policy(policy) if isinstance(policy, str) else policy
        laid_out = timeline(read_scenario(dedent(given)), schedulers=chosen.scheduler_names)
        self.world = World(chosen.label_keys, chosen.devices)
        self.loop = Loop(self.world, chosen)
        #: Pods of the scenario that are not there yet, with their times.
        self._to_come = [(at, one.task) for at, one in laid_out.happenings if isinstance(one, Arrive)]
        for event in (*map(NodeSeen, laid_out.nodes), *laid_out.others):
            self.world.apply(event)
        self._come(0.0)

    def cycle(self, now: str = "0s") -> Cycle:
        """Play one cycle at a time of the scenario."""
        moment = seconds(now)
        release(self.world, moment)
        self._come(moment)
        cycle = self.loop.cycle(moment)
        carry_out(self.world, cycle.plan)
        return cycle

    def check(self, now: str, expect: str) -> None:
        """Assert the whole plan of one cycle, as `phalanx.testing.check` does."""
        __tracebackhide__ = True
        compare(self.cycle(now).plan, expect)

    def pod(self, name: str) -> Task:
        """Return a pod as it is now."""
        return next(task for task in self.world.tasks.values() if task.name == name)

    def change(self, name: str, **fields: Any) -> None:
        """Change fields of a pod: `nominated="n1"` is a nomination that somebody wrote."""
        self.world.apply(TaskSeen(replace(self.pod(name), **fields)))

    def lose(self, name: str) -> None:
        """Let a pod be gone for good."""
        self.world.apply(TaskGone(self.pod(name).uid))

    def taint(self, node: str, key: str = "broken") -> None:
        """Put a taint on a node that no pod tolerates by itself."""
        self.world.apply(NodeSeen(replace(self.world.nodes[node], taints=(Taint(key, "", "NoSchedule"),))))

    def _come(self, now: float) -> None:
        for at, task in self._to_come:
            if at <= now:
                self.world.apply(TaskSeen(task))
        self._to_come = [(at, task) for at, task in self._to_come if at > now]
