"""Writes that nobody waits for: conditions, events, nominations. They give way to binds and are never lost silently."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from phalanx.kube.client import Client, Reply, Unanswered
from phalanx.kube.log import Log

WORKERS = 8
#: Beyond this the oldest is dropped: a flood of reasons must not fill the memory.
QUEUE_MAX = 20_000
TRIES_MAX = 6
PAUSE_MAX = 10.0
#: What fails for one pod fails for thousands: it is said at most once in so many seconds.
SAID_PERIOD = 60.0


@dataclass(frozen=True, slots=True)
class Write:
    """One request, and what to do with its answer."""

    method: str
    path: str
    body: bytes
    content_type: str = "application/json"
    done: Callable[[Reply], None] | None = None
    #: Asked again just before sending: what was true when it was queued may not be any more.
    still_true: Callable[[], bool] | None = None
    #: Called when it was given up: the server never had it, its answer was lost, or we do not lead any more.
    lost: Callable[[], None] | None = None


class Writes:
    """A bounded queue with a few workers."""

    def __init__(
        self, client: Client, fence: Callable[[], bool], busy: Callable[[], bool], log: Log,
        told: Callable[[], bool] = lambda: False,
    ) -> None:  # fmt: skip
        self._client = client
        self._fence = fence
        self._busy = busy
        self._log = log
        #: Asked when a write was forbidden: whether everybody knows by now that rights are missing.
        self._told = told
        self._waiting: deque[Write] = deque()
        #: What is made when it is its turn: a hundred thousand conditions are never in the memory at once.
        self._making: deque[Iterator[Write]] = deque()
        self._there = asyncio.Event()
        self.dropped = 0
        self.sent = 0
        #: What was said of writes that failed: how often it would have been by now, and when it was.
        self._failed: Counter[str] = Counter()
        self._said_at: dict[str, float] = {}
        self._sending = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    def submit(self, write: Write) -> None:
        """Queue a write; never waits."""
        if len(self._waiting) >= QUEUE_MAX:
            _lose(self._waiting.popleft())
            self.dropped += 1
        self._waiting.append(write)
        self._quiet.clear()
        self._there.set()

    def submit_each(self, writes: Iterator[Write]) -> None:
        """Queue writes that are made one by one, after those that are there; never waits."""
        self._making.append(writes)
        self._quiet.clear()
        self._there.set()

    @property
    def idle(self) -> bool:
        """Tell whether nothing is queued."""
        return not self._waiting and not self._making

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(WORKERS):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            if self.idle:
                self._there.clear()
                await self._there.wait()
                continue
            if self._busy():
                await asyncio.sleep(0.02)
                continue
            self._sending += 1
            try:
                write = self._next()
                if write is not None:
                    await self._send(write)
            finally:
                self._sending -= 1
                if self.idle and not self._sending:
                    self._quiet.set()

    def _next(self) -> Write | None:
        if self._waiting:
            return self._waiting.popleft()
        while self._making:
            write = next(self._making[0], None)
            if write is not None:
                return write
            self._making.popleft()
        return None

    async def settle(self) -> None:
        """Wait until everything that was queued has been sent and answered."""
        await self._quiet.wait()

    async def _send(self, write: Write) -> None:
        for attempt in range(TRIES_MAX):
            if not self._fence():
                _lose(write)
                return
            if not (write.still_true is None or write.still_true()):
                return
            pause = min(0.1 * 2**attempt, PAUSE_MAX)
            try:
                self.sent += 1
                reply = await self._client.request(
                    write.method, write.path, body=write.body, content_type=write.content_type
                )
            except Unanswered:
                await asyncio.sleep(pause)
                continue
            if reply.status != 429 and reply.status < 500:
                if not (reply.ok or reply.status in {404, 409} or (reply.status == 403 and self._told())):
                    self._say("write-refused", write, answer=reply.message)
                if write.done is not None:
                    write.done(reply)
                return
            await asyncio.sleep(max(pause, reply.retry_after if reply.status == 429 else 0.0))
        self._say("write-given-up", write, tries=TRIES_MAX)
        _lose(write)

    def _say(self, what: str, write: Write, **fields: str | int) -> None:
        self._failed[what] += 1
        now = asyncio.get_running_loop().time()
        if now - self._said_at.get(what, float("-inf")) >= SAID_PERIOD:
            self._said_at[what] = now
            self._log.say(what, path=write.path, **fields, so_far=self._failed[what])


def _lose(write: Write) -> None:
    if write.lost is not None:
        write.lost()
