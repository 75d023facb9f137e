"""The status of other systems' objects that follows the life of pods: phases and counts of groups, what queues have.

Looked at every other second, and written when something differs from what stands there. Objects without pods of ours
are left to others, unless pods of their system's own scheduler name are ours.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from phalanx.dialects import table
from phalanx.dialects.dialect import Kind, Members
from phalanx.kube.clock import Clock
from phalanx.kube.feed import Feed
from phalanx.kube.kinds import PODS
from phalanx.kube.writes import Write, Writes
from phalanx.model.events import GroupsSeen
from phalanx.model.plan import Code, Reason
from phalanx.model.task import State, Task
from phalanx.world.gangs import gang_key
from phalanx.world.queue_answers import Said
from phalanx.world.views import group_of, groups_of, members_of, referring_to
from phalanx.world.world import World

LOOK = 2.0
#: What queues have changes with every pod.
PACE = 15.0
#: Beyond this it is forgotten what was sent for objects that are gone.
_SENT_MAX = 1024
CONTENT = "application/merge-patch+json"
_FINISHED = {State.SUCCEEDED: "succeeded", State.FAILED: "failed"}


@dataclass(slots=True)
class Lives:
    """Compares objects with the life of their pods, and writes the difference."""

    world: World
    feed: Feed
    writes: Writes
    clock: Clock
    #: Why gangs wait, by the key of the gang, as they were last told.
    reasons: dict[str, Reason] = field(default_factory=dict[str, Reason])
    _look_at: float = 0.0
    _queues_at: float = 0.0
    #: What was last sent, by uid: until it comes back from the server it is not sent again.
    _sent: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def tell(self, gang_key: str, reason: Reason | None) -> None:
        """Remember why a gang waits, or (None) that it has got its places."""
        seen = group_of(self.world, gang_key)
        kind = table.TABLE.called.get(seen.owner.kind) if seen is not None else None
        if reason is None or kind is None or kind.life is None:
            self.reasons.pop(gang_key, None)
        else:
            self.reasons[gang_key] = reason

    def flush(self) -> None:
        """Write what differs and may be written now."""
        now = self.clock.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + LOOK
        self._groups()
        if now >= self._queues_at:
            self._queues_at = now + PACE
            self._queues()

    def _groups(self) -> None:
        groups = groups_of(self.world)
        self.reasons = {key: reason for key, reason in self.reasons.items() if members_of(self.world, key)}
        if len(self._sent) > _SENT_MAX + 2 * len(groups):
            self._sent.clear()
        # A loop over the groups of systems that want it; clusters without them have none.
        for owner, seen in groups.items():
            kind = table.TABLE.called.get(owner.kind)
            if kind is None or kind.life is None:
                continue
            tasks = referring_to(self.world, owner)
            if not tasks and not self._ours(kind):
                continue
            patch = kind.life(seen, self._members(tasks), self._reason(seen, tasks), self.clock.now())
            path = f"/apis/{seen.api_version}/namespaces/{owner.namespace}/{kind.plural}/{owner.name}"
            self._send(path, kind, seen.uid, patch)

    def _queues(self) -> None:
        for report in self.world.queues.report():
            kind = table.TABLE.called.get(report.object.kind)
            seen = self.world.queues.seen.get(report.object)
            if kind is None or kind.queue_life is None or seen is None or not self._ours(kind):
                continue
            patch = kind.queue_life(seen, report.allocated)
            self._send(f"/apis/{seen.api_version}/{kind.plural}/{seen.queue.name}", kind, seen.queue.uid, patch)

    def _send(self, path: str, kind: Kind, uid: str, patch: dict[str, object] | None) -> None:
        if patch is None:
            self._sent.pop(uid, None)
            return
        body = msgspec.json.encode({"metadata": {"uid": uid}, "status": patch})
        if self._sent.get(uid) == body:
            return
        self._sent[uid] = body
        path = f"{path}/status" if kind.status_apart else path
        self.writes.submit(Write("PATCH", path, body, CONTENT, lost=lambda: self._lost(uid)))

    def _lost(self, uid: str) -> None:
        self._sent.pop(uid, None)

    def _ours(self, kind: Kind) -> bool:
        return any(name in self.feed.schedulers for name in kind.schedulers)

    def _members(self, tasks: Iterable[Task]) -> Members:
        counts = Counter[str]()
        for task in tasks:
            if task.state in _FINISHED:
                counts[_FINISHED[task.state]] += 1
            elif task.node is None:
                counts["pending"] += 1
            else:
                known = self.feed.of(PODS, task.uid)
                counts.update(["placed", "running"] if known is not None and known.running else ["placed"])
        return Members(**counts)

    def _reason(self, seen: GroupsSeen, tasks: Iterable[Task]) -> Reason | None:
        """Return why a group's gang waits; of one without pods, why they could not start."""
        waiting = [task for task in tasks if task.state is State.PENDING]
        if waiting:
            return next((found for task in waiting if (found := self.reasons.get(gang_key(task)))), None)
        said = Said(seen.groups[0].queue or "", seen.groups[0].queue_field, seen.owner.namespace)
        sentence = None if tasks else self.world.queues.objection(said) or self.world.queues.pause(said)
        return None if sentence is None else Reason(Code.HELD, sentence)
