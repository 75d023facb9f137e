"""The feed: what the reflectors hear, turned into events and applied to the world, never backwards in time."""

import sys
import time
from collections.abc import Callable, Collection, Container
from dataclasses import dataclass, field
from typing import Any

import msgspec

from phalanx.dialects import table
from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.core.sides import is_allocating
from phalanx.dialects.read import decode, read_decoded
from phalanx.kube.kinds import PODS, QUEUES, Kind, watched
from phalanx.kube.log import Log
from phalanx.kube.reserving.pods import LABEL, Reserved, reserved_of
from phalanx.model.events import NamespaceGone, NodeGone, PriorityClassGone, QueueGone, TaskGone
from phalanx.model.keys import GPU_IDS
from phalanx.model.reference import Reference
from phalanx.world.world import World


class _Meta(msgspec.Struct, rename="camel"):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = "0"
    generation: int = 0


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class _StatusPart(msgspec.Struct, rename="camel"):
    phase: str | None = None
    conditions: list[_Condition] | None = None
    nominated_node_name: str | None = None


class _Pod(msgspec.Struct):
    """As much of a pod as can be had when the whole cannot be decoded."""

    metadata: _Meta
    status: _StatusPart | None = None


class _Bare(msgspec.Struct):
    """Nothing is promised of the status of other systems' objects, so none is read."""

    metadata: _Meta
    status: msgspec.Raw = msgspec.Raw(b"null")


_pod = msgspec.json.Decoder(_Pod)
_object = msgspec.json.Decoder(_Bare)


@dataclass(slots=True)
class Known:
    """What is remembered of an object besides the model: enough to write to it."""

    name: str
    namespace: str
    uid: str
    version: int
    #: (reason, message) of its PodScheduled=False condition, so that the same is not written again.
    waiting: tuple[str, str] | None = None
    #: Of pods of ours: what made it, as JSON of apiVersion, kind, name and uid; one string for all that it made.
    controller: str | None = None
    #: The node that its status names as kept for it.
    nominated: str | None = None
    #: Of pods alone: the kubelet has its containers running.
    running: bool = False
    #: Of Queues alone: the status as the server has it, and the generation that it should speak of.
    status: Any = None
    generation: int = 0


@dataclass(slots=True)
class Feed:
    """Applies what is heard to the world."""

    world: World
    schedulers: Collection[str]
    kinds: tuple[Kind, ...] = field(default_factory=watched)
    known: dict[Kind, dict[str, Known]] = field(default_factory=dict[Kind, dict[str, Known]])
    #: By uid: the pods that keep shared devices, and who hears of each change of one.
    reservations: dict[str, Reserved] = field(default_factory=dict[str, Reserved])
    on_reservation: Callable[[Reserved], None] = lambda _: None
    #: By uid: the GPUs that pods on nodes were told when they were bound.
    gpu_ids: dict[str, str] = field(default_factory=dict[str, str])
    #: By uid: the node of each pod on one to which a program there has not given its devices yet.
    allocating: dict[str, str] = field(default_factory=dict[str, str])
    _synced: set[Kind] = field(default_factory=set[Kind])
    #: Monotonic time of the last word from the server, per kind.
    heard_at: dict[Kind, float] = field(default_factory=dict[Kind, float])
    #: Deletions that no watch had told, found by listing again.
    missed: int = 0

    @property
    def ready(self) -> bool:
        """Tell whether every kind was applied up to its list: nothing may be decided before."""
        return all(kind in self._synced for kind in self.kinds)

    @property
    def lacking(self) -> list[str]:
        """Name the kinds that are not there yet."""
        return [kind.title for kind in self.kinds if kind not in self._synced]

    def lacks(self, asks: Container[str], log: Log) -> None:
        """Say of a new policy that it asks for kinds which are not watched: that is settled at the start."""
        for kind in set(watched(asks)) - set(self.kinds):
            log.say("not-watched", kind=kind.title, why="the policy asks for it now: it is read after the next start")

    def of(self, kind: Kind, uid: str) -> Known | None:
        """Return what is known of one object."""
        return self.known.get(kind, {}).get(uid)

    def put(self, kind: Kind, raw: msgspec.Raw, *, listed: bool = False, api_version: str | None = None) -> str:
        """Take an object as it is now; return its uid. What is older than what we know is passed over.

        `api_version`: the version that it came in, where that is not the newest of its kind.
        """
        api_version = api_version or kind.api_version
        decoded = decode(kind.kind, raw, api_version)
        # There are many pods: each is decoded once.
        part = (decoded or _pod.decode(raw)) if kind == PODS else _object.decode(raw)
        meta, uid = part.metadata, part.metadata.uid or ""
        version = int(meta.resource_version) if str(meta.resource_version).isdigit() else 0
        of_kind = self.known.setdefault(kind, {})
        old = of_kind.get(uid)
        if old is not None and (version < old.version or (version == old.version and not listed)):
            return uid
        of_kind[uid] = known = Known(meta.name, meta.namespace or "", uid, version)
        if isinstance(part, Pod | _Pod):
            known.waiting = _waiting(part)
            if isinstance(part, Pod) and part.spec.scheduler_name in self.schedulers:
                known.controller = _controller(part)
            known.running = part.status is not None and part.status.phase == "Running"
            known.nominated = (part.status.nominated_node_name or None) if part.status else None
            if isinstance(part, Pod):
                self._note_devices(uid, part, raw)
        elif kind == QUEUES:
            known.status, known.generation = msgspec.json.decode(part.status), meta.generation
        if old is None or version > old.version:
            event = read_decoded(kind.kind, decoded, raw, self.schedulers, api_version, held=True)
            if event is not None:
                self.world.apply(event)
        return uid

    def gone(self, kind: Kind, raw: msgspec.Raw) -> None:
        """Take a deletion."""
        self._forget(kind, _object.decode(raw).metadata.uid)

    def replaced(self, kind: Kind, seen: set[str]) -> None:
        """A list is complete: what it does not hold was deleted while we did not look."""
        absent = [uid for uid in self.known.get(kind, {}) if uid not in seen]
        self.missed += len(absent)
        for uid in absent:
            self._forget(kind, uid)
        self._synced.add(kind)
        self.heard(kind)

    def unsync(self, kind: Kind) -> None:
        """Decide nothing until this kind was listed again."""
        self._synced.discard(kind)

    def forget_versions(self, *kinds: Kind) -> None:
        """Read every object (of these kinds) again at the next list, changed or not."""
        for kind in kinds or self.known:
            for known in self.known.get(kind, {}).values():
                known.version = -1

    def heard(self, kind: Kind) -> None:
        """Note that the server spoke."""
        self.heard_at[kind] = time.monotonic()

    def _note_devices(self, uid: str, pod: Pod, raw: msgspec.Raw) -> None:
        """Note what a pod knows of GPUs that are shared."""
        said = (pod.metadata.annotations or {}).get(GPU_IDS)
        if said and pod.spec.node_name:
            self.gpu_ids[uid] = said
        if is_allocating(pod, table.TABLE.sides):
            self.allocating[uid] = pod.spec.node_name or ""
        else:
            self.allocating.pop(uid, None)
        one = reserved_of(raw) if pod.metadata.labels and LABEL in pod.metadata.labels else None
        if one is not None:
            self.reservations[uid] = one
            self.on_reservation(one)

    def _forget(self, kind: Kind, uid: str) -> None:
        old = self.known.get(kind, {}).pop(uid, None)
        if old is None:
            return
        self.gpu_ids.pop(uid, None)
        self.allocating.pop(uid, None)
        gone = self.reservations.pop(uid, None)
        if gone is not None:
            self.on_reservation(gone)
        known_kind = table.TABLE.kind(kind.kind, kind.api_version)
        if known_kind is None:
            return
        thing = object_name(kind, old)
        event = known_kind.gone(thing, old.uid)
        # A walk over all objects of the kind: not for each pod that ends, but for what is kept by name, and for the
        # few that could not be read. One of the same name may have been made before we heard that the old one went.
        kept_by_name = isinstance(event, NodeGone | NamespaceGone | PriorityClassGone)
        if kept_by_name or thing in self.world.refused:
            again = any((one.name, one.namespace) == (old.name, old.namespace) for one in self.known[kind].values())
            if again and not isinstance(event, TaskGone):
                return
            if not again and not isinstance(event, QueueGone):
                self.world.refused.pop(thing, None)
        self.world.apply(event)


def object_name(kind: Kind, known: Known) -> Reference:
    """Return what an object is called in books and messages."""
    full = f"{known.namespace}/{known.name}" if known.namespace else known.name
    return Reference(table.TABLE.name(kind.kind, kind.api_version), full)


def _waiting(part: Pod | _Pod) -> tuple[str, str] | None:
    for condition in (part.status.conditions if part.status else None) or ():
        if condition.type == "PodScheduled" and condition.status == "False":
            return condition.reason or "", str(condition.message or "")
    return None


def _controller(pod: Pod) -> str | None:
    for one in pod.metadata.owner_references or ():
        if one.controller and one.api_version and one.kind and one.name and one.uid:
            return sys.intern(msgspec.json.encode([one.api_version, one.kind, one.name, one.uid]).decode())
    return None
