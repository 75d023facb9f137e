"""Telling: what people read about gangs in the cluster and in the log, and what they read of the policy."""

import asyncio
import os
from collections import Counter
from collections.abc import Callable

from phalanx.kube.client import MERGE_PATCH, Client
from phalanx.kube.clock import Clock
from phalanx.kube.event_writer import EventCounts, EventWriter
from phalanx.kube.events import Events
from phalanx.kube.feed import Feed
from phalanx.kube.groups import GroupStatus
from phalanx.kube.lives import Lives
from phalanx.kube.log import Log
from phalanx.kube.placed_events import PlacedEvents, on_nodes
from phalanx.kube.policy_source import Source, policy_condition
from phalanx.kube.status import Status
from phalanx.kube.waiting_events import WaitingEvents
from phalanx.kube.writes import Write, Writes
from phalanx.model.plan import Bind, Plan, Reason
from phalanx.world.world import World

#: How often it is looked who must be told again, in seconds.
LOOK = 1.0


class Telling:
    """Conditions at once, events behind them at their rate."""

    def __init__(
        self, world: World, feed: Feed, client: Client, writes: Writes, clock: Clock, log: Log,
        fence: Callable[[], bool], busy: Callable[[], bool], told: Callable[[], bool], author: tuple[str, str],
        rate: float,
    ) -> None:  # fmt: skip
        """`author`: the name of the controller, and of this process. `rate`: events per second; 0: none."""
        self._writes = writes
        self._clock = clock
        self._log = log
        self._fence = fence
        self._writer = EventWriter(client, fence, busy, clock, log, rate, told)
        self.events = Events(world, feed, self._writer, clock, *author)
        self._waiting = WaitingEvents(world, self.events, clock, self._writer.wake)
        self._placed = PlacedEvents(world, self.events, self._writer.wake)
        self._groups = GroupStatus(world, feed, writes, clock)
        self._lives = Lives(world, feed, writes, clock)
        self._status = Status(world, feed, writes, self._waiting if rate else None, clock, self._tell_group)
        self._writer.join(self._waiting)
        self._writer.join(self._placed)
        self._rate = rate

    @property
    def counts(self) -> EventCounts:
        """Return what became of events so far."""
        return self._writer.counts

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._writer.run())
            group.create_task(self._look())

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK)
            if self._fence():
                self._status.flush()
                self._lives.flush()
                self._waiting.renew()

    def plan(self, plan: Plan) -> None:
        """Say who waits and why, and, a line in the log per gang, who got places."""
        self._status.update(plan)
        gangs: dict[tuple[str, str], Counter[str]] = {}
        for bind in plan.binds:
            gangs.setdefault((bind.gang_key, bind.gang), Counter())[bind.node] += 1
        for (key, gang), nodes in gangs.items():
            self._log.say("decided", gang=gang, pods=nodes.total(), nodes=on_nodes(nodes))
            self._tell_group(key, None)

    def _tell_group(self, gang_key: str, reason: Reason | None) -> None:
        self._groups.tell(gang_key, reason)
        self._lives.tell(gang_key, reason)

    def bound(self, bind: Bind) -> None:
        """Say where a pod was put: it was seen there."""
        if self._rate:
            self._placed.add(bind)

    def policy(self, source: Source | None, mistake: str = "") -> None:
        """Say whether the policy is in force, on what it was read from and on our own pod.

        `POD_NAME` and `POD_NAMESPACE` say which pod we run in, if we do.
        """
        if mistake and source is not None:
            self._log.say("policy-refused", source=source.name, why=mistake, then="the old policy stays in force")
            if source.regarding is not None:
                self.events.about(source.regarding, "Warning", "PolicyRefused", "Reloading", mistake)
        name, namespace = os.environ.get("POD_NAME"), os.environ.get("POD_NAMESPACE")
        if name and namespace:
            body = policy_condition(self._clock.now(), mistake, valid=not mistake)
            self._writes.submit(Write("PATCH", f"/api/v1/namespaces/{namespace}/pods/{name}/status", body, MERGE_PATCH))
