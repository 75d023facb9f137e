"""Kubernetes Events: one per change of a gang, on its object or else on its first member."""

import itertools
from dataclasses import dataclass, field

import msgspec

from phalanx.kube.clock import Clock, micro_stamp
from phalanx.kube.feed import Feed
from phalanx.kube.kinds import PODS
from phalanx.kube.writes import Write, Writes
from phalanx.world.views import group_of, members_of
from phalanx.world.world import World

NOTE_MAX = 1024
#: How many names a message has before it says "and n more".
NAMED_MAX = 5


@dataclass(slots=True)
class Events:
    """Writes events that `kubectl describe` shows."""

    world: World
    feed: Feed
    writes: Writes
    clock: Clock
    controller: str
    instance: str
    _number: "itertools.count[int]" = field(default_factory=itertools.count)

    def tell(self, gang_key: str, kind: str, reason: str, action: str, note: str) -> None:
        """Queue an event about a gang."""
        regarding = self._regarding(gang_key)
        if regarding is not None:
            self.about(regarding, kind, reason, action, note)

    def about(self, regarding: dict[str, str], kind: str, reason: str, action: str, note: str) -> None:
        """Queue an event about one object."""
        now = self.clock.now()
        namespace = regarding.get("namespace") or "default"
        name = f"{regarding['name'][:200]}.{int(now * 1e6):x}{next(self._number):x}"
        body = {
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": name, "namespace": namespace},
            "eventTime": micro_stamp(now), "reportingController": self.controller,
            "reportingInstance": self.instance[:128], "action": action, "reason": reason, "type": kind,
            "regarding": regarding, "note": note[:NOTE_MAX],
        }  # fmt: skip
        path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
        self.writes.submit(Write("POST", path, msgspec.json.encode(body)))

    def _regarding(self, gang_key: str) -> dict[str, str] | None:
        members = members_of(self.world, gang_key)
        if not members:
            return None
        first = min(members, key=lambda task: (task.created, task.name))
        seen = group_of(self.world, gang_key)
        if seen is not None:
            owner = seen.owner
            return {
                "kind": owner.bare_kind, "apiVersion": seen.api_version, "name": owner.name,
                "namespace": owner.namespace, "uid": seen.uid,
            }  # fmt: skip
        known_pod = self.feed.of(PODS, first.uid)
        if known_pod is None:
            return None
        return {
            "kind": "Pod", "apiVersion": "v1", "name": known_pod.name, "namespace": known_pod.namespace,
            "uid": first.uid,
        }  # fmt: skip


def shown(names: list[str]) -> str:
    """Return the first few names."""
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return ", ".join(names[:NAMED_MAX]) + more
