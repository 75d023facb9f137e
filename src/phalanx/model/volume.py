"""Volumes: what pods mount, what claims and volumes say, and what of it a placement must look at."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from phalanx.model.axis import Bool, Int
from phalanx.model.selectors import LabelSelector, NodeTerm, satisfied

#: One of these terms must match a node; none at all matches no node.
Place = tuple[NodeTerm, ...]


@dataclass(frozen=True, slots=True, order=True)
class Disk:
    """A disk that a pod names itself, without a claim."""

    #: What kind of disk it is, and which one.
    kind: str
    name: str
    read_only: bool = False
    #: Of Ceph: two disks of one name are one only where they share a monitor.
    monitors: tuple[str, ...] = ()
    #: The CSI driver that attaches it; empty: none counts it.
    driver: str = ""

    def clashes(self, other: "Disk") -> bool:
        """Tell whether pods with these disks cannot be on one node."""
        if self.kind not in _EXCLUSIVE or (self.kind, self.name) != (other.kind, other.name):
            return False
        if self.monitors and not set(self.monitors) & set(other.monitors):
            return False
        return self.kind == "awsElasticBlockStore" or not (self.read_only and other.read_only)


#: Kinds of disks of which a node mounts each once, or by readers alone.
_EXCLUSIVE = frozenset({"gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd"})


class Mount(NamedTuple):
    """A volume of a pod that ties it to some nodes."""

    #: Where the pod says so.
    field: str
    #: The claim, in the pod's namespace; empty: a disk.
    claim: str = ""
    #: The claim is made for the pod alone (`ephemeral`): one of somebody else is not its.
    own: bool = False
    disk: Disk | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim."""

    #: `namespace/name`
    name: str
    uid: str = ""
    storage_class: str = ""
    #: Bytes; None: it asks for no amount.
    size: int | None = None
    mode: str = "Filesystem"
    access: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    #: The volume that it names, and whether both sides agreed on it.
    volume: str = ""
    bound: bool = False
    lost: bool = False
    deleting: bool = False
    #: The node that was chosen for it, so that its volume is made there.
    selected: str = ""
    #: The uid of the pod for which we wrote to it; empty: we did not.
    prepared: str = ""
    #: The pods by whom it is owned, by uid.
    owners: tuple[str, ...] = ()

    @property
    def exclusive(self) -> bool:
        """Tell whether one pod at a time may use it."""
        return "ReadWriteOncePod" in self.access


@dataclass(frozen=True, slots=True)
class Volume:
    """A PersistentVolume."""

    name: str
    uid: str = ""
    storage_class: str = ""
    size: int = 0
    mode: str = "Filesystem"
    access: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    #: Where it can be used; None: anywhere.
    place: Place | None = None
    #: The labels by which old volumes say their zone and region: key and the values that will do.
    zones: tuple[tuple[str, tuple[str, ...]], ...] = ()
    #: The claim that it is for, `namespace/name` and uid (empty: whichever has the name); empty: nobody's.
    claim: str = ""
    claim_uid: str = ""
    available: bool = True
    deleting: bool = False
    #: What attaches it to nodes, and how the driver calls it; empty: nothing counts it.
    driver: str = ""
    handle: str = ""
    #: The uid of the pod for which we wrote to it; empty: we did not.
    prepared: str = ""

    def serves(self, claim: Claim) -> bool:
        """Tell whether it is this claim's already."""
        return self.claim == claim.name and self.claim_uid in {"", claim.uid}


def within(place: Place | None, labels: Mapping[str, str]) -> bool:
    """Tell whether a node with these labels is in a place."""
    if place is None:
        return True
    return any(term.labels and all(satisfied(one, labels.get(one.key)) for one in term.labels) for term in place)


@dataclass(frozen=True, slots=True)
class StorageClass:
    """A StorageClass."""

    name: str
    uid: str = ""
    #: Empty: it makes no volumes.
    provisioner: str = ""
    #: Volumes are chosen or made once a pod has a node.
    waits: bool = False
    #: Where it can make volumes: one of the terms must match; None: anywhere.
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class NodeDrivers:
    """The CSI drivers of a node (CSINode)."""

    node: str
    uid: str = ""
    #: How many volumes each can attach; None: it does not say.
    limits: tuple[tuple[str, int | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Driver:
    """A CSIDriver."""

    name: str
    uid: str = ""
    #: It tells how much there is where (CSIStorageCapacity).
    capacity: bool = False
    #: Pods do not go to nodes without it.
    needed: bool = False


@dataclass(frozen=True, slots=True)
class Capacity:
    """A CSIStorageCapacity: how large a volume of a class can be made on some nodes."""

    #: `namespace/name`
    name: str
    uid: str = ""
    storage_class: str = ""
    #: None: no node has access.
    nodes: LabelSelector | None = None
    #: Bytes of the largest volume; None: not known, so none.
    largest: int | None = None


@dataclass(frozen=True, slots=True)
class Attachment:
    """A VolumeAttachment: a volume that is, or is to be, attached to a node."""

    name: str
    uid: str = ""
    node: str = ""
    volume: str = ""
    driver: str = ""


Storage = Claim | Volume | StorageClass | NodeDrivers | Driver | Capacity | Attachment


class Want(NamedTuple):
    """What a claim asks for that gets its volume with the pod's node."""

    storage_class: str
    size: int | None
    mode: str
    access: tuple[str, ...]
    selector: LabelSelector | None = None
    #: The node that was chosen for it earlier; empty: none.
    selected: str = ""

    def takes(self, volume: Volume) -> bool:
        """Tell whether it could have this volume, wherever that lies."""
        return (
            volume.storage_class == self.storage_class
            and volume.size >= (self.size or 0)
            and volume.mode == self.mode
            and set(self.access) <= set(volume.access)
            and (self.selector is None or self.selector.matches(volume.labels))
        )


@dataclass(frozen=True, slots=True)
class Needs:
    """What the volumes of a shape ask of nodes. Names of claims are in it only where it matters which one it is."""

    #: Where the volumes lie that it has already: each must be within reach.
    places: tuple[Place, ...] = ()
    zones: tuple[tuple[str, tuple[str, ...]], ...] = ()
    #: Volumes that nobody else uses: how many by driver. And those that others use too, by driver and name.
    attach: tuple[tuple[str, int], ...] = ()
    shared: tuple[tuple[str, str], ...] = ()
    disks: tuple[Disk, ...] = ()
    #: Claims that one pod at a time may use and that others ask for too. With the pod: such are not interchangeable.
    exclusive: tuple[tuple[str, str], ...] = ()
    #: Claims that get their volumes with the node.
    wants: tuple[Want, ...] = ()


@dataclass(frozen=True, slots=True)
class Provision:
    """Where a class can make a volume of its own."""

    place: Place | None
    #: (which nodes, the largest volume there); None: nobody tells, so anywhere.
    capacities: tuple[tuple[LabelSelector, int], ...] | None


class Unbound(NamedTuple):
    """A claim of a waiting task that is to be bound before the task is."""

    claim: str
    want: Want
    #: The volume that is for it already; None: it is chosen with the node, or made there.
    volume: str | None = None


class TaskVolumes(NamedTuple):
    """The names behind what a waiting task needs: its volumes, and the claims that get one with its node."""

    volumes: tuple[str, ...] = ()
    unbound: tuple[Unbound, ...] = ()


class Chosen(NamedTuple):
    """The volume that a claim gets with a bind; without one it is made for it."""

    claim: str
    volume: str | None


@dataclass(frozen=True, slots=True)
class VolumeTable:
    """What a decision knows of volumes beside the shapes."""

    #: By class.
    provisions: Mapping[str, Provision]
    #: Volumes that are nobody's, by size and name.
    free: tuple[Volume, ...]
    #: By driver, [node]: how many volumes more than those of the pods there, and where it is at all.
    limits: Mapping[str, Int]
    missing: Mapping[str, Bool]
