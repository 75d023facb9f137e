"""Status: every waiting pod says why, in the condition that people and autoscalers look at; events follow.

Written when the code or the leading filter changes, at most once a minute per gang, and never when the pod says
the same already: an idle cluster sees no write. A hold is told once it has stood for a moment: the pods of a gang
arrive one by one, and the first one's "1 of 8 members are there" would stay for a minute. Pods that join a gang which
was told do not wait for its minute. Where only the numbers change, as in "4 of 8 fit", they are told after a minute
too, then after two, four … up to 25 minutes, and to so many pods a second: in a busy cluster they change all the time.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import msgspec

from phalanx.kube.client import MERGE_PATCH
from phalanx.kube.clock import Clock, stamp
from phalanx.kube.feed import Feed, Known
from phalanx.kube.kinds import PODS
from phalanx.kube.waiting_events import RENEWAL
from phalanx.kube.writes import Write, Writes
from phalanx.model.plan import Code, Plan, Reason, Wait
from phalanx.model.task import State
from phalanx.world.views import members_of, task_of
from phalanx.world.world import World

PERIOD = 60.0
SETTLE = 1.0
#: Pods that joined together are told together, and so seldom that a gang that grows slowly is not read all the time.
JOINED = 5.0
#: Numbers are told anew at the latest when the event would be told again anyway; and to so many pods a second.
NUMBERS_MAX = RENEWAL
NUMBERS_RATE = 20
MESSAGE_MAX = 1024
#: Autoscalers add nodes for Unschedulable; they must not for what waits for something else.
REASONS = {
    Code.FULL: "Unschedulable",
    Code.NEVER: "Unschedulable",
    Code.HELD: "Held",
    Code.ERROR: "SchedulerError",
}


@dataclass(slots=True)
class _Said:
    """What a gang was last told, and what it should be told when the minute is over."""

    #: None: nothing yet.
    kind: tuple[Code, str] | None
    #: When it was told, or when the hold that it is not told yet was first seen.
    at: float
    due: Wait | None = None
    #: How many members have been told; one that joins them is told too.
    members: int = 0
    #: When some of them were last told for having joined.
    joined: float = 0.0
    #: The wait of the last plan, and the words that were last told.
    latest: Wait | None = None
    words: str = ""
    #: When other words of the same kind may be told, and how long that takes the next time.
    numbers_at: float = 0.0
    numbers_after: float = PERIOD

    def ready(self, now: float) -> bool:
        """Tell whether the news may be told."""
        if self.due is None:
            return False
        if self.kind is not None:
            return now - self.at >= PERIOD
        return self.due.reason.code is not Code.HELD or now - self.at >= SETTLE


class Hears(Protocol):
    """Whoever tells the same to those who look at events."""

    def wait(self, wait: Wait, note: str, news: list[str], *, numbers: bool) -> None:
        """Hear why a gang waits, which of its pods did not say so, and whether only numbers are new."""

    def over(self, key: str) -> None:
        """Hear that a gang does not wait any more."""


class Status:
    """Turns the waits of plans into conditions."""

    def __init__(
        self, world: World, feed: Feed, writes: Writes, events: Hears | None, clock: Clock,
        group: Callable[[str, Reason | None], None],
    ) -> None:  # fmt: skip
        self._world = world
        self._feed = feed
        self._writes = writes
        self._events = events
        self._clock = clock
        self._group = group
        self._said: dict[str, _Said] = {}
        #: How many pods may still be told new numbers now; a large gang leaves a debt.
        self._numbers_left = NUMBERS_RATE

    def update(self, plan: Plan) -> None:
        """Take note of a plan: who waits, why, and who no longer does."""
        now = self._clock.monotonic()
        waits = plan.waits
        for wait in waits:
            kind, said = _kind(wait.reason), self._said.get(wait.gang_key)
            if said is None:
                said = self._said[wait.gang_key] = _Said(None, now)
            elif said.kind == kind and said.members == wait.missing and said.due is None:
                # There may be a hundred thousand of these in every cycle.
                said.latest = wait
                continue
            if said.kind is None and (said.due is None or _kind(said.due.reason) != kind):
                said.at = now
            said.latest = wait
            said.due = wait if said.kind != kind or wait.missing > said.members else None
            said.members = min(said.members, wait.missing)
            self._tell_if_ready(said, now)
        if len(self._said) > len(waits):
            waiting = {wait.gang_key for wait in waits}
            for key in [key for key in self._said if key not in waiting]:
                del self._said[key]
                if self._events is not None:
                    self._events.over(key)

    def flush(self) -> None:
        """Tell what had to wait for its time; asked once a second."""
        now = self._clock.monotonic()
        self._numbers_left = min(self._numbers_left + NUMBERS_RATE, NUMBERS_RATE)
        for said in self._said.values():
            if said.due is not None:
                self._tell_if_ready(said, now)
            elif now >= said.numbers_at and said.latest is not None and said.kind is not None:
                self._tell_numbers(said, said.latest, now)

    def _tell_if_ready(self, said: _Said, now: float) -> None:
        wait = said.due
        if wait is None:
            return
        if said.ready(now):
            said.kind, said.at, said.due, said.members = _kind(wait.reason), now, None, wait.missing
            said.words, said.numbers_at, said.numbers_after = _words(wait.reason), now + PERIOD, PERIOD
            self._tell(wait)
        elif said.kind is not None and wait.missing > said.members and now - max(said.at, said.joined) >= JOINED:
            self._tell(wait, joined=True)
            said.joined, said.members = now, wait.missing
            said.due = wait if _kind(wait.reason) != said.kind else None

    def _tell_numbers(self, said: _Said, wait: Wait, now: float) -> None:
        if (words := _words(wait.reason)) == said.words:
            said.numbers_at = now + PERIOD
        elif self._numbers_left > 0:
            self._numbers_left -= wait.missing
            if said.words:
                said.numbers_after = min(2 * said.numbers_after, NUMBERS_MAX)
            said.words, said.at, said.members = words, now, wait.missing
            said.numbers_at = now + said.numbers_after
            self._tell(wait, numbers=True)

    def _tell(self, wait: Wait, *, joined: bool = False, numbers: bool = False) -> None:
        said = REASONS[wait.reason.code], _words(wait.reason)
        pending = [task.uid for task in members_of(self._world, wait.gang_key) if task.state is State.PENDING]
        news = [
            uid for uid in pending
            if (known := self._feed.of(PODS, uid)) is not None
            and (known.waiting is None if joined else known.waiting != said)
        ]  # fmt: skip
        if joined and not news:
            return
        if news:
            self._writes.submit_each(self._conditions(wait.gang_key, news, said))
        if self._events is not None:
            self._events.wait(wait, said[1], news, numbers=numbers)
        self._group(wait.gang_key, wait.reason)

    def _conditions(self, key: str, uids: list[str], said: tuple[str, str]) -> Iterator[Write]:
        """Make each pod's condition when it is its turn, unless the pod says so already."""
        for uid in uids:
            known = self._feed.of(PODS, uid)
            if known is None or known.waiting == said or not self._pending(uid):
                continue
            condition = {
                "type": "PodScheduled",
                "status": "False",
                "reason": said[0],
                "message": said[1],
                "lastProbeTime": None,
            }
            if known.waiting is None:
                # It says since when the pod is not scheduled: another reason keeps it, as with kube-scheduler.
                condition["lastTransitionTime"] = stamp(self._clock.now())
            body = msgspec.json.encode({"metadata": {"uid": uid}, "status": {"conditions": [condition]}})
            path = f"/api/v1/namespaces/{known.namespace}/pods/{known.name}/status"
            lost = partial(self._lost, key, uid, known, known.waiting, said)
            known.waiting = said
            yield Write("PATCH", path, body, MERGE_PATCH, still_true=partial(self._pending, uid), lost=lost)

    def _lost(self, key: str, uid: str, known: Known, before: tuple[str, str] | None, written: tuple[str, str]) -> None:
        """Tell the gang again, among those whose numbers are new: perhaps the server never took a condition."""
        # What was heard since is known better.
        if self._feed.of(PODS, uid) is known and known.waiting is written:
            known.waiting = before
        said = self._said.get(key)
        if said is not None:
            said.words, said.numbers_at = "", 0.0

    def _pending(self, uid: str) -> bool:
        task = task_of(self._world, uid)
        return task is not None and task.state is State.PENDING


def _kind(reason: Reason) -> tuple[Code, str]:
    """Return what must change before pods are told again: the code and the leading filter, or the hold itself."""
    if reason.code is Code.HELD:
        return reason.code, reason.text
    return reason.code, reason.refusals[0].plugin if reason.refusals else ""


def _words(reason: Reason) -> str:
    """Return what people read. Thousands of gangs may wait for the same: they share one text."""
    text = str(reason)
    printable = text if text.isprintable() else "".join(one if one.isprintable() else " " for one in text)
    return sys.intern(printable if len(printable) <= MESSAGE_MAX else printable[: MESSAGE_MAX - 1] + "…")
