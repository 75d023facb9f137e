"""The event writer: sends events behind everything else, so many a second, and keeps what the server did not take.

It is apart from `Writes`: a server that takes no events must not delay a condition or a nomination.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from phalanx.kube.client import Client, Unanswered
from phalanx.kube.clock import Clock
from phalanx.kube.log import Log
from phalanx.kube.writes import TRIES_MAX, Write

#: Enough for the default rate while an answer takes 40 ms.
WORKERS = 4
#: What was not used is made up for so many seconds at most, so that the rate holds in each second.
CREDIT = 0.05
#: Events that are told once, and second halves. Beyond this the oldest is dropped, and counted.
ONCE_MAX = 5_000
PAUSE_MAX = 60.0
#: Failures in a row before they are said.
SAID_AFTER = 5
#: Refusals are said at most once in so many seconds.
REFUSAL_PERIOD = 60.0


class Source(Protocol):
    """Whoever makes writes when there is time for them."""

    #: How many were given up because there were too many.
    dropped: int

    @property
    def lanes(self) -> Sequence[Callable[[], Write | None]]:
        """What makes the next write, by how urgent it is."""

    @property
    def waiting(self) -> int:
        """How many writes are still to come."""


@dataclass(frozen=True, slots=True)
class EventCounts:
    """What became of events so far, and how many wait."""

    written: int = 0
    refused: int = 0
    dropped: int = 0
    waiting: int = 0


class EventWriter:
    """A few workers with one pace."""

    def __init__(
        self, client: Client, fence: Callable[[], bool], busy: Callable[[], bool], clock: Clock, log: Log, rate: float,
        told: Callable[[], bool] = lambda: False,
    ) -> None:  # fmt: skip
        self._client = client
        self._fence = fence
        self._busy = busy
        self._clock = clock
        self._log = log
        self._rate = rate
        #: Asked when an event was forbidden: whether everybody knows by now that rights are missing.
        self._told = told
        self._sources: list[Source] = []
        self._lanes: list[Callable[[], tuple[Write, int] | None]] = [self._take_once]
        #: With how often it was tried already.
        self._once: deque[tuple[Write, int]] = deque()
        self._turn = 0
        self._there = asyncio.Event()
        #: When the next one may be sent, by the rate, and after a failure.
        self._at = float("-inf")
        self._paused_until = float("-inf")
        self._vain = 0
        self._refusal_at = float("-inf")
        self._written = 0
        self._refused = 0
        self._dropped = 0

    def submit(self, write: Write) -> None:
        """Queue an event that is told once; never waits."""
        if self._rate:
            self._keep(write, 0)

    def wake(self) -> None:
        """A source has something."""
        self._there.set()

    def join(self, source: Source) -> None:
        """Send what this source makes, too: each lane in its turn, so that none waits for a long one."""
        self._sources.append(source)
        self._lanes += [_untried(lane) for lane in source.lanes]

    @property
    def counts(self) -> EventCounts:
        """Return what became of events so far."""
        waiting = len(self._once) + sum(source.waiting for source in self._sources)
        dropped = self._dropped + sum(source.dropped for source in self._sources)
        return EventCounts(self._written, self._refused, dropped, waiting)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(WORKERS):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            await self._there.wait()
            pause = self._pause()
            if pause > 0:
                await asyncio.sleep(pause)
                continue
            found = self._next()
            if found is None:
                self._there.clear()
                continue
            write, tries = found
            if write.still_true is None or write.still_true():
                self._at = max(self._at, self._clock.monotonic() - CREDIT) + 1 / self._rate
                await self._send(write, tries)

    def _pause(self) -> float:
        """Return how long nothing may be sent."""
        if not self._fence():
            return 0.25
        if self._busy():
            return CREDIT
        # In pieces: a clock that was asked for a long pause does not hear that the server is well again.
        return min(max(self._at, self._paused_until) - self._clock.monotonic(), 1.0)

    def _next(self) -> tuple[Write, int] | None:
        """Let each lane have its turn; what it does not use goes to the others, the most urgent one first."""
        self._turn = (self._turn + 1) % len(self._lanes)
        for take in (self._lanes[self._turn], *self._lanes):
            found = take()
            if found is not None:
                return found
        return None

    def _take_once(self) -> tuple[Write, int] | None:
        return self._once.popleft() if self._once else None

    async def _send(self, write: Write, tries: int) -> None:
        try:
            reply = await self._client.request(
                write.method, write.path, body=write.body, content_type=write.content_type
            )
        except Unanswered as silence:
            self._failed(write, tries, str(silence), 0.0)
            return
        if reply.status == 429 or reply.status >= 500:
            self._failed(write, tries, reply.message, reply.retry_after if reply.status == 429 else 0.0)
            return
        if self._vain >= SAID_AFTER:
            self._log.say("events-written-again", waiting=self.counts.waiting)
        self._vain = 0
        if reply.ok or (reply.status == 409 and tries):
            # There already: it was the answer that got lost.
            self._written += 1
        elif reply.status in {404, 409} and write.done is not None:
            write.done(reply)
        else:
            self._refused += 1
            self._say_refused(reply.status, reply.message, write.path)

    def _failed(self, write: Write, tries: int, why: str, rest: float) -> None:
        """Rest, longer each time, and try again: nothing else waits for events."""
        if tries + 1 < TRIES_MAX:
            self._keep(write, tries + 1, first=True)
        else:
            self._dropped += 1
        self._vain += 1
        if self._vain == SAID_AFTER:
            self._log.say("events-put-off", why=why, waiting=self.counts.waiting)
        pause = max(min(0.25 * 2 ** min(self._vain, 10), PAUSE_MAX), rest)
        self._paused_until = max(self._paused_until, self._clock.monotonic() + pause)

    def _keep(self, write: Write, tries: int, *, first: bool = False) -> None:
        if len(self._once) >= ONCE_MAX:
            self._once.popleft()
            self._dropped += 1
        if first:
            self._once.appendleft((write, tries))
        else:
            self._once.append((write, tries))
        self._there.set()

    def _say_refused(self, status: int, why: str, path: str) -> None:
        """Say it once a minute: a namespace on its way out refuses an event for each of its pods."""
        now = self._clock.monotonic()
        known = status in {404, 409} or (status == 403 and self._told())
        if not known and now - self._refusal_at >= REFUSAL_PERIOD:
            self._refusal_at = now
            self._log.say("event-refused", path=path, answer=why, refused=self._refused)


def _untried(lane: Callable[[], Write | None]) -> Callable[[], tuple[Write, int] | None]:
    def take() -> tuple[Write, int] | None:
        write = lane()
        return None if write is None else (write, 0)

    return take
