"""Status: every waiting pod says why, in the condition that people and autoscalers look at.

Written when the code or the leading filter changes, at most once a minute per gang, and never when the pod says
the same already: an idle cluster sees no write.
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
from phalanx.world.world import World

PERIOD = 60.0
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

    kind: tuple[str, str]
    at: float
    due: Wait | None = None


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
            said = self._said.get(wait.gang_key)
            if said is None or (said.kind != kind and now - said.at >= PERIOD):
                self._tell(wait, kind, now)
            else:
                said.due = wait if said.kind != kind else None
        for key in [key for key in self._said if key not in waiting]:
            del self._said[key]

    def flush(self) -> None:
        """Tell what had to wait for its minute."""
        now = self._clock.monotonic()
        for said in list(self._said.values()):
            if said.due is not None and now - said.at >= PERIOD:
                self._tell(said.due, _kind(said.due.reason), now)

    def _tell(self, wait: Wait, kind: tuple[str, str], now: float) -> None:
        self._said[wait.gang_key] = _Said(kind, now)
        reason, message = REASONS[wait.reason.code], _short(str(wait.reason))
        news = False
        for uid in sorted(self._world.members.get(wait.gang_key, {})):
            if self._world.tasks[uid].state is State.PENDING and self._pod(uid, reason, message):
                news = True
        if news:
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
            task = self._world.tasks.get(uid)
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
