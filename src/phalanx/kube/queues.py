"""The status of our Queues: what each has, asks for and is entitled to, whether it is in order, and what it has used.

Written when it differs from what stands there, at most once per 15 seconds and queue. What was used changes with
every second, so it has a pace of its own: all queues together, at most once a minute, and only when some figure
differs in its third digit, or when so much time has passed that a restart would miss it. KAI's Queues are read alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from phalanx.dialects.native.queues import KIND, VERSION
from phalanx.kube.clock import Clock, stamp
from phalanx.kube.events import Events
from phalanx.kube.feed import Feed, Known, object_name
from phalanx.kube.kinds import QUEUES
from phalanx.kube.log import Log
from phalanx.kube.queue_figures import QueueFigures, queue_figures
from phalanx.kube.queue_status import (
    MESSAGE_MAX,
    Status,
    amounts_of,
    condition,
    merge_patch,
    ready_of,
    reason_of,
    with_ready,
)
from phalanx.kube.writes import Write, Writes
from phalanx.loop import Cycle, Loop
from phalanx.model.reference import Reference
from phalanx.model.usage import Memory
from phalanx.world.usage import Usage
from phalanx.world.usage_text import SLOTS

PACE = 15.0
USAGE_PACE = 60.0
#: How often the queues are compared with what their statuses say.
LOOK = 2.0
#: The server has no strategic merge for what is defined by a CustomResourceDefinition.
CONTENT = "application/merge-patch+json"


@dataclass(slots=True)
class _Past:
    """What was last told of the use of the queues."""

    #: The figures, rounded, by queue; None: not known.
    told: Mapping[str, tuple[float, ...]] | None = None
    at: float = 0.0
    #: What the statuses should hold, by queue.
    exports: dict[str, dict[str, object]] = field(default_factory=dict[str, dict[str, object]])


class QueueStatus:
    """Compares the last cycle's figures with the statuses, and writes the difference."""

    def __init__(self, loop: Loop, feed: Feed, writes: Writes, events: Events, clock: Clock, log: Log) -> None:
        self._loop = loop
        self._queues = loop.world.queues
        self._feed = feed
        self._writes = writes
        self._events = events
        self._clock = clock
        self._log = log
        self._told_at: dict[str, float] = {}
        self._announced: dict[str, tuple[str, str]] = {}
        self._look_at = 0.0
        self._postponed = False
        self._past = _Past(at=clock.monotonic())
        self._figures: tuple[Cycle, QueueFigures] | None = None

    def figures(self) -> QueueFigures | None:
        """Return the queues as of the last cycle; None before the first one."""
        cycle = self._loop.last
        if cycle is None:
            return None
        if self._figures is None or self._figures[0] is not cycle:
            self._figures = cycle, queue_figures(cycle)
        return self._figures[1]

    def recall(self) -> None:
        """Begin with the history that the statuses hold: whoever led before us wrote it down there."""
        self._past = _Past(at=self._clock.monotonic())
        if self._queues.usage is None:
            return
        usage = self._begin(self._queues.usage.memory)
        for known in self._feed.known.get(QUEUES, {}).values():
            text = _mapping(known.status).get("usage")
            why = usage.load(text, known.name, known.uid) if text is not None else None
            if why is not None:
                self._log.say("history-not-used", queue=known.name, why=why)

    def begin_with(self, text: dict[str, object]) -> str | None:
        """Begin with a history of all queues; return a sentence if it cannot be used."""
        if self._queues.usage is None:
            return "the policy remembers nothing"
        return self._begin(self._queues.usage.memory).load(text)

    def _begin(self, memory: Memory) -> Usage:
        """Forget what was measured: two histories of the same time would not add up."""
        self._queues.remember(None)
        self._queues.remember(memory)
        assert self._queues.usage is not None
        return self._queues.usage

    def flush(self) -> None:
        """Write what differs and may be written now."""
        known, now = self._feed.known.get(QUEUES, {}), self._clock.monotonic()
        if now < self._look_at or not (known or self._told_at):
            return
        if self._loop.due(self._clock.now()) and not self._postponed:
            # What the last cycle decided is not in its own figures; the next one's, which is about to come, have it.
            self._postponed = True
            return
        self._look_at, self._postponed = now + LOOK, False
        for uid in [uid for uid in self._told_at if uid not in known]:
            del self._told_at[uid]
            self._announced.pop(uid, None)
        figures = self.figures()
        if figures is not None:
            self._usage_round(figures, now)
        for queue in known.values():
            if queue.uid not in self._told_at or now - self._told_at[queue.uid] >= PACE:
                self._tell(queue, figures, now)

    def write_history(self) -> bool:
        """Write down what was used until now, whatever the pace; tell whether there was anything to write."""
        usage, known = self._queues.usage, self._feed.known.get(QUEUES, {})
        figures, now = self.figures(), self._clock.monotonic()
        if usage is None or not known or figures is None:
            return False
        # A snapshot measures; nothing is decided on it.
        self._loop.world.compile(self._clock.now())
        self._past.exports = self._exports(usage, [queue.name for queue in self._queues.table.queues])
        for queue in known.values():
            self._tell(queue, figures, now)
        return True

    def _tell(self, known: Known, figures: QueueFigures | None, now: float) -> None:
        old, wanted = _mapping(known.status), self._wanted(known, figures)
        if wanted is None:
            return
        patch = merge_patch(old, {name: value for name, value in {**old, **wanted}.items() if value is not None})
        if not patch:
            return
        self._told_at[known.uid] = now
        body = msgspec.json.encode({"metadata": {"uid": known.uid}, "status": patch})

        def there() -> bool:
            return self._feed.of(QUEUES, known.uid) is not None

        self._writes.submit(Write("PATCH", f"{QUEUES.path}/{known.name}/status", body, CONTENT, still_true=there))

    def _wanted(self, known: Known, figures: QueueFigures | None) -> Status | None:
        """Return what should stand there, null for what should not; None while nobody knows."""
        old = _mapping(known.status)
        problem = self._problem(object_name(QUEUES, known), ready_of(old))
        row = figures.table.row.get(known.name) if figures is not None else None
        wanted: Status
        if problem is not None:
            stranded = figures.stranded.get(known.name, 0) if figures is not None else 0
            wanted = {"allocated": None, "requested": None, "share": None, "pending": stranded}
        elif figures is not None and row is not None:
            wanted = amounts_of(figures, row)
        else:
            return None
        ready = condition(ready_of(old), problem, known.generation, stamp(self._clock.now()))
        if problem is not None and ready_of(old).get("message") != ready["message"]:
            self._announce(known, problem)
        wanted["conditions"] = with_ready(old, ready)
        export = self._past.exports.get(known.name)
        if export is not None:
            # A merge patch cannot say null: there, what is null is not there.
            shown = {key: value for key, value in export.items() if value is not None}
            wanted["usage"] = shown if export["used"] else None
        return wanted

    def _problem(self, thing: Reference, said: Mapping[str, Any]) -> tuple[str, str] | None:
        mistake = self._queues.refused.get(thing)
        sentence = self._queues.tree.aside.get(thing) or (mistake and f"{mistake.field}: {mistake.message}")
        if not sentence:
            return None
        # The word follows from the sentence; to find it again for each of many bad queues would be a walk of all.
        known = said.get("reason") if said.get("message") == sentence[:MESSAGE_MAX] else None
        return str(known or reason_of(self._queues, thing)), sentence

    def _announce(self, known: Known, problem: tuple[str, str]) -> None:
        """Say it once in an event: whoever describes the Queue sees since when."""
        if self._announced.get(known.uid) == problem:
            return
        self._announced[known.uid] = problem
        regarding = {"kind": KIND, "apiVersion": VERSION, "name": known.name, "uid": known.uid}
        self._events.about(regarding, "Warning", problem[0], "Resolving", problem[1])

    def _usage_round(self, figures: QueueFigures, now: float) -> None:
        """Take down what all queues have used, if it has changed: parts of different times would not add up."""
        usage, past = self._queues.usage, self._past
        if usage is None:
            past.exports = {}
            return
        if past.told is not None and now - past.at < USAGE_PACE:
            return
        table = figures.table
        rounded = {
            queue.name: tuple(round(part, 3) for part in row)
            for queue, row in zip(table.queues, table.usage.tolist(), strict=True)
        }
        used = {name: row for name, row in rounded.items() if any(row)}
        grown_old = bool(used) and now - past.at >= max(usage.memory.window / SLOTS, USAGE_PACE)
        if past.told is None and used.keys() <= self._with_history():
            # The statuses are where these figures came from.
            past.told = used
        if past.told == used and not grown_old:
            return
        past.told, past.at = used, now
        past.exports = self._exports(usage, rounded)

    def _exports(self, usage: Usage, names: Iterable[str]) -> dict[str, dict[str, object]]:
        exports = {name: usage.export(name) for name in names}
        return {name: export for name, export in exports.items() if export is not None}

    def _with_history(self) -> set[str]:
        known = self._feed.known.get(QUEUES, {}).values()
        return {one.name for one in known if "usage" in _mapping(one.status)}


def _mapping(status: Any) -> Mapping[str, Any]:
    return status if isinstance(status, Mapping) else {}
