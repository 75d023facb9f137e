"""Storage: claims, volumes, classes and what drivers say, and which tasks it matters to when one of them changes."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from phalanx.model.events import StorageGone, StorageSeen
from phalanx.model.outcome import Bound, Outcome, Result
from phalanx.model.plan import Bind
from phalanx.model.reference import Reference
from phalanx.model.task import State, Task
from phalanx.model.volume import (
    Attachment,
    Capacity,
    Chosen,
    Claim,
    Driver,
    NodeDrivers,
    Storage,
    StorageClass,
    Volume,
)
from phalanx.world.indexes import take_out

_OVER = frozenset({State.SUCCEEDED, State.FAILED})


class StorageObjects:
    """Takes objects in. Nobody who mounts nothing is touched by any of it."""

    def __init__(self) -> None:
        self.claims: dict[str, Claim] = {}
        self.volumes: dict[str, Volume] = {}
        self.classes: dict[str, StorageClass] = {}
        self.node_drivers: dict[str, NodeDrivers] = {}
        self.drivers: dict[str, Driver] = {}
        self.capacities: dict[str, Capacity] = {}
        self.attachments: dict[str, Attachment] = {}
        self.kinds: dict[str, dict[str, Any]] = {
            "PersistentVolumeClaim": self.claims, "PersistentVolume": self.volumes, "StorageClass": self.classes,
            "CSINode": self.node_drivers, "CSIDriver": self.drivers, "CSIStorageCapacity": self.capacities,
            "VolumeAttachment": self.attachments,
        }  # fmt: skip
        #: Unfinished tasks by the claim (`namespace/name`) that they mount; those of ours that wait; all of them.
        self.users: dict[str, dict[str, None]] = {}
        self.waiting: dict[str, None] = {}
        self.mounting: dict[str, None] = {}
        #: Claims by the volume that they name, and by their class; attachments by node and by volume.
        self.of_volume: dict[str, dict[str, None]] = {}
        self._of_class: dict[str, dict[str, None]] = {}
        self.on_node: dict[str, dict[str, None]] = {}
        self._attached: dict[str, dict[str, None]] = {}
        #: By claim: the volume that is for it, whether or not the claim says so yet.
        self.promised: dict[str, str] = {}
        #: Volumes that are nobody's.
        self.free: dict[str, None] = {}
        #: Claims and volumes as the server has them, of which a plan decided more than it has written.
        self._plain: dict[Reference, Claim | Volume] = {}
        #: What tasks whose binds are under way get, by uid.
        self._chosen: dict[str, tuple[Chosen, ...]] = {}
        #: Tasks, by uid, to which something else may matter now than when a snapshot was last made.
        self.changed: set[str] = set()
        #: Claims and volumes that we wrote to for a pod, by uid, and of which nobody made anything yet.
        self.prepared: dict[Reference, str] = {}
        #: Nodes of which the attachments are to be counted again. The number goes up with everything that matters.
        self.dirty: set[str] = set()
        self.version = 0

    def put(self, task: Task) -> None:
        """Note who mounts what."""
        if not task.mounts or task.state in _OVER:
            return
        self.mounting[task.uid] = None
        for key in keys_of(task):
            self.users.setdefault(key, {})[task.uid] = None
        if task.ours and task.state is State.PENDING:
            self.waiting[task.uid] = None
        self._touch(task)

    def take(self, task: Task) -> None:
        """Forget a task."""
        if task.mounts:
            self.waiting.pop(task.uid, None)
            self.mounting.pop(task.uid, None)
            for key in keys_of(task):
                take_out(self.users, key, task.uid)
            self._touch(task)

    def _touch(self, task: Task) -> None:
        """Whether others mount what it mounts matters to each of them."""
        self.version += 1
        if task.node is not None:
            self.dirty.add(task.node)
        for key in keys_of(task):
            self.changed.update(self.users.get(key, {}))

    def apply(self, event: StorageSeen | StorageGone) -> list[str]:
        """Take in an object, or that it is gone; return the tasks, by uid, to which that may matter."""
        thing = event.object
        kept: dict[str, Any] = self.kinds[thing.kind]
        old = kept.get(thing.full_name)
        if isinstance(event, StorageGone):
            if old is None or event.uid not in {None, old.uid}:
                return []
            self._plain.pop(thing, None)
            return self._set(thing, None)
        value = event.value
        if thing in self._plain and isinstance(value, Claim | Volume):
            value = self._assumed(thing, value)
        return [] if value == old else self._set(thing, value)

    def assume(self, bind: Bind) -> None:
        """Note what a bind decided of volumes, before it is written."""
        for claim, volume in bind.volumes:
            if volume is None:
                self._assume(Reference("PersistentVolumeClaim", claim), replace(self.claims[claim], selected=bind.node))
            else:
                given = replace(self.volumes[volume], claim=claim, claim_uid=self.claims[claim].uid)
                self._assume(Reference("PersistentVolume", volume), given)
        if bind.volumes:
            self._chosen[bind.uid] = bind.volumes

    def confirm(self, outcome: Outcome) -> None:
        """Take in what became of a bind: after a refusal its claims and volumes are as the server has them."""
        if isinstance(outcome, Bound) and outcome.result is not Result.UNKNOWN:
            for claim, volume in self._chosen.pop(outcome.uid, ()):
                kind, name = ("PersistentVolumeClaim", claim) if volume is None else ("PersistentVolume", volume)
                thing = Reference(kind, name)
                if outcome.result is Result.REFUSED and (plain := self._plain.pop(thing, None)) is not None:
                    self._set(thing, plain)

    def _assume(self, thing: Reference, value: Claim | Volume) -> None:
        self._plain.setdefault(thing, self.kinds[thing.kind][thing.full_name])
        self._set(thing, value)

    def _assumed(self, thing: Reference, value: Claim | Volume) -> Claim | Volume:
        """Return an object as it was seen, with what was decided and is not written yet."""
        own = self.kinds[thing.kind][thing.full_name]
        told = bool(value.claim) if isinstance(value, Volume) else bool(value.selected or value.volume)
        if told or own.uid != value.uid:
            del self._plain[thing]
            return value
        self._plain[thing] = value
        if isinstance(value, Volume):
            return replace(value, claim=own.claim, claim_uid=own.claim_uid)
        return replace(value, selected=own.selected)

    def _set(self, thing: Reference, value: Storage | None) -> list[str]:
        kept, name = self.kinds[thing.kind], thing.full_name
        old = kept.pop(name, None)
        self.prepared.pop(thing, None)
        if isinstance(value, Claim | Volume) and value.prepared and _untouched(value):
            self.prepared[thing] = value.prepared
        if value is not None:
            kept[name] = value
        self.version += 1
        claims: dict[str, None] = {}
        for one in (old, value):
            claims |= dict.fromkeys(self._claims_of(one))
            if one is not None:
                self._index(one, there=one is value)
        touched = [uid for claim in claims for uid in self.users.get(claim, {})]
        self.changed.update(touched)
        return touched

    def matters(self, kind: str) -> bool:
        """Tell whether an object of this kind, which says something of nodes, may matter to somebody who waits."""
        return bool(self.waiting) and kind != "PersistentVolumeClaim"

    def _claims_of(self, value: Storage | None) -> Iterator[str]:
        """Yield the claims of which an object says something."""
        match value:
            case Claim(name):
                yield name
            case Volume(name, claim=claim):
                if claim:
                    yield claim
                yield from self.of_volume.get(name, {})
            case StorageClass(name):
                yield from (one for one in self._of_class.get(name, {}) if not self.claims[one].bound)

    def _index(self, value: Storage, *, there: bool) -> None:
        name = value.node if isinstance(value, NodeDrivers) else value.name
        match value:
            case Claim():
                pairs = [(self.of_volume, value.volume), (self._of_class, value.storage_class)]
            case Attachment():
                pairs = [(self.on_node, value.node), (self._attached, value.volume)]
                self.dirty.add(value.node)
            case Volume():
                pairs = []
                self.dirty.update(self.attachments[one].node for one in self._attached.get(name, {}))
                self.free.pop(name, None)
                if value.claim and there:
                    self.promised[value.claim] = name
                elif self.promised.get(value.claim) == name:
                    del self.promised[value.claim]
                if there and value.available and not value.claim and not value.deleting:
                    self.free[name] = None
            case _:
                pairs = []
        for index, key in pairs:
            if key and there:
                index.setdefault(key, {})[name] = None
            elif key:
                take_out(index, key, name)


def _untouched(value: Claim | Volume) -> bool:
    """Tell whether nobody has made anything of what we wrote."""
    return value.available and bool(value.claim) if isinstance(value, Volume) else not value.volume


def keys_of(task: Task) -> list[str]:
    """Return what a task mounts: claims by `namespace/name`."""
    return [f"{task.namespace}/{one.claim}" for one in task.mounts if one.claim]
