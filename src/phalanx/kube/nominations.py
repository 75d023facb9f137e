"""Nominations on a cluster: `status.nominatedNodeName` of waiting pods says which place is kept for them.

The plan decides, the status follows: it is written when it differs from what the world has, and cleared when the
nomination is released. Whoever starts next reads it there.
"""

from collections.abc import Container
from dataclasses import dataclass, field

import msgspec

from phalanx.kube.client import MERGE_PATCH
from phalanx.kube.events import Events, shown
from phalanx.kube.feed import Feed, Known
from phalanx.kube.kinds import PODS
from phalanx.kube.log import Log
from phalanx.kube.writes import Write, Writes
from phalanx.model.plan import Plan, Release
from phalanx.model.task import State
from phalanx.world.gangs import gang_key
from phalanx.world.views import nominated_of, task_of
from phalanx.world.world import World


def request_of(known: Known, node: str | None) -> tuple[str, bytes]:
    """Return where and what to patch so that a pod's status names this node, or (None) none."""
    body = {"metadata": {"uid": known.uid}, "status": {"nominatedNodeName": node}}
    return f"/api/v1/namespaces/{known.namespace}/pods/{known.name}/status", msgspec.json.encode(body)


@dataclass(slots=True)
class Nominations:
    """Keeps the statuses of pods as the world has their nominations."""

    world: World
    feed: Feed
    writes: Writes
    events: Events
    log: Log
    #: Uids whose status may name a node, or is about to.
    _watched: set[str] = field(default_factory=set[str])

    def submit(self, plan: Plan) -> None:
        """Say which nominations a plan gives up, and why: once per gang and reason."""
        released: dict[tuple[str, str], list[Release]] = {}
        for step in plan.steps:
            if isinstance(step, Release):
                released.setdefault((step.gang_key, step.reason), []).append(step)
        for (key, reason), steps in released.items():
            self._watched.update(step.uid for step in steps)
            for step in steps:
                self.log.say("nomination-given-up", pod=step.task, node=step.node, why=reason)
            pods = shown([f"{step.task} on {step.node}" for step in steps])
            note = f"the places that were kept are given back ({pods}): {reason}"
            self.events.tell(key, "Warning", "NominationGivenUp", "Scheduling", note)

    def follow(self, under_way: Container[str]) -> None:
        """Write what differs, but for the gangs for which room is being made: that writes by itself, and first."""
        self._watched.update(task.uid for task in nominated_of(self.world))
        for uid in list(self._watched):
            known, task = self.feed.of(PODS, uid), task_of(self.world, uid)
            if known is None or task is None or task.state is not State.PENDING:
                self._watched.discard(uid)
                continue
            making = gang_key(task) in under_way
            if known.nominated != task.nominated and not (making and task.nominated):
                self._write(known, task.nominated)
            elif task.nominated is None and not making:
                # While room is made, a place that was released since may still be on its way to the status.
                self._watched.discard(uid)

    def _write(self, known: Known, node: str | None) -> None:
        uid, before = known.uid, known.nominated
        known.nominated = node

        def holds() -> bool:
            now = task_of(self.world, uid)
            return now is not None and now.state is State.PENDING and now.nominated == node

        def lost() -> None:
            # What was heard since is known better.
            if self.feed.of(PODS, uid) is known:
                known.nominated = before
                self._watched.add(uid)

        self.writes.submit(Write("PATCH", *request_of(known, node), MERGE_PATCH, still_true=holds, lost=lost))
