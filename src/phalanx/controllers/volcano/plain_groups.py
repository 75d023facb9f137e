"""Pods of Volcano's scheduler name that are in no group get one as an object, so that its users see it.

Without it they are grouped the same way; but `kubectl get podgroup` would show nothing. The leader alone acts.
"""

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from phalanx.controllers.volcano.hands import CONTENT
from phalanx.controllers.volcano.rival import Rival
from phalanx.dialects.volcano.plain_pods import PREFIX, controller_of, group_for
from phalanx.dialects.volcano.pods import GROUP, GROUP_KIND, GROUP_NAMES, SCHEDULER
from phalanx.kube.client import Unanswered
from phalanx.kube.scheduler import Scheduler
from phalanx.model.reference import Reference
from phalanx.model.task import Task
from phalanx.world.rows import FINISHED
from phalanx.world.views import groups_of, tasks_of

_LOOK = 1.0
#: Pods that are looked at in a row, before everything else has its turn.
_MOST = 200
#: What is asked for the annotations of a pod's owner.
_OWNERS = {
    "ReplicaSet": "apis/apps/v1/namespaces/{}/replicasets", "DaemonSet": "apis/apps/v1/namespaces/{}/daemonsets",
    "StatefulSet": "apis/apps/v1/namespaces/{}/statefulsets", "Job": "apis/batch/v1/namespaces/{}/jobs",
}  # fmt: skip


class PlainGroups:
    """Makes groups and notes them on pods, in the process of a scheduler: with its fence."""

    def __init__(self, host: Scheduler, rival: Rival) -> None:
        """`rival`: whether Volcano's own controller is there; somebody else looks."""
        self._host, self._rival = host, rival
        #: Pods that have been dealt with, until they are gone.
        self._done: set[str] = set()
        #: Whether the server knows PodGroups is learnt by asking; where it does not, nothing is made.
        self._again_at = 0.0

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            await asyncio.sleep(_LOOK)
            if self._may_act() and self._host.clock.monotonic() >= self._again_at:
                with contextlib.suppress(Unanswered):
                    await self._look()

    def _may_act(self) -> bool:
        return self._rival.gone and self._host.feed.ready and self._host.may_write()

    async def _look(self) -> None:
        tasks = tasks_of(self._host.world)
        self._done &= tasks.keys()
        for number, task in enumerate(list(self._plain(tasks))):
            if number == _MOST or not self._may_act():
                return
            if await self._settle(task):
                self._done.add(task.uid)

    def _plain(self, tasks: Mapping[str, Task]) -> Iterator[Task]:
        for task in tasks.values():
            if task.scheduler != SCHEDULER or not task.ours or task.uid in self._done or task.state in FINISHED:
                continue
            said = task.membership
            if said is None or (said.owner is None and said.gang.startswith(f"{task.namespace}/{PREFIX}")):
                yield task

    async def _settle(self, task: Task) -> bool:
        """Let one pod have its group; False: try again."""
        path = f"/api/v1/namespaces/{task.namespace}/pods/{task.name}"
        reply = await self._host.client.request("GET", path)
        if reply.status == 404:
            return True
        pod = reply.json() if reply.ok else {}
        if not reply.ok or pod["metadata"]["uid"] != task.uid:
            return reply.ok
        if any((pod["metadata"].get("annotations") or {}).get(key) for key in GROUP_NAMES):
            return True
        group = group_for(pod, await self._above(pod))
        name = group["metadata"]["name"]
        if Reference(GROUP_KIND, f"{task.namespace}/{name}") not in groups_of(self._host.world):
            groups = f"/apis/{GROUP}/v1beta1/namespaces/{task.namespace}/podgroups"
            made = await self._host.client.request("POST", groups, body=msgspec.json.encode(group))
            if made.status == 404:
                # The cluster has no PodGroups of Volcano.
                self._again_at = self._host.clock.monotonic() + 30.0
                return False
            if not made.ok and made.status != 409:
                self._host.log.say("group-not-made", pod=task.full_name, why=made.message)
                return False
        note = {"metadata": {"uid": task.uid, "annotations": {GROUP_NAMES[0]: name}}}
        done = await self._host.client.request("PATCH", path, body=msgspec.json.encode(note), content_type=CONTENT)
        if not done.ok and done.status not in {404, 409}:
            self._host.log.say("group-not-noted", pod=task.full_name, why=done.message)
        return done.ok or done.status in {404, 409}

    async def _above(self, pod: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the annotations of what made a pod; nothing where that cannot be read."""
        owner = controller_of(pod)
        place = _OWNERS.get(owner["kind"]) if owner is not None else None
        if owner is None or place is None:
            return {}
        path = f"/{place.format(pod['metadata']['namespace'])}/{owner['name']}"
        reply = await self._host.client.request("GET", path)
        found: Mapping[str, str] = (reply.json()["metadata"].get("annotations") or {}) if reply.ok else {}
        return found
