"""The status of PodGroup objects: the condition that kube-scheduler of the same version would write."""

from dataclasses import dataclass

import msgspec

from phalanx.dialects.workload_status import group_condition
from phalanx.kube.client import MERGE_PATCH
from phalanx.kube.clock import Clock
from phalanx.kube.feed import Feed
from phalanx.kube.writes import Write, Writes
from phalanx.model.events import GroupsSeen
from phalanx.model.plan import Reason
from phalanx.world.world import World


@dataclass(slots=True)
class GroupStatus:
    """Writes one condition per PodGroup, when it changes."""

    world: World
    feed: Feed
    writes: Writes
    clock: Clock

    def seen(self, gang_key: str) -> GroupsSeen | None:
        """Return the object that a gang's pods refer to, if they do and it is there."""
        uid = next(iter(self.world.members.get(gang_key, {})), None)
        said = self.world.tasks[uid].membership if uid is not None else None
        return self.world.groups.get(said.owner) if said is not None and said.owner is not None else None

    def tell(self, gang_key: str, reason: Reason | None) -> None:
        """Queue the condition of a gang's object: why it waits, or None when it has got its places."""
        seen = self.seen(gang_key)
        if seen is None:
            return
        condition = group_condition(seen, reason, self.clock.now())
        if condition is None:
            return
        namespace, _, name = seen.owner.partition(" ")[2].partition("/")
        path = f"/apis/{seen.api_version}/namespaces/{namespace}/podgroups/{name}/status"
        body = msgspec.json.encode({"metadata": {"uid": seen.uid}, "status": {"conditions": [condition]}})
        self.writes.submit(Write("PATCH", path, body, MERGE_PATCH))
