"""Turns: where a program on the node gives devices to one pod at a time, binds of that node go one after the other.

Some programs know whose turn it is by an annotation of the node, a lock, which they take away when they are done. It is
written before the bind. Nothing is remembered: whoever leads next finds the lock, and who has it.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Collection

import msgspec

from phalanx.dialects.core.sides import NodeSide
from phalanx.kube.client import MERGE_PATCH, Client, Reply, Unanswered
from phalanx.kube.clock import Clock, stamp
from phalanx.kube.feed import Feed
from phalanx.kube.kinds import PODS
from phalanx.kube.log import Log
from phalanx.kube.reserving.node_sides import side_of
from phalanx.model.outcome import Result
from phalanx.model.plan import Bind
from phalanx.model.task import State
from phalanx.world.views import task_of
from phalanx.world.world import World

#: Looked so often whether it is the next one's turn. The program needs some hundredths of a second.
LOOK = 0.1
#: So long a pod waits for its turn, and so long the one before it may take: a lock is void after that, as at HAMi.
PATIENCE, VOID = 90.0, 300.0
#: So old must a lock be before we judge by what we know of its pod.
PAUSE = 10.0
_FINAL = {400, 401, 403, 404, 422}


class _ForbiddenError(Exception):
    """What asking again would not change."""


class Turns:
    """Takes binds; hands on each when it is its turn."""

    def __init__(
        self, client: Client, feed: Feed, world: World, clock: Clock, log: Log, fence: Callable[[], bool]
    ) -> None:
        self._client = client
        self._feed = feed
        self._world = world
        self._clock = clock
        self._log = log
        self._fence = fence
        #: Set by the binder: who is handed on, and who has waited too long.
        self.go: Callable[[Bind], None] = lambda _: None
        self.refuse: Callable[[Bind, str], None] = lambda _, __: None
        self._waiting: dict[str, deque[Bind]] = {}
        self._workers: dict[str, asyncio.Task[None]] = {}
        #: By uid: what became of the bind of whose turn it is.
        self._outcomes: dict[str, asyncio.Future[Result]] = {}
        self._new: asyncio.Queue[str] = asyncio.Queue()

    def take(self, binds: Collection[Bind]) -> list[Bind]:
        """Take those that need a turn; return the rest."""
        rest = []
        for bind in binds:
            side = side_of(self._world, bind) if bind.devices else None
            if side is None or not side.phase:
                rest.append(bind)
                continue
            if bind.node not in self._waiting:
                self._new.put_nowait(bind.node)
            self._waiting.setdefault(bind.node, deque()).append(bind)
        return rest

    def settled(self, bind: Bind, result: Result) -> None:
        """Take note of what became of a bind."""
        outcome = self._outcomes.get(bind.uid)
        if outcome is not None and not outcome.done():
            outcome.set_result(result)

    def drop(self) -> list[Bind]:
        """Give back what was not handed on."""
        dropped = [bind for line in self._waiting.values() for bind in line if bind.uid not in self._outcomes]
        for worker in self._workers.values():
            worker.cancel()
        self._waiting.clear()
        self._outcomes.clear()
        return dropped

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                node = await self._new.get()
                self._workers[node] = group.create_task(self._serve(node))

    async def _serve(self, node: str) -> None:
        """Give turns on one node until nobody waits there."""
        line = self._waiting.get(node)
        while line:
            await self._turn(line[0])
            line.popleft()
        if self._waiting.get(node) is line:
            self._waiting.pop(node, None)

    async def _turn(self, bind: Bind) -> None:
        side = side_of(self._world, bind)
        known = self._feed.of(PODS, bind.uid)
        if side is None or known is None:
            self.refuse(bind, "the pod is gone")
            return
        mine = f"{known.namespace},{known.name}"
        why = await self._begin(bind, side, mine)
        if why is not None:
            self.refuse(bind, why)
            return
        outcome = self._outcomes[bind.uid] = asyncio.get_running_loop().create_future()
        self.go(bind)
        try:
            if await outcome is Result.OK:
                await self._given(bind)
        finally:
            self._outcomes.pop(bind.uid, None)
        if side.lock:
            with contextlib.suppress(_ForbiddenError):
                await self._unlock(bind.node, side, mine)

    async def _begin(self, bind: Bind, side: NodeSide, mine: str) -> str | None:
        """Wait for the turn; return why it did not come."""
        until, why = self._clock.monotonic() + PATIENCE, ""
        while self._clock.monotonic() < until:
            if bind.node in self._feed.allocating.values():
                why = "its program has not given another pod its devices yet"
            else:
                try:
                    why = await self._lock(bind.node, side, mine) if side.lock else ""
                except _ForbiddenError as refusal:
                    return f"{side.lock} of {bind.node} could not be written: {refusal}"
                if not why:
                    return None
            await asyncio.sleep(LOOK)
        return f"no turn came for it on {bind.node}: {why}"

    async def _given(self, bind: Bind) -> None:
        """Wait until the program has given the pod its devices, or the pod is gone."""
        until = self._clock.monotonic() + VOID
        # What the watch tells of the bind comes first.
        seen = False
        while self._clock.monotonic() < until and self._feed.of(PODS, bind.uid) is not None:
            there = bind.uid in self._feed.allocating
            seen = seen or there or self._clock.monotonic() > until - VOID + 1.0
            if seen and not there:
                return
            await asyncio.sleep(LOOK)

    async def _lock(self, node: str, side: NodeSide, mine: str) -> str:
        """Write whose turn it is, unless it is another's; return whose, or why it cannot be written."""
        held, version, why = await self._read(node, side)
        if not version:
            return why
        said, _, owner = held.partition(",")
        if owner not in {"", mine} and not self._void(said, owner):
            return f"{side.lock} is held by {owner}"
        reply = await self._write(node, {side.lock: f"{stamp(self._clock.now())},{mine}"}, version)
        return "" if reply is not None and reply.ok else f"{side.lock} could not be written"

    def _void(self, said: str, owner: str) -> bool:
        """Tell whether a lock is nobody's any more: it is old, or its pod has its devices, or we did not bind it."""
        now = self._clock.now()
        if said <= stamp(now - VOID):
            return True
        if said > stamp(now - PAUSE):
            return False
        namespace, _, name = owner.partition(",")
        pods = self._feed.known.get(PODS, {})
        uid = next((uid for uid, pod in pods.items() if (pod.namespace, pod.name) == (namespace, name)), "")
        task = task_of(self._world, uid)
        return uid not in self._feed.allocating and (task is None or task.ours or task.state is not State.PENDING)

    async def _unlock(self, node: str, side: NodeSide, mine: str) -> None:
        """Take the lock away if it is still there: the program does so when it is done."""
        for _ in range(5):
            held, version, _ = await self._read(node, side)
            if held.partition(",")[2] != mine or not self._fence():
                return
            reply = await self._write(node, {side.lock: None}, version)
            if reply is not None and reply.ok:
                return
            await asyncio.sleep(LOOK)

    async def _read(self, node: str, side: NodeSide) -> tuple[str, str, str]:
        """Return what the lock of a node says, the node's version, and why it cannot be read."""
        reply = await self._ask("GET", node)
        if reply is None or not reply.ok:
            return "", "", "the node could not be read"
        meta = reply.json()["metadata"]
        return (meta.get("annotations") or {}).get(side.lock, ""), meta["resourceVersion"], ""

    async def _write(self, node: str, annotations: dict[str, str | None], version: str) -> Reply | None:
        if not self._fence():
            return None
        return await self._ask("PATCH", node, {"metadata": {"resourceVersion": version, "annotations": annotations}})

    async def _ask(self, method: str, node: str, body: object = None) -> Reply | None:
        data = None if body is None else msgspec.json.encode(body)
        try:
            reply = await self._client.request(method, f"/api/v1/nodes/{node}", body=data, content_type=MERGE_PATCH)
        except Unanswered:
            return None
        if reply.status in _FINAL:
            raise _ForbiddenError(reply.message)
        return reply
