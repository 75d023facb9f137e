"""Events of waiting pods: each says why, and so does whatever made them, once for the gang.

Kept per gang is what is to be told and to whom; a body is made when it is sent.

The API server forgets an event after an hour. So a gang that waits on is told again every `RENEWAL` seconds, at a
moment that follows from its key and from the time of day alone: renewals are spread evenly, and a new leader, which
does not know what the last one told, goes on where that one stopped.
"""

import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from phalanx.kube.clock import Clock
from phalanx.kube.events import Events, Notice, Regarding
from phalanx.kube.writes import Write
from phalanx.model.plan import Wait
from phalanx.model.task import State
from phalanx.world.views import members_of, task_of
from phalanx.world.world import World

#: One renewal may be missed while the lease changes hands: twice this is still less than an hour.
RENEWAL = 1500


@dataclass(slots=True, eq=False)
class _Gang:
    """What the pods of a waiting gang read."""

    key: str
    name: str
    note: str
    #: When it was last told, and how often.
    at: float
    times: int = 1
    #: Pods that have still to be told, the first one last.
    todo: list[str] = field(default_factory=list[str])
    #: What made them, as far as it has still to be told; None: not looked up yet.
    makers: list[Regarding] | None = None


class WaitingEvents:
    """Knows who waits for what, and who is still to be told."""

    def __init__(self, world: World, events: Events, clock: Clock, wake: Callable[[], None] = lambda: None) -> None:
        self._world = world
        self._events = events
        self._clock = clock
        self._wake = wake
        self._gangs: dict[str, _Gang] = {}
        self._news: deque[_Gang] = deque()
        self._rest: deque[_Gang] = deque()
        self._again: deque[_Gang] = deque()
        self.dropped = 0
        #: Keys of gangs by the second at which they are told again.
        self._slots: dict[int, set[str]] = {}
        self._looked = int(clock.now())
        #: When a maker was told something. A thousand pods of one ReplicaSet that wait for the same are one event.
        self._made: dict[tuple[str, str], float] = {}

    @property
    def lanes(self) -> Sequence[Callable[[], Write | None]]:
        """What makes the next write: gangs with news; the others of each gang in turn; renewals, new numbers."""
        return (self._next_news, lambda: self._next(self._rest), lambda: self._next(self._again))

    @property
    def waiting(self) -> int:
        """How many pods are still to be told."""
        return sum(len(gang.todo) for lane in (self._news, self._rest, self._again) for gang in lane)

    def wait(self, wait: Wait, note: str, news: list[str], *, numbers: bool = False) -> None:
        """Take note of why a gang waits, and of those of its pods whose condition did not say so.

        Where only `numbers` are new, others go first: who was told nothing yet, and who has another reason.
        """
        now, gang = self._clock.now(), self._gangs.get(wait.gang_key)
        if numbers and gang is not None and gang.todo:
            # Being told: whoever was not told yet reads the newer numbers, and keeps its turn.
            gang.note = sys.intern(note)
            return
        told = {*news, *(gang.todo if gang is not None else ())}
        queued = gang is not None and bool(gang.todo)
        if gang is None or gang.note != note:
            # Who was not told yet is told the newer reason.
            self.over(wait.gang_key)
            queued = False
            # Where no pod has news, another leader told it before us: its round goes on.
            gang = _Gang(wait.gang_key, wait.gang, sys.intern(note), now if told else now - RENEWAL)
            self._gangs[gang.key] = gang
            self._slots.setdefault(_slot(gang.key), set()).add(gang.key)
        if told:
            gang.todo = self._first_last(told)
            if not queued:
                (self._again if numbers else self._news).append(gang)
            self._wake()

    def over(self, key: str) -> None:
        """Forget a gang that does not wait, or not for this any more."""
        gang = self._gangs.pop(key, None)
        if gang is not None:
            gang.todo, gang.makers = [], []
            self._slots[_slot(key)].discard(key)

    def renew(self) -> None:
        """Tell those again whose second has come since this was last asked."""
        now = int(self._clock.now())
        for second in range(max(self._looked, now - RENEWAL) + 1, now + 1):
            for key in sorted(self._slots.get(second % RENEWAL, ())):
                self._renew(self._gangs[key], now)
            if second % RENEWAL == 0:
                self._made = {told: at for told, at in self._made.items() if now - at < RENEWAL}
        self._looked = max(self._looked, now)
        for lane in (self._news, self._rest, self._again):
            # While nothing may be sent, no lane moves: what was forgotten meanwhile must not pile up in it.
            if len(lane) > 2 * len(self._gangs):
                known = [gang for gang in lane if self._gangs.get(gang.key) is gang]
                lane.clear()
                lane.extend(known)

    def _renew(self, gang: _Gang, now: float) -> None:
        if gang.todo or now - gang.at < RENEWAL / 2:
            return
        gang.times, gang.at, gang.makers = gang.times + 1, now, None
        gang.todo = self._first_last(task.uid for task in members_of(self._world, gang.key))
        self._again.append(gang)
        self._wake()

    def _first_last(self, uids: Iterable[str]) -> list[str]:
        """Return pods with the oldest one last, where it is taken from."""
        tasks = [task for uid in uids if (task := task_of(self._world, uid)) is not None]
        return [task.uid for task in sorted(tasks, key=lambda task: (task.created, task.name), reverse=True)]

    def _next_news(self) -> Write | None:
        while self._news:
            gang = self._news.popleft()
            write = self._write_one(gang)
            (self._news if gang.makers else self._rest).append(gang)
            if write is not None:
                return write
        return None

    def _next(self, lane: deque[_Gang]) -> Write | None:
        while lane:
            gang = lane.popleft()
            write = self._write_one(gang)
            if write is not None:
                lane.append(gang)
                return write
        return None

    def _write_one(self, gang: _Gang) -> Write | None:
        """Return the next write for a gang: whatever made its pods first, then pod by pod; None: all is told."""
        if gang.makers is None:
            gang.makers = self._events.makers(gang.key)
        while gang.makers:
            maker, words = gang.makers.pop(0), self._words(gang)
            if self._is_news(maker, words):
                return self._write(gang, maker, words, None)
        while gang.todo:
            uid = gang.todo.pop()
            pod = self._events.pod(uid)
            if pod is not None and self._still(gang, uid):
                return self._write(gang, pod, gang.note, uid)
        return None

    def _write(self, gang: _Gang, regarding: Regarding, note: str, uid: str | None) -> Write:
        notice = Notice(regarding, "Warning", "FailedScheduling", "Scheduling", note, gang.times)
        return self._events.write(notice, lambda: self._still(gang, uid))

    def _still(self, gang: _Gang, uid: str | None) -> bool:
        """Tell whether a gang still waits for the same, and this pod of it still waits."""
        if self._gangs.get(gang.key) is not gang:
            return False
        task = task_of(self._world, uid) if uid is not None else None
        return uid is None or (task is not None and task.state is State.PENDING)

    def _words(self, gang: _Gang) -> str:
        """Return what a maker reads: it may have made more than this gang."""
        members = members_of(self._world, gang.key)
        return f"gang {gang.name}: {gang.note}" if members and members[0].membership is not None else gang.note

    def _is_news(self, maker: Regarding, words: str) -> bool:
        told, now = (maker["uid"], words), self._clock.now()
        if now - self._made.get(told, float("-inf")) < RENEWAL / 2:
            return False
        self._made[told] = now
        return True


def _slot(key: str) -> int:
    return zlib.crc32(key.encode()) % RENEWAL
