"""Kubernetes Events: what one looks like, and those that are told once, about a gang or about one object."""

import hashlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from phalanx.kube.client import MERGE_PATCH, Reply
from phalanx.kube.clock import Clock, micro_stamp
from phalanx.kube.feed import Feed
from phalanx.kube.kinds import PODS
from phalanx.kube.writes import Write
from phalanx.world.views import group_of, members_of
from phalanx.world.world import World

#: The API server's limit, in bytes.
NOTE_MAX = 1024
#: How many names a message has before it says "and n more".
NAMED_MAX = 5

#: What an event is about, as the API has it.
Regarding = dict[str, str]


class Takes(Protocol):
    """Whoever sends what it is given."""

    def submit(self, write: Write) -> None:
        """Queue a write; never waits."""


@dataclass(frozen=True, slots=True)
class Notice:
    """What one object is to be told, and for how many times by now."""

    regarding: Regarding
    kind: str
    reason: str
    action: str
    note: str
    times: int = 1


@dataclass(slots=True)
class Events:
    """Makes events that `kubectl describe` shows."""

    world: World
    feed: Feed
    writes: Takes
    clock: Clock
    controller: str
    instance: str
    _number: "itertools.count[int]" = field(default_factory=itertools.count)

    def tell(self, gang_key: str, kind: str, reason: str, action: str, note: str) -> None:
        """Queue an event about a gang, on its object or else on its first member."""
        regarding = self.group(gang_key) or self._first_pod(gang_key)
        if regarding is not None:
            self.about(regarding, kind, reason, action, note)

    def about(self, regarding: Regarding, kind: str, reason: str, action: str, note: str) -> None:
        """Queue an event about one object."""
        notice = Notice(regarding, kind, reason, action, note)
        self.writes.submit(self._create(notice, f"{int(self.clock.now() * 1e6):x}{next(self._number):x}"))

    def about_pod(self, uid: str, reason: str, action: str, note: str) -> None:
        """Queue a warning about one pod, if it is there."""
        regarding = self.pod(uid)
        if regarding is not None:
            self.about(regarding, "Warning", reason, action, note)

    def write(self, notice: Notice, still_true: Callable[[], bool]) -> Write:
        """Return what tells a notice, or tells it again.

        The name follows from the object and the words, so that whoever leads next goes on with the same event. What
        was told before is counted in its series; what the server does not have (any more) is created.
        """
        told = (notice.regarding["uid"], notice.reason, notice.note)
        suffix = hashlib.blake2b("\n".join(told).encode(), digest_size=8).hexdigest()

        def otherwise(reply: Reply) -> None:
            if reply.status == 409 and notice.times == 1:
                self.writes.submit(self._repeat(notice, suffix, still_true))
            elif reply.status == 404 and notice.times > 1:
                self.writes.submit(self._create(notice, suffix, still_true))

        make = self._create if notice.times == 1 else self._repeat
        return make(notice, suffix, still_true, otherwise)

    def _create(
        self, notice: Notice, suffix: str, still_true: Callable[[], bool] | None = None,
        done: Callable[[Reply], None] | None = None,
    ) -> Write:  # fmt: skip
        regarding = notice.regarding
        path, name = _place(regarding, suffix)
        body = {
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"name": name, "namespace": regarding.get("namespace") or "default"},
            "eventTime": micro_stamp(self.clock.now()), "reportingController": self.controller,
            "reportingInstance": self.instance[:128], "action": notice.action, "reason": notice.reason,
            "type": notice.kind, "regarding": regarding, "note": _cut(notice.note),
        }  # fmt: skip
        return Write("POST", path, msgspec.json.encode(body), done=done, still_true=still_true)

    def _repeat(
        self, notice: Notice, suffix: str, still_true: Callable[[], bool] | None = None,
        done: Callable[[Reply], None] | None = None,
    ) -> Write:  # fmt: skip
        path, name = _place(notice.regarding, suffix)
        # The server takes a series of two or more.
        series = {"count": max(notice.times, 2), "lastObservedTime": micro_stamp(self.clock.now())}
        body = msgspec.json.encode({"series": series})
        return Write("PATCH", f"{path}/{name}", body, MERGE_PATCH, done=done, still_true=still_true)

    def group(self, gang_key: str) -> Regarding | None:
        """Return the object that describes a gang."""
        seen = group_of(self.world, gang_key)
        if seen is None:
            return None
        owner = seen.owner
        return {
            "kind": owner.bare_kind, "apiVersion": seen.api_version, "name": owner.name,
            "namespace": owner.namespace, "uid": seen.uid,
        }  # fmt: skip

    def pod(self, uid: str) -> Regarding | None:
        """Return a pod."""
        known = self.feed.of(PODS, uid)
        if known is None:
            return None
        return {"kind": "Pod", "apiVersion": "v1", "name": known.name, "namespace": known.namespace, "uid": uid}

    def makers(self, gang_key: str) -> list[Regarding]:
        """Return whom a gang's owner looks at: its object, and each Job, ReplicaSet … that made its pods."""
        group = self.group(gang_key)
        found = {} if group is None else {group["uid"]: group}
        controllers: dict[str, str] = {}
        for task in members_of(self.world, gang_key):
            known = self.feed.of(PODS, task.uid)
            if known is not None and known.controller is not None:
                controllers.setdefault(known.controller, known.namespace)
        for text, namespace in controllers.items():
            version, kind, name, uid = msgspec.json.decode(text, type=tuple[str, str, str, str])
            regarding = {"kind": kind, "apiVersion": version, "name": name, "namespace": namespace, "uid": uid}
            found.setdefault(uid, regarding)
        return list(found.values())

    def _first_pod(self, gang_key: str) -> Regarding | None:
        members = members_of(self.world, gang_key)
        return self.pod(min(members, key=lambda task: (task.created, task.name)).uid) if members else None


def _place(regarding: Regarding, suffix: str) -> tuple[str, str]:
    """Return the path of the events, and the name of this one."""
    path = f"/apis/events.k8s.io/v1/namespaces/{regarding.get('namespace') or 'default'}/events"
    return path, f"{regarding['name'][:200].rstrip('-.')}.{suffix}"


def _cut(note: str) -> str:
    """Shorten a note to what the server takes, which counts bytes."""
    raw = note.encode()
    return note if len(raw) <= NOTE_MAX else raw[: NOTE_MAX - 3].decode(errors="ignore") + "…"


def shown(names: list[str]) -> str:
    """Return the first few names."""
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return ", ".join(names[:NAMED_MAX]) + more
