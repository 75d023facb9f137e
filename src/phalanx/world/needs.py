"""Needs: what the volumes of a task ask of nodes, and why it must wait for them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from phalanx.model.events import Refused
from phalanx.model.reference import Reference
from phalanx.model.task import Hold, State, Task
from phalanx.model.volume import Claim, Mount, Needs, Place, TaskVolumes, Unbound, Volume, Want
from phalanx.world.storage import StorageObjects

Objections = Mapping[Reference, Refused]


@dataclass(slots=True)
class _Found:
    """What is gathered from one mount after the other."""

    places: dict[Place, None] = field(default_factory=dict[Place, None])
    zones: dict[tuple[str, tuple[str, ...]], None] = field(default_factory=dict[tuple[str, tuple[str, ...]], None])
    attach: dict[str, int] = field(default_factory=dict[str, int])
    shared: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    exclusive: list[str] = field(default_factory=list[str])
    names: list[str] = field(default_factory=list[str])
    unbound: list[Unbound] = field(default_factory=list[Unbound])


class Volumes:
    """Answers for one task after the other; keeps nothing but the objects."""

    def __init__(self, objects: StorageObjects, refused: Objections) -> None:
        self.objects = objects
        self._refused = refused
        #: Equal needs are one value: they are hashed and compared with every shape.
        self._needs: dict[Needs, Needs] = {}

    def needs(self, task: Task) -> Needs | None:
        """Return what a task asks of nodes for its volumes; None: nothing."""
        return self._worked_out(task)[0] if task.mounts else None

    def of(self, task: Task) -> TaskVolumes:
        """Return the names behind the needs of a waiting task."""
        return self._worked_out(task)[1]

    def held(self, task: Task) -> Task:
        """Return a waiting task with why its volumes keep it from being placed, if they do."""
        if not task.mounts or task.hold is not None or task.state is not State.PENDING:
            return task
        holds = (hold for mount in task.mounts if (hold := self._hold(task, mount)) is not None)
        hold = next(holds, None)
        return task if hold is None else replace(task, hold=hold)

    def _hold(self, task: Task, mount: Mount) -> Hold | None:  # noqa: PLR0911 (one return per reason)
        if not mount.claim:
            return None
        name = f"{task.namespace}/{mount.claim}"
        claim = self.objects.claims.get(name)
        if claim is None:
            wrong = self._refused.get(Reference("PersistentVolumeClaim", name))
            if wrong is not None:
                return Hold(mount.field, f"claim {name} cannot be read: {wrong.field}: {wrong.message}")
            made = ", its controller has not made it yet" if mount.own else ""
            return Hold(mount.field, f"claim {name} is not there{made}")
        if mount.own and task.uid not in claim.owners:
            return Hold(mount.field, f"claim {name} was not made for this pod")
        if claim.lost:
            return Hold(mount.field, f"claim {name} lost its volume {claim.volume}")
        if claim.deleting:
            return Hold(mount.field, f"claim {name} is being deleted")
        if claim.bound:
            return self._of_volume(mount, claim)
        return self._of_unbound(mount, claim)

    def _of_volume(self, mount: Mount, claim: Claim) -> Hold | None:
        """A claim that has its volume."""
        if claim.volume in self.objects.volumes:
            return None
        wrong = self._refused.get(Reference("PersistentVolume", claim.volume))
        found = "is not there" if wrong is None else f"cannot be read: {wrong.field}: {wrong.message}"
        return Hold(mount.field, f"volume {claim.volume} of claim {claim.name} {found}")

    def _of_unbound(self, mount: Mount, claim: Claim) -> Hold | None:
        """A claim without a volume waits for its class, unless it gets one with the pod's node."""
        kind = self.objects.classes.get(claim.storage_class)
        wrong = self._refused.get(Reference("StorageClass", claim.storage_class))
        if claim.volume:
            return Hold(
                mount.field, f"claim {claim.name} waits until volume {claim.volume}, which it names, is bound to it"
            )
        if not claim.storage_class:
            return Hold(mount.field, f"claim {claim.name} waits until a volume is bound to it (it has no class)")
        if wrong is not None:
            return Hold(
                mount.field,
                f"class {claim.storage_class} of claim {claim.name} cannot be read: {wrong.field}: {wrong.message}",
            )
        if kind is None:
            return Hold(mount.field, f"class {claim.storage_class} of claim {claim.name} is not there")
        if not kind.waits:
            whom = f"{kind.provisioner} makes" if kind.provisioner else "somebody makes"
            return Hold(
                mount.field, f"claim {claim.name} waits until {whom} its volume (class {kind.name} binds immediately)"
            )
        return None

    def _worked_out(self, task: Task) -> tuple[Needs, TaskVolumes]:
        found = _Found()
        for mount in task.mounts:
            claim = self.objects.claims.get(f"{task.namespace}/{mount.claim}") if mount.claim else None
            if claim is not None:
                self._add(found, task, claim)
        disks = [mount.disk for mount in task.mounts if mount.disk is not None]
        found.shared += [(one.driver, one.name) for one in disks if one.driver]
        needs = Needs(
            places=tuple(sorted(found.places, key=repr)),
            zones=tuple(sorted(found.zones)),
            attach=tuple(sorted(found.attach.items())),
            shared=tuple(sorted(set(found.shared))),
            disks=tuple(sorted(disks)),
            exclusive=tuple((name, task.uid) for name in sorted(found.exclusive)),
            # In the order of the pod, in which claims of one size are served.
            wants=tuple(one.want for one in found.unbound if one.volume is None),
        )
        if len(self._needs) > _NEEDS_MAX:
            self._needs.clear()
        return self._needs.setdefault(needs, needs), TaskVolumes(tuple(sorted(found.names)), tuple(found.unbound))

    def _add(self, found: _Found, task: Task, claim: Claim) -> None:
        users = self.objects.users.get(claim.name, {})
        others = len(users) - (task.uid in users)
        if claim.exclusive and others:
            found.exclusive.append(claim.name)
        volume = self._volume(claim)
        if volume is not None:
            driver = volume.driver
            found.names.append(volume.name)
            if volume.place is not None:
                found.places[volume.place] = None
            if claim.bound:
                # The zones that a volume is labelled with count once it is bound, as for kube-scheduler.
                found.zones |= dict.fromkeys(volume.zones)
            if not claim.bound and task.node is None:
                found.unbound.append(Unbound(claim.name, _want(claim), volume.name))
        else:
            kind = self.objects.classes.get(claim.storage_class)
            driver = kind.provisioner if kind is not None else ""
            if task.node is None:
                found.unbound.append(Unbound(claim.name, _want(claim)))
        if driver and others:
            found.shared.append((driver, claim.name))
        elif driver:
            found.attach[driver] = found.attach.get(driver, 0) + 1

    def _volume(self, claim: Claim) -> Volume | None:
        """Return the volume of a claim, which may be on its way to it."""
        if claim.volume:
            return self.objects.volumes.get(claim.volume)
        promised = self.objects.promised.get(claim.name)
        volume = self.objects.volumes.get(promised or "")
        if volume is None or not volume.serves(claim) or volume.deleting or volume.size < (claim.size or 0):
            return None
        alike = (volume.mode, volume.storage_class) == (claim.mode, claim.storage_class)
        return volume if alike else None


def _want(claim: Claim) -> Want:
    return Want(claim.storage_class, claim.size, claim.mode, claim.access, claim.selector, claim.selected)


#: Far more kinds of needs than a cluster has at a time.
_NEEDS_MAX = 16_384
