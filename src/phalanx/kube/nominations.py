"""Nominations on a cluster: `status.nominatedNodeName` of waiting pods says which place is kept for them.

The world decides, the status follows: it is written when it differs, and cleared when the place is given back. Whoever
starts next reads it there. A place that is not taken for long is given back: its gang is held by something else, or
those who should have left are stuck.
"""

from collections.abc import Container
from dataclasses import dataclass, field

import msgspec

from phalanx.kube.client import MERGE_PATCH
from phalanx.kube.clock import Clock
from phalanx.kube.events import Events
from phalanx.kube.feed import Feed, Known
from phalanx.kube.kinds import PODS
from phalanx.kube.log import Log
from phalanx.kube.writes import Write, Writes
from phalanx.model.task import State, Task
from phalanx.world.gangs import gang_key
from phalanx.world.world import World

#: So long after a place was kept, and after everybody who leaves it should be gone, it is given back.
PATIENCE = 600.0
#: How often that is looked at.
LOOK = 10.0


def request_of(known: Known, node: str | None) -> tuple[str, bytes]:
    """Return where and what to patch so that a pod's status names this node, or (None) none."""
    body = {"metadata": {"uid": known.uid}, "status": {"nominatedNodeName": node}}
    return f"/api/v1/namespaces/{known.namespace}/pods/{known.name}/status", msgspec.json.encode(body)


@dataclass(slots=True)
class Nominations:
    """Keeps statuses as the world has it, and gives up what takes too long."""

    world: World
    feed: Feed
    writes: Writes
    events: Events
    clock: Clock
    log: Log
    patience: float = PATIENCE
    #: By uid: which place is kept, and since when by the monotonic clock.
    _since: dict[str, tuple[str | None, float]] = field(default_factory=dict[str, tuple[str | None, float]])
    _look_at: float = 0.0

    def update(self, under_way: Container[str]) -> None:
        """Write what differs, but for the gangs for which room is being made: that writes by itself, and first."""
        now, kept = self.clock.monotonic(), self._kept()
        for uid, task in kept.items():
            if self._since.get(uid, (None, now))[0] != task.nominated:
                self._since[uid] = (task.nominated, now)
        for uid in list(self._since):
            if uid not in kept:
                del self._since[uid]
            if uid not in kept or gang_key(kept[uid]) not in under_way:
                self._write(uid)

    def review(self) -> None:
        """Give back places that nobody takes."""
        now = self.clock.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + LOOK
        for uid, task in self._kept().items():
            _, since = self._since.get(uid, (None, now))
            if now - since >= self.patience and self._should_be_free(task.nominated or ""):
                self._give_back(task)

    def _kept(self) -> dict[str, Task]:
        found = ((uid, self.world.tasks[uid]) for uids in self.world.nominated.values() for uid in uids)
        return {uid: task for uid, task in found if task.ours}

    def _should_be_free(self, node: str) -> bool:
        """Tell whether everybody who leaves a node should have left it long ago; note that they are stuck."""
        latest = self.clock.now() - self.patience
        leaving = [self.world.tasks[uid] for uid in self.world.on_node.get(node, {})]
        leaving = [task for task in leaving if task.state is State.RELEASING]
        if any(task.gone_at is None or task.gone_at > latest for task in leaving):
            return False
        for task in leaving:
            self.world.give_up(task.uid)
        return True

    def _give_back(self, task: Task) -> None:
        note = f"the place on {task.nominated} that was kept for {task.full_name} is given back: nobody took it in time"
        self.log.say("nomination-given-up", pod=task.full_name, node=task.nominated)
        self.events.tell(gang_key(task), "Warning", "NominationGivenUp", "Scheduling", note)
        self.world.nominate(task.uid, None)
        self._write(task.uid)

    def _write(self, uid: str) -> None:
        """Queue one pod's status, unless it says so already."""
        known, task = self.feed.of(PODS, uid), self.world.tasks.get(uid)
        if known is None or task is None or task.state is not State.PENDING or known.nominated == task.nominated:
            return
        node = known.nominated = task.nominated

        def holds() -> bool:
            now = self.world.tasks.get(uid)
            return now is not None and now.state is State.PENDING and now.nominated == node

        self.writes.submit(Write("PATCH", *request_of(known, node), MERGE_PATCH, still_true=holds))
