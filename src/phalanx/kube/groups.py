"""The status of objects that describe groups: what their dialect writes there of the gang."""

from dataclasses import dataclass

import msgspec

from phalanx.dialects import table
from phalanx.kube.client import MERGE_PATCH
from phalanx.kube.clock import Clock
from phalanx.kube.feed import Feed
from phalanx.kube.writes import Write, Writes
from phalanx.model.plan import Reason
from phalanx.world.views import group_of
from phalanx.world.world import World


@dataclass(slots=True)
class GroupStatus:
    """Writes the status of a group's object when there is something new to tell."""

    world: World
    feed: Feed
    writes: Writes
    clock: Clock

    def tell(self, gang_key: str, reason: Reason | None) -> None:
        """Queue the status of a gang's object: why it waits, or None when it has got its places."""
        seen = group_of(self.world, gang_key)
        if seen is None:
            return
        kind = table.TABLE.called.get(seen.owner.kind)
        status = kind.status(seen, reason, self.clock.now()) if kind is not None and kind.status is not None else None
        if kind is None or status is None:
            return
        owner = seen.owner
        path = f"/apis/{seen.api_version}/namespaces/{owner.namespace}/{kind.plural}/{owner.name}/status"
        body = msgspec.json.encode({"metadata": {"uid": seen.uid}, "status": status})
        self.writes.submit(Write("PATCH", path, body, MERGE_PATCH))
