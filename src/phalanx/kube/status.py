"""Status: every waiting pod says why, in the condition that people and autoscalers look at.

Written when the code or the leading filter changes, at most once a minute per gang, and never when the pod says
the same already: an idle cluster sees no write. A hold is told once it has stood for a moment: the pods of a gang
arrive one by one, and the first one's "1 of 8 members are there" would stay for a minute.
"""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from phalanx.kube.client import MERGE_PATCH
from phalanx.kube.clock import Clock, stamp
from phalanx.kube.events import Events
from phalanx.kube.feed import Feed
from phalanx.kube.kinds import PODS
from phalanx.kube.writes import Write, Writes
from phalanx.model.plan import Code, Plan, Reason, Wait
from phalanx.model.task import State
from phalanx.world.views import members_of, task_of
from phalanx.world.world import World

PERIOD = 60.0
SETTLE = 1.0
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
    kind: tuple[str, str] | None
    #: When it was told, or when the hold that it is not told yet was first seen.
    at: float
    due: Wait | None = None
    #: How many members have been told; one that joins them is told too.
    members: int = 0

    def ready(self, now: float) -> bool:
        """Tell whether the news may be told."""
        if self.due is None:
            return False
        if self.kind is not None:
            return now - self.at >= PERIOD
        return self.due.reason.code is not Code.HELD or now - self.at >= SETTLE


class Status:
    """Turns the waits of plans into conditions."""

    def __init__(
        self, world: World, feed: Feed, writes: Writes, events: Events, clock: Clock,
        group: Callable[[str, Reason | None], None],
    ) -> None:  # fmt: skip
        self._world = world
        self._feed = feed
        self._writes = writes
        self._events = events
        self._clock = clock
        self._group = group
        self._said: dict[str, _Said] = {}

    def update(self, plan: Plan) -> None:
        """Take note of a plan: who waits, why, and who no longer does."""
        now = self._clock.monotonic()
        waiting = set()
        for wait in plan.waits:
            waiting.add(wait.gang_key)
            kind = _kind(wait.reason)
            said = self._said.setdefault(wait.gang_key, _Said(None, now))
            if said.kind is None and (said.due is None or _kind(said.due.reason) != kind):
                said.at = now
            said.due = wait if said.kind != kind or wait.missing > said.members else None
            said.members = min(said.members, wait.missing)
            self._tell_if_ready(said, now)
        for key in [key for key in self._said if key not in waiting]:
            del self._said[key]

    def flush(self) -> None:
        """Tell what had to wait for its minute."""
        now = self._clock.monotonic()
        for said in self._said.values():
            self._tell_if_ready(said, now)

    def _tell_if_ready(self, said: _Said, now: float) -> None:
        if said.due is not None and said.ready(now):
            wait, said.due = said.due, None
            kind = _kind(wait.reason)
            self._tell(wait, news=kind != said.kind)
            said.kind, said.at, said.members = kind, now, wait.missing

    def _tell(self, wait: Wait, *, news: bool) -> None:
        reason, message = REASONS[wait.reason.code], _short(str(wait.reason))
        written = False
        for task in members_of(self._world, wait.gang_key):
            if task.state is State.PENDING and self._pod(task.uid, reason, message):
                written = True
        if news and written:
            self._events.tell(wait.gang_key, "Warning", _event_reason(wait.reason.code), "Scheduling", message)
        self._group(wait.gang_key, wait.reason)

    def _pod(self, uid: str, reason: str, message: str) -> bool:
        """Queue one pod's condition, unless it says so already."""
        known = self._feed.of(PODS, uid)
        if known is None or known.waiting == (reason, message):
            return False
        condition = {
            "type": "PodScheduled", "status": "False", "reason": reason, "message": message,
            "lastTransitionTime": stamp(self._clock.now()), "lastProbeTime": None,
        }  # fmt: skip
        body = msgspec.json.encode({"metadata": {"uid": uid}, "status": {"conditions": [condition]}})
        path = f"/api/v1/namespaces/{known.namespace}/pods/{known.name}/status"

        def pending() -> bool:
            task = task_of(self._world, uid)
            return task is not None and task.state is State.PENDING

        self._writes.submit(Write("PATCH", path, body, MERGE_PATCH, still_true=pending))
        known.waiting = (reason, message)
        return True


def _kind(reason: Reason) -> tuple[str, str]:
    """Return what must change before pods are told again: the code and the leading filter, or the hold itself."""
    if reason.code is Code.HELD:
        return reason.code.value, reason.text
    return reason.code.value, reason.refusals[0].plugin if reason.refusals else ""


def _event_reason(code: Code) -> str:
    return "Held" if code is Code.HELD else "FailedScheduling"


def _short(text: str) -> str:
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return printable if len(printable) <= MESSAGE_MAX else printable[: MESSAGE_MAX - 1] + "…"
