"""A dry run: reads and decides as the real scheduler does, and writes nothing.

Nothing that writes is there: no binder, no writers, no lease, and a client that refuses whatever is no read. No plan
is charged either, since nobody carries it out: each cycle decides from what the cluster shows, as if the scheduler
began at that moment.
"""

import asyncio
from collections.abc import Callable

from phalanx.engine.invariants import Violation
from phalanx.engine.policy import Policy
from phalanx.kube.clock import Clock
from phalanx.kube.cycles import decided
from phalanx.kube.feed import Feed
from phalanx.kube.kinds import watched
from phalanx.kube.log import Log
from phalanx.kube.metrics import Metrics
from phalanx.kube.policy_source import Source
from phalanx.kube.queue_figures import QueueFigures, queue_figures
from phalanx.kube.reading import ReadingClient
from phalanx.kube.reflector import Reflector
from phalanx.kube.scheduler import TICK
from phalanx.kube.set_aside import SetAside
from phalanx.kube.standing import Standing
from phalanx.loop import Loop
from phalanx.model.plan import Plan
from phalanx.world.world import World

#: Pods of a gang come one by one. Nobody waits for a dry run, so that it waits for what comes together.
GATHER = 1.0

#: Takes each plan, as of the time of its cycle.
Tell = Callable[[Plan], None]


class DryRun:
    """Wires one cluster to one policy, without hands."""

    #: Nobody is elected to write nothing.
    leader = None

    def __init__(
        self, client: ReadingClient, policy: Policy, metrics: Metrics, log: Log, standing: Standing,
        wave_deadline: float, tell: Tell,
    ) -> None:  # fmt: skip
        self.clock = Clock()
        self.world = World(policy.label_keys, policy.devices)
        self.world.wave_deadline = wave_deadline
        self.loop = Loop(self.world, policy, charged=False, live=True)
        self.feed = Feed(self.world, policy.ours, watched(policy.asks))
        self.metrics = metrics
        self.log = log
        self.standing = standing
        self._tell = tell
        self._wake = asyncio.Event()
        self._aside = SetAside(self.world, log)
        self.reflectors = [
            Reflector(client, kind, self.feed, log, self._wake.set, standing) for kind in self.feed.kinds
        ]
        metrics.live.dry_run = True

    @property
    def unready(self) -> list[str]:
        """Say, a line each, why nothing can be decided now."""
        return [*self.standing.blocks, *(f"not listed yet: {name}" for name in self.feed.lacking)]

    def figures(self) -> QueueFigures | None:
        """Return the queues as of the last cycle; None before the first one."""
        return queue_figures(self.loop.last) if self.loop.last is not None else None

    def use(self, policy: Policy) -> None:
        """Decide by another policy from the next cycle on."""
        self.log.say("policy", name=policy.name)
        self.loop.policy = policy
        self.world.read_labels(policy.label_keys)
        self.world.read_devices(policy.devices)
        self.feed.lacks(policy.asks, self.log)
        if policy.ours != self.feed.schedulers:
            self.feed.schedulers = policy.ours
            self.feed.forget_versions()
            self._relist()
        self._wake.set()

    def bad_policy(self, source: Source, why: str) -> None:
        """Keep the old policy, and say so."""
        self.log.say("policy-refused", source=source.name, why=why, then="the old policy stays in force")

    def take_history(self, text: dict[str, object]) -> str | None:
        """Decide by another history from the next cycle on; return a sentence if it cannot be used."""
        queues = self.world.queues
        if queues.usage is None:
            return "the policy remembers nothing"
        memory = queues.usage.memory
        # Two histories of the same time would not add up.
        queues.remember(None)
        queues.remember(memory)
        self._wake.set()
        return queues.usage.load(text)

    async def run(self) -> None:
        """Decide until cancelled; the reflectors run beside this."""
        while True:
            try:
                # Not wait_for: until Python 3.12 it may lose a cancellation that comes together with the answer.
                async with asyncio.timeout(TICK):
                    await self._wake.wait()
            except TimeoutError:
                pass
            if self._wake.is_set():
                await asyncio.sleep(GATHER)
            self._wake.clear()
            if self.feed.ready:
                self.cycle()

    async def leave(self) -> None:
        """Nothing is on its way."""

    def cycle(self) -> None:
        """Decide once, if that is due, and tell."""
        self._aside.tell()
        try:
            plan = decided(self.loop, self.clock, self.metrics, self.log)
        except Violation as violation:
            self.log.say("invariant-broken", promise=str(violation), then="everything is listed anew")
            self._relist()
            return
        if plan is not None:
            self._tell(plan)

    def _relist(self) -> None:
        for reflector in self.reflectors:
            reflector.relist()
