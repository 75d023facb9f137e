"""The binder carries out binds, apart from the decisions: many in flight, each until its outcome is known.

A bind that gets no answer has most likely landed. It is not given up and not placed elsewhere: the pod is read
back, and while it is still unbound the same bind is sent again. Both carry uid and resourceVersion, so that at
most one of them lands, and either way on the same node.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from phalanx.dialects.read import read_json
from phalanx.kube.client import Client, Reply, Unanswered
from phalanx.kube.clock import Clock
from phalanx.kube.feed import Feed, Known
from phalanx.kube.kinds import PODS
from phalanx.kube.log import Log
from phalanx.kube.prepare import Preparation, Preparing
from phalanx.kube.reserving.turns import Turns
from phalanx.model.events import TaskSeen
from phalanx.model.outcome import Result
from phalanx.model.plan import Bind
from phalanx.model.task import State, Task
from phalanx.world.views import task_of
from phalanx.world.world import World

IN_FLIGHT = 48
PAUSE_MAX = 5.0
#: A bind was seen to be answered after 34 seconds: a little more than that, then read the pod instead.
ANSWER_TIMEOUT = 40.0


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of one bind, and in words why not."""

    bind: Bind
    result: Result
    why: str = ""


class Binder:
    """Takes binds; tells the outcome of each."""

    def __init__(
        self,
        client: Client,
        feed: Feed,
        world: World,
        schedulers: Collection[str],
        fence: Callable[[], bool],
        settled: Callable[[Settled], None],
        log: Log,
        preparations: Sequence[Preparation] = (),
    ) -> None:
        self._client = client
        self._feed = feed
        self._world = world
        self._schedulers = schedulers
        self._fence = fence
        self._settled = settled
        self._log = log
        self._preparing = Preparing(preparations, self._enter, self._unprepared)
        self._turns = Turns(client, feed, world, Clock(), log, fence)
        self._turns.go, self._turns.refuse = lambda bind: self._send([bind]), self._unprepared
        self._waiting: deque[Bind] = deque()
        self._there = asyncio.Event()
        #: Binds that were on their way when we lost the right to write: they keep their charge.
        self._unknown: list[Bind] = []
        self.in_flight = 0
        #: Set while no bind waits for its turn to be sent.
        self.all_sent = asyncio.Event()
        self.all_sent.set()

    @property
    def idle(self) -> bool:
        """Tell whether every bind that can be sent was settled. What is being prepared may take long."""
        return not self._waiting and not self.in_flight

    def submit(self, binds: Collection[Bind]) -> None:
        """Queue binds, or first have prepared what they need; never waits."""
        self._enter(self._preparing.take(binds))

    def _enter(self, binds: Collection[Bind]) -> None:
        self._send(self._turns.take(binds))

    def _send(self, binds: Collection[Bind]) -> None:
        self._waiting.extend(binds)
        self._there.set()
        self._note_whether_sent()

    def _note_whether_sent(self) -> None:
        if self._waiting:
            self.all_sent.clear()
        else:
            self.all_sent.set()

    def _unprepared(self, bind: Bind, why: str) -> None:
        self._preparing.settled(bind, refused=True)
        self._settled(Settled(bind, Result.REFUSED, why))

    def ask_again(self) -> None:
        """Send the binds of which we do not know what became of them once more: what landed answers 409."""
        again, self._unknown = self._unknown, []
        found = ((bind, task_of(self._world, bind.uid)) for bind in again)
        self._send([
            bind for bind, task in found if task and task.state is State.BINDING and task.node == bind.node
        ])  # fmt: skip

    def drop(self) -> list[Bind]:
        """Give back what was never sent: we are no longer the one who writes."""
        never_sent = [*self._waiting, *self._preparing.drop(), *self._turns.drop()]
        self._waiting.clear()
        self._note_whether_sent()
        return never_sent

    async def settle(self) -> None:
        """Wait until every bind was settled."""
        while not self.idle:  # noqa: ASYNC110 (asked once in a process's life)
            await asyncio.sleep(0.02)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._preparing.run())
            group.create_task(self._turns.run())
            for _ in range(IN_FLIGHT):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            if not self._waiting:
                self._there.clear()
                await self._there.wait()
                continue
            bind = self._waiting.popleft()
            self._note_whether_sent()
            self.in_flight += 1
            try:
                settled = await self._bind(bind)
                if settled.result is Result.UNKNOWN:
                    self._unknown.append(bind)
                else:
                    self._preparing.settled(bind, refused=settled.result is Result.REFUSED)
                    self._turns.settled(bind, settled.result)
                self._settled(settled)
            finally:
                self.in_flight -= 1

    async def _bind(self, bind: Bind) -> Settled:
        tries = 0
        while self._fence():
            known = self._feed.of(PODS, bind.uid)
            if known is None:
                return Settled(bind, Result.REFUSED, "the pod is gone")
            path = f"/api/v1/namespaces/{known.namespace}/pods/{known.name}"
            reply = await self._ask("POST", f"{path}/binding", _body(bind, known, self._preparing.annotations(bind)))
            if reply is not None and reply.ok:
                return Settled(bind, Result.OK)
            if reply is not None and reply.status in {400, 403, 404, 422}:
                return Settled(bind, Result.REFUSED, reply.message)
            if reply is not None and reply.status == 429:
                await asyncio.sleep(reply.retry_after)
                continue
            answer = await self._read_back(bind, path)
            if answer is not None:
                return answer
            tries += 1
            await asyncio.sleep(min(0.02 * 2**tries, PAUSE_MAX))
        return Settled(bind, Result.UNKNOWN, "no longer the leader")

    async def _read_back(self, bind: Bind, path: str) -> Settled | None:  # noqa: PLR0911 (one return per truth)
        """Read the truth; None: it is unbound and as it was, so bind again."""
        reply = await self._ask("GET", path, None)
        if reply is None or reply.status >= 500 or reply.status == 429:
            return None
        if reply.status == 404:
            return Settled(bind, Result.REFUSED, "the pod is gone")
        if not reply.ok:
            return Settled(bind, Result.REFUSED, reply.message)
        raw = msgspec.Raw(reply.body)
        event = read_json("Pod", raw, self._schedulers, "v1")
        if not isinstance(event, TaskSeen) or event.task.uid != bind.uid:
            return Settled(bind, Result.REFUSED, "the pod was made anew or cannot be read any more")
        now = event.task
        if self._feed.of(PODS, bind.uid) is None:
            # The watch told of its deletion while this answer was on its way: taken in, it would be there for ever.
            return Settled(bind, Result.REFUSED, "the pod is gone")
        if now.node is not None:
            self._feed.put(PODS, raw)
            if now.node == bind.node:
                return Settled(bind, Result.OK)
            return Settled(bind, Result.REFUSED, f"somebody else bound it to {now.node}")
        before = task_of(self._world, bind.uid)
        self._feed.put(PODS, raw)
        after = task_of(self._world, bind.uid)
        if before is None or after is None or not _same_wish(before, now, after):
            return Settled(bind, Result.REFUSED, "the pod changed meanwhile")
        return None

    async def _ask(self, method: str, path: str, body: bytes | None) -> Reply | None:
        """Return the answer, or None when there was none."""
        try:
            return await self._client.request(method, path, body=body, timeout=ANSWER_TIMEOUT)
        except Unanswered as silence:
            self._log.say("no-answer", path=path, why=str(silence))
            return None


def _same_wish(before: Task, now: Task, after: Task) -> bool:
    """Tell whether everything that the decision rested on still holds.

    `after`: as the world has it now. What a pod says of devices is a shape only with the devices that there are.
    """
    return (
        now.state is State.PENDING
        and now.hold is None
        and after.shape == before.shape
        and now.membership == before.membership
        and now.labels == before.labels
    )


def _body(bind: Bind, known: Known, annotations: Mapping[str, str]) -> bytes:
    """One write binds: the preconditions make it land on this very pod, as we know it, or not at all."""
    metadata = {
        "name": known.name, "namespace": known.namespace, "uid": bind.uid, "resourceVersion": str(known.version),
    }  # fmt: skip
    return msgspec.json.encode({
        "apiVersion": "v1", "kind": "Binding",
        "metadata": metadata | ({"annotations": annotations} if annotations else {}),
        "target": {"apiVersion": "v1", "kind": "Node", "name": bind.node},
    })  # fmt: skip
