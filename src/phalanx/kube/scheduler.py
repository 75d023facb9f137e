"""The scheduler on a real cluster: reflectors feed the world, cycles decide, the binder and the writers act.

Everything runs on one event loop. A cycle is a few milliseconds of computing; whatever talks to the server waits
beside it, so a slow bind never delays a decision.
"""

import asyncio
import contextlib
from dataclasses import dataclass

from phalanx.engine.invariants import Violation
from phalanx.engine.policy import Policy
from phalanx.kube.binder import Binder, Settled
from phalanx.kube.claims import Claims
from phalanx.kube.client import Client
from phalanx.kube.clock import Clock
from phalanx.kube.cycles import decided
from phalanx.kube.feed import Feed
from phalanx.kube.kinds import watched
from phalanx.kube.leader import Leader
from phalanx.kube.log import Log
from phalanx.kube.making_room import MakingRoom
from phalanx.kube.metrics import Metrics
from phalanx.kube.nominations import Nominations
from phalanx.kube.queue_figures import QueueFigures
from phalanx.kube.queues import QueueStatus
from phalanx.kube.reflector import Reflector
from phalanx.kube.reserving.keeper import Keeper
from phalanx.kube.reserving.pods import Reserving
from phalanx.kube.reserving.preparations import preparations
from phalanx.kube.set_aside import SetAside
from phalanx.kube.short_devices import ShortDevices
from phalanx.kube.splits import Splits
from phalanx.kube.standing import Standing
from phalanx.kube.start import keep_all
from phalanx.kube.telling import Telling
from phalanx.kube.writes import Writes
from phalanx.loop import Loop
from phalanx.model.outcome import Bound, Result
from phalanx.model.plan import Plan
from phalanx.model.snapshot import WAVE_DEADLINE
from phalanx.world.world import World

#: Events that arrive together are decided together; a person does not notice this much.
GATHER = 0.02
#: Start timeouts, backoffs and deadlines pass without any event.
TICK = 1.0
#: A gang whose bind was refused rests: 1, 2, 4 … seconds, so that a doomed one does not win every cycle.
BACKOFF_MAX = 60.0
#: How long a process that was asked to stop waits for binds that are on their way.
FAREWELL = 5.0


@dataclass(frozen=True, slots=True)
class Settings:
    """What an operator chooses."""

    identity: str
    reserving: Reserving
    controller: str = "phalanx"
    wave_deadline: float = WAVE_DEADLINE
    #: Evictions per second. The API server of two shared cores answers about 500 of them in that time.
    eviction_rate: float = 500.0
    #: Events per second, behind everything else; 0: none.
    event_rate: float = 100.0


class Scheduler:
    """Wires one cluster to one policy."""

    def __init__(
        self, client: Client, policy: Policy, leader: Leader | None, metrics: Metrics, log: Log, settings: Settings,
        standing: Standing | None = None,
    ) -> None:  # fmt: skip
        self.clock = Clock()
        self.world = World(policy.label_keys, policy.devices)
        self.world.wave_deadline = settings.wave_deadline
        self.loop = Loop(self.world, policy, live=True)
        self.feed = Feed(self.world, policy.ours, watched(policy.asks))
        self.leader = leader
        self.metrics = metrics
        self.log = log
        self.client = client
        self.standing = standing or Standing(log, self.clock)
        #: Set when a plan broke a promise: nothing is bound until everything was listed anew.
        self.stopped = False
        #: Set when the process was asked to stop: no new decisions, binds on their way may finish.
        self.leaving = False
        self._wake = asyncio.Event()
        self._refusals: dict[str, int] = {}
        self.keeper = Keeper(client, self.feed, self.world, self.clock, log, self.may_write, settings.reserving)
        self.claims = Claims(client, self.feed, self.world, self.clock, log, self.may_write, settings.wave_deadline)
        self.binder = Binder(
            client, self.feed, self.world, policy.scheduler_names, self.may_write, self._settled, log,
            [*preparations(client, self.feed, self.world, self.clock, self.keeper), self.claims],
        )  # fmt: skip
        self.writes = Writes(
            client, self.may_write, lambda: not (self.binder.idle and self.room.idle), log, self.standing.forbidden
        )
        self.telling = Telling(
            self.world, self.feed, client, self.writes, self.clock, log, self.may_write,
            lambda: not (self.binder.idle and self.room.idle and self.writes.idle), self.standing.forbidden,
            (settings.controller, settings.identity), settings.event_rate,
        )  # fmt: skip
        metrics.live.events = lambda: self.telling.counts
        self._short = ShortDevices(events := self.telling.events, self.clock, log)
        self.room = MakingRoom(
            client, self.feed, self.world, events, self.clock, metrics, log,
            self.may_write, self._wake.set, settings.eviction_rate,
        )  # fmt: skip
        self.keeper.tell = lambda uid, note: events.about_pod(uid, "GpuChanged", "Reserving", note)
        self.nominations = Nominations(self.world, self.feed, self.writes, events, log)
        self.queues = QueueStatus(self.loop, self.feed, self.writes, events, self.clock, log)
        #: Set at the start, on winning the lease and for another window: history is read before the next decision.
        self._forgetful = True
        self._aside = SetAside(self.world, log)
        self._splits = Splits(self.world, events, log, lambda: self.loop.policy.levels)
        self.reflectors = [
            Reflector(client, kind, self.feed, log, self._wake.set, self.standing) for kind in self.feed.kinds
        ]

    @property
    def unready(self) -> list[str]:
        """Say, a line each, why nothing can be decided or followed now; nothing: we are ready."""
        listed = [f"not listed yet: {name}" for name in self.feed.lacking]
        unheard = [f"the lease {self.leader.name}: no answer yet"] if self.leader and not self.leader.heard else []
        return [*self.standing.blocks, *listed, *unheard]

    def figures(self) -> QueueFigures | None:
        """Return the queues as of the last cycle; None before the first one."""
        return self.queues.figures()

    def may_write(self) -> bool:
        """The fence: asked before every write."""
        return not self.stopped and (self.leader is None or self.leader.holds())

    def use(self, policy: Policy) -> None:
        """Decide by another policy from the next cycle on."""
        self.log.say("policy", name=policy.name)
        names_changed = policy.ours != self.loop.policy.ours
        remembered = self.world.queues.usage
        self.loop.policy = policy
        self._forgetful = self._forgetful or self.world.queues.usage is not remembered
        self.world.read_labels(policy.label_keys)
        self.world.read_devices(policy.devices)
        self.feed.lacks(policy.asks, self.log)
        if names_changed:
            # Whose pods are ours is decided when they are read: read all of them again.
            self.feed.schedulers = policy.ours
            self.feed.forget_versions()
            self.relist()
        self.telling.policy(None)
        self._wake.set()

    def take_history(self, text: dict[str, object]) -> str | None:
        """Decide by another history from the next cycle on; return a sentence if it cannot be used."""
        why = self.queues.begin_with(text)
        self._wake.set()
        return why

    async def remember_all(self) -> None:
        """Write down what the queues have used before we go: whoever comes next goes on from there."""
        if self.feed.ready and self.may_write() and self.queues.write_history():
            await self.writes.settle()

    async def leave(self) -> None:
        """Let binds that are on their way finish, and hand over to whoever comes next."""
        self.log.say("stopping", binds=self.binder.in_flight)
        self.leaving = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL):
                await self.binder.settle()
                await self.remember_all()
        if self.leader is not None:
            await self.leader.release()

    async def run(self) -> None:
        """Schedule until cancelled."""
        async with asyncio.TaskGroup() as group:
            for reflector in self.reflectors:
                group.create_task(reflector.run())
            group.create_task(self.binder.run())
            group.create_task(self.keeper.run())
            group.create_task(self.claims.run())
            group.create_task(self.room.run())
            group.create_task(self.writes.run())
            group.create_task(self.telling.run())
            group.create_task(self._cycles())
            if self.leader is not None:
                group.create_task(self._follow_lease(self.leader))

    async def _follow_lease(self, leader: Leader) -> None:
        """On winning, look at everything anew: what we kept while somebody else wrote may have gaps."""
        while True:
            await leader.won.wait()
            self.log.say("leading", lease=leader.name)
            self.keeper.lead()
            self._forgetful = True
            if self.feed.ready:
                self.relist()
            self._wake.set()
            await leader.lost.wait()
            self.log.say("no-longer-leading", lease=leader.name)
            for bind in self.binder.drop():
                # Never sent, so it is certain that it did not land.
                self.world.confirm(Bound(bind.uid, bind.node, Result.REFUSED, self.clock.now()))

    def relist(self) -> None:
        """List every kind again and compare."""
        for reflector in self.reflectors:
            reflector.relist()

    async def _cycles(self) -> None:
        first = True
        while True:
            await _within(TICK, self._wake)
            self._wake.clear()
            if not self.feed.ready:
                continue
            if self.stopped:
                self.stopped = False
                self.log.say("resumed", missed=self.feed.missed)
            if self.may_write() and not self.leaving:
                if self._forgetful:
                    self._forgetful = False
                    self.queues.recall()
                self.binder.ask_again()
                started = self.clock.monotonic()
                self.cycle()
                self.nominations.follow(self.room.under_way)
                self.keeper.sweep()
                self.claims.sweep()
                self.queues.flush()
                if first:
                    first = False
                    keep_all()
                await self._gather(self.clock.monotonic() - started)

    async def _gather(self, took: float) -> None:
        """Listen before the next cycle, and longer than one takes while binds and evictions are under way.

        Nothing is sent or heard during a cycle: long ones without a pause would starve what they decide on. And what
        is decided while binds wait for their turn is sent after them, so that it may as well be decided later.
        """
        await asyncio.sleep(GATHER)
        if not self.room.idle:
            await _within(min(8 * took, 3 * TICK), self.room.calm)
        elif not self.binder.idle:
            await _within(TICK, self.binder.all_sent)
            await asyncio.sleep(min(took, TICK))

    def cycle(self) -> None:
        """Decide once, if that is due, and hand over."""
        self._aside.tell()
        self._splits.tell()
        try:
            plan = decided(self.loop, self.clock, self.metrics, self.log, self._short.see)
        except Violation as violation:
            self._stop(violation)
            return
        if plan is not None:
            self._carry_out(plan)

    def _carry_out(self, plan: Plan) -> None:
        """Hand every step to whoever carries it out or tells of it."""
        self.binder.submit(plan.binds)
        self.room.submit(plan)
        self.nominations.submit(plan)
        self.telling.plan(plan)

    def _stop(self, violation: Violation) -> None:
        """A broken promise stops binding, not the process: list everything anew, then go on."""
        self.stopped = True
        self.log.say("invariant-broken", promise=str(violation), then="binding stops until everything is listed anew")
        self.relist()

    def _settled(self, settled: Settled) -> None:
        """Take in one outcome, at once: the next cycle must see it."""
        bind, now = settled.bind, self.clock.now()
        self.metrics.bind(settled.result.value)
        if settled.result is Result.UNKNOWN:
            return
        self.world.confirm(Bound(bind.uid, bind.node, settled.result, now))
        if settled.result is Result.OK:
            self._refusals.pop(bind.gang_key, None)
            self.telling.bound(bind)
            return
        self.log.say("bind-refused", pod=bind.task, node=bind.node, gang=bind.gang, why=settled.why)
        times = self._refusals[bind.gang_key] = self._refusals.get(bind.gang_key, 0) + 1
        rest = min(2.0 ** (times - 1), BACKOFF_MAX)
        self.world.rest(bind.gang_key, now + rest, f"its bind was refused: {settled.why}")
        self._wake.set()


async def _within(seconds: float, event: asyncio.Event) -> None:
    """Wait for an event, at most so long."""
    # Not wait_for: until Python 3.12 it may lose a cancellation that comes together with the answer.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
