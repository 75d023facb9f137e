"""Making room on a cluster: the evictions of a plan, gang by gang, each a small transaction.

First the places are written on the pods of the gang for which room is made: whatever happens to us after that, the
next scheduler keeps them. Then its victims are asked to leave, those under a disruption budget first and one by one.
After a refusal nobody else leaves for that gang: it rests, and the next cycle gives up what was promised to it.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from phalanx.engine.eviction.step_back import STEP_BACK
from phalanx.kube.client import MERGE_PATCH, Client, Reply, Unanswered
from phalanx.kube.clock import Clock
from phalanx.kube.events import Events, shown
from phalanx.kube.evictions import Answer, Pace, answer_of, request_of
from phalanx.kube.feed import Feed
from phalanx.kube.kinds import PODS
from phalanx.kube.log import Log
from phalanx.kube.metrics import Metrics
from phalanx.kube.nominations import request_of as nomination_of
from phalanx.model.outcome import Evicted, Result
from phalanx.model.plan import Evict, Nominate, Plan
from phalanx.model.task import State
from phalanx.world.indexes import subtract
from phalanx.world.views import task_of
from phalanx.world.world import World

#: As many at once: with 32 an API server on two cores had time left, and a reclaim took an eighth longer.
IN_FLIGHT = 48
TRIES_MAX = 6
PAUSE_MAX = 10.0
#: A gang for which an eviction was refused rests: 5, 10, 20 … seconds.
REST, REST_MAX = 5.0, 300.0
#: What an event on a victim is called.
RULES = {
    "preempt": "Preempted", "reclaim": "Reclaimed", "consolidate": "Consolidated", "evict_stale": "StaleGang",
    STEP_BACK: "SteppedBack",
}  # fmt: skip


@dataclass(slots=True)
class Making:
    """Who leaves for one gang, or (no key) because the victims' own gang is broken."""

    gang: str | None
    key: str | None
    evicts: list[Evict] = field(default_factory=list[Evict])
    nominates: list[Nominate] = field(default_factory=list[Nominate])
    #: Where a place is kept for the pod that will be made instead of one who leaves, by uid.
    moved: dict[str, str] = field(default_factory=dict[str, str])
    #: Who was asked to leave and does.
    left: list[str] = field(default_factory=list[str])
    #: Why nobody else is asked.
    refused: str | None = None


class MakingRoom:
    """Takes plans; asks victims to leave; tells the world what became of it."""

    def __init__(
        self, client: Client, feed: Feed, world: World, events: Events, clock: Clock, metrics: Metrics, log: Log,
        fence: Callable[[], bool], wake: Callable[[], None], rate: float,
    ) -> None:  # fmt: skip
        self._client = client
        self._feed = feed
        self._world = world
        self._events = events
        self._clock = clock
        self._metrics = metrics
        self._log = log
        self._fence = fence
        self._wake = wake
        self._pace = Pace(rate, clock.monotonic)
        self._door = asyncio.Semaphore(IN_FLIGHT)
        #: Gang by gang: the first one's victims leave before the places of the last one are written.
        self._turn = asyncio.Semaphore(IN_FLIGHT)
        self._waiting: asyncio.Queue[Making] = asyncio.Queue()
        #: Keys of the gangs for which room is being made; "" for nobody.
        self.under_way: Counter[str] = Counter()
        #: Set while nobody is asked to leave.
        self.calm = asyncio.Event()
        self.calm.set()
        self._refusals: dict[str, int] = {}

    @property
    def idle(self) -> bool:
        """Tell whether everything that was asked for is done."""
        return not self.under_way

    def submit(self, plan: Plan) -> None:
        """Take the evictions of a plan; never waits."""
        for making in makings(plan):
            self._say(making)
            self.under_way[making.key or ""] += 1
            self.calm.clear()
            self._waiting.put_nowait(making)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                group.create_task(self._carry_out(await self._waiting.get()))

    async def _carry_out(self, making: Making) -> None:
        async with self._turn:
            await asyncio.gather(*(self._announce(making, step) for step in making.nominates))
            # A refusal is to be expected where there is a budget: whoever comes after it is not asked any more.
            covered = [step for step in making.evicts if self._world.budgets.covers(step.uid)]
            for step in covered:
                await self._evict(making, step)
            under = {step.uid for step in covered}
            await asyncio.gather(*(self._evict(making, step) for step in making.evicts if step.uid not in under))
        if making.refused is not None:
            self._give_up(making, making.refused)
        else:
            self._refusals.pop(making.key or making.evicts[0].victim_key, None)
        subtract(self.under_way, [making.key or ""])
        if self.idle:
            self.calm.set()
        self._wake()

    async def _announce(self, making: Making, step: Nominate) -> None:
        """Write the place on the pod that will take it."""
        while making.refused is None and self._wanted(step):
            known = self._feed.of(PODS, step.uid)
            assert known is not None, "a task that is there is known"
            if known.nominated == step.node:
                return
            reply = await self._ask("PATCH", *nomination_of(known, step.node), MERGE_PATCH)
            if reply is not None and reply.ok:
                known.nominated = step.node
                return
            if reply is not None and reply.status < 500 and reply.status != 429:
                making.refused = making.refused or f"its place could not be written on {step.task}: {reply.message}"
            else:
                await asyncio.sleep(1.0)

    def _wanted(self, step: Nominate) -> bool:
        """Tell whether a place is still to be kept: the pod waits, and no later plan found another."""
        task = task_of(self._world, step.uid)
        waits = task is not None and task.state is State.PENDING and task.nominated == step.node
        return waits and self._fence() and self._feed.of(PODS, step.uid) is not None

    async def _evict(self, making: Making, step: Evict) -> None:
        """Ask one victim to leave, unless there is no reason for it any more."""
        answer, why = Answer.REFUSED, ""
        if making.refused is None and self._has_reason(making):
            answer, why = await self._asked(making, step)
        if answer is Answer.REFUSED:
            self._world.confirm(Evicted(step.uid, Result.REFUSED))
            if why:
                self._metrics.eviction(step.action, Result.REFUSED)
                making.refused = making.refused or f"{step.task} was not evicted: {why}"
            return
        making.left.append(step.task)
        self._world.confirm(Evicted(step.uid, Result.OK))
        if answer is Answer.LEAVING:
            self._metrics.eviction(step.action, Result.OK)
            self._tell_victim(making, step)

    def _has_reason(self, making: Making) -> bool:
        """Tell whether the gang still waits for the room: it may have found another place, or be gone."""
        return not making.nominates or any(self._wanted(step) for step in making.nominates)

    async def _asked(self, making: Making, step: Evict) -> tuple[Answer, str]:
        why = "the server gave no answer"
        for attempt in range(TRIES_MAX):
            known = self._feed.of(PODS, step.uid)
            if known is None:
                return Answer.GONE, ""
            await self._pace.turn()
            async with self._door:
                if making.refused is not None or not self._fence():
                    return Answer.REFUSED, ""
                reply = await self._request("POST", *request_of(known))
                answer = answer_of(reply) if reply is not None else Answer.AGAIN
                if answer is Answer.UNCLEAR:
                    answer = await self._read(known.namespace, known.name, step.uid)
            if answer is not Answer.AGAIN:
                return answer, reply.message if reply is not None else ""
            why = reply.message if reply is not None else why
            pause = min(0.1 * 2**attempt, PAUSE_MAX)
            await asyncio.sleep(max(pause, reply.retry_after if reply is not None and reply.status == 429 else 0.0))
        return Answer.REFUSED, why

    async def _read(self, namespace: str, name: str, uid: str) -> Answer:
        """Look whether the pod that we mean is still there."""
        reply = await self._request("GET", f"/api/v1/namespaces/{namespace}/pods/{name}", None)
        if reply is None or not (reply.ok or reply.status == 404):
            return Answer.AGAIN
        meta = reply.json()["metadata"] if reply.ok else {}
        if meta.get("uid") != uid:
            return Answer.GONE
        return Answer.LEAVING if "deletionTimestamp" in meta else Answer.AGAIN

    async def _ask(self, method: str, path: str, body: bytes, kind: str) -> Reply | None:
        async with self._door:
            return await self._request(method, path, body, kind)

    async def _request(
        self, method: str, path: str, body: bytes | None, kind: str = "application/json"
    ) -> Reply | None:
        try:
            return await self._client.request(method, path, body=body, content_type=kind)
        except Unanswered:
            return None

    def _give_up(self, making: Making, why: str) -> None:
        """Let a gang rest after a refusal; the next cycle gives up what is promised to it."""
        self._log.say("eviction-refused", gang=making.gang, why=why, evicted=len(making.left))
        now, first = self._clock.now(), making.evicts[0]
        if making.key is None and first.action == STEP_BACK:
            # A gang that rested is given the whole deadline again before it is asked to step back once more.
            self._world.rest(first.victim_key, now + REST, why)
            return
        key = making.key or first.victim_key
        times = self._refusals[key] = self._refusals.get(key, 0) + 1
        rest = min(REST * 2.0 ** (times - 1), REST_MAX)
        if making.key is None:
            self._world.rest(key, now + rest, why, stays=True)
            return
        self._world.rest(making.key, now + rest, why, forfeits=True)
        gone = f"already evicted for it: {shown(making.left)}" if making.left else "nobody was evicted for it"
        self._events.tell(making.key, "Warning", "EvictionRefused", "Evicting", f"{why}; {gone}")

    def _tell_victim(self, making: Making, step: Evict) -> None:
        namespace, _, name = step.task.partition("/")
        regarding = {"kind": "Pod", "apiVersion": "v1", "name": name, "namespace": namespace, "uid": step.uid}
        whom = f"evicted for {step.beneficiary}: " if step.beneficiary is not None else "evicted: "
        where = making.moved.get(step.uid)
        note = whom + step.reason + (f"; a place on {where} is kept for its successor" if where else "")
        self._events.about(regarding, "Normal", RULES.get(step.action, "Evicted"), "Evicting", note)

    def _say(self, making: Making) -> None:
        """One line per gang for which room is made."""
        first, count = making.evicts[0], len(making.evicts)
        victims = shown([step.task for step in making.evicts])
        if first.action == STEP_BACK:
            self._log.say("stepping-back", pods=count, victims=victims, why=first.reason)
            self._events.tell(first.victim_key, "Warning", "GangIncomplete", "Evicting", first.reason)
            return
        self._log.say("making-room", gang=making.gang, action=first.action, evicts=count, victims=victims)
        if making.key is not None:
            note = f"{count} pods are asked to leave for it ({first.action}): {victims}"
            self._events.tell(making.key, "Normal", "MakingRoom", "Evicting", note)


def makings(plan: Plan) -> list[Making]:
    """Return the evictions of a plan by whom they are for; those for nobody by the gang that they leave."""
    found: dict[tuple[str | None, str], Making] = {}
    for step in plan.steps:
        if isinstance(step, Evict):
            place = (step.gang_key, "" if step.gang_key is not None else step.victim_key)
            found.setdefault(place, Making(step.beneficiary, step.gang_key)).evicts.append(step)
    leaving = {step.uid: making for making in found.values() for step in making.evicts}
    for step in plan.steps:
        if isinstance(step, Nominate) and step.uid in leaving:
            leaving[step.uid].moved[step.uid] = step.node
        elif isinstance(step, Nominate) and (step.gang_key, "") in found:
            found[step.gang_key, ""].nominates.append(step)
    return list(found.values())
