"""What a dialect is: the kinds of objects that it reads, and what it says of a pod. Each is one row in `table`.

The order of the rows is the precedence: the first row that names a queue, a group or a wish for a pod is heard.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from phalanx.dialects.core.parts import Asked
from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.core.sides import NodeSide
from phalanx.dialects.mistakes import Mistakes
from phalanx.model.device import DeviceWish
from phalanx.model.events import Event, GroupsSeen, QueueGone, QueueSeen, StorageGone
from phalanx.model.gang import Membership
from phalanx.model.plan import Reason
from phalanx.model.reference import Reference
from phalanx.model.task import Hold


class QueueName(NamedTuple):
    """The queue that a pod is in by its dialect."""

    name: str
    #: None: no field names it, the dialect puts such pods there.
    field: str | None


class Members(NamedTuple):
    """How the pods of a group are."""

    pending: int = 0
    #: They have a place and have not finished.
    placed: int = 0
    #: Of those, the ones whose containers run.
    running: int = 0
    succeeded: int = 0
    failed: int = 0


class Wishes(NamedTuple):
    """What a pod says of itself besides its gang and queue; None: nothing."""

    movable: bool = True
    expected_runtime: float | None = None
    #: These two count for a pod in no gang alone.
    preemptible: bool | None = None
    patience: float | None = None
    devices: DeviceWish | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a kind: what its objects are decoded to, and how they become an event."""

    name: str
    type: Any
    #: Raises FieldError for the first mistake. None: a Pod, of which every row says something.
    event: Callable[[Any], Event] | None
    #: A version that only files hold is not looked for on a cluster.
    watched: bool = True
    #: What an API server fills in as `spec.priority` of a group without a class; None: nothing.
    priority: int | None = None
    decoder: msgspec.json.Decoder[Any] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "decoder", msgspec.json.Decoder(self.type))


class Made(NamedTuple):
    """An object that a controller makes for another one."""

    object: dict[str, Any]
    #: The field of the other one that it comes from, with a dot at the end.
    path: str


class Maker(NamedTuple):
    """A kind of object for which its system's controller makes pods. It is read in files alone."""

    kind: str
    api_version: str
    #: What its controller would make of one that has made nothing yet, raising FieldError for a mistake.
    make: Callable[[Mapping[str, Any]], list[Made]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of object that a dialect reads."""

    kind: str
    #: The API group; empty for the core's.
    group: str = ""
    plural: str
    #: Newest first. Of those that a cluster serves the first is watched.
    versions: tuple[Version, ...]
    gone: Callable[[Reference, str], Event]
    namespaced: bool = True
    #: Absent from many clusters: a 404 is normal, and it may appear later.
    optional: bool = True
    #: Watched only where a policy asks for it (`Policy.asks`).
    asked: bool = False
    #: Pods wait for such an object and say so, also when it cannot be read.
    awaited: bool = False
    #: An API server fills in the priority from `spec.priorityClassName`.
    prioritised: bool = False
    #: In messages the API group stands behind the kind: Kubernetes and Phalanx have one of this name too.
    qualified: bool = True
    #: What to merge into the status of a group: why its gang waits, or None when it has got its places.
    status: Callable[[GroupsSeen, Reason | None, float], dict[str, Any] | None] | None = None
    #: What to merge into the status of a group as its pods go on, given why something of it waits; None: nothing.
    life: Callable[[GroupsSeen, Members, Reason | None, float], dict[str, Any] | None] | None = None
    #: What to merge into the status of a queue, given what its work has; None: nothing.
    queue_life: Callable[[QueueSeen, Mapping[str, int]], dict[str, Any] | None] | None = None
    #: The status is a subresource; otherwise it is written as any other field.
    status_apart: bool = True
    #: Whoever schedules for one of these names keeps the status of objects without pods too.
    schedulers: tuple[str, ...] = ()

    @property
    def called(self) -> str:
        """Return the kind as in a `Reference`."""
        return f"{self.kind}.{self.group}" if self.qualified else self.kind

    @property
    def queue(self) -> bool:
        """Tell whether its objects are queues."""
        return self.gone is QueueGone

    @property
    def storage(self) -> bool:
        """Tell whether its objects say something of volumes."""
        return self.gone is StorageGone

    def api_version(self, version: Version) -> str:
        """Return the `apiVersion` of objects of a version."""
        return f"{self.group}/{version.name}" if self.group else version.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One row. A dialect that leaves a field out has no say there."""

    name: str
    kinds: tuple[Kind, ...] = ()
    makers: tuple[Maker, ...] = ()
    #: The gang of a pod, by its fields, labels, annotations or owners, given its namespace. One with an `owner` refers
    #: to an object; one without describes the gang itself.
    membership: Callable[[Pod, str, Mistakes], Membership | None] | None = None
    #: The gang of a pod of which no row says anything.
    otherwise: Callable[[Pod, str, Mistakes], Membership | None] | None = None
    #: The fields by which a pod refers to objects. A pod that refers to two is held.
    references: Callable[[Pod], Iterable[str]] | None = None
    #: The fields that describe a gang, but not well enough to be compared with the object of a reference.
    descriptions: Callable[[Pod], Iterable[str]] | None = None
    #: A membership that another row gives, with what this dialect's fields add.
    refine: Callable[[Membership, Pod, Mistakes], Membership] | None = None
    queue: Callable[[Pod, Mistakes], QueueName | None] | None = None
    #: Given whether the pod is in no gang, and its priority.
    wishes: Callable[[Pod, bool, int, Mistakes], Wishes | None] | None = None
    #: The part of devices that a pod asks for, raising FieldError for a mistake.
    part: Callable[[Pod], Asked | None] | None = None
    #: The ids of the groups whose devices it has. One that asks for no part reserves them for others.
    groups: Callable[[Pod], tuple[str, ...]] | None = None
    #: Programs on nodes that give out parts.
    sides: tuple[NodeSide, ...] = ()
    #: What the ConfigMaps say from which its containers learn their devices: by the pod's annotations, given the ids of
    #: the devices and the part of each.
    config_maps: Callable[[Mapping[str, str], str, str], Mapping[str, Mapping[str, str]]] | None = None
    #: Constraints that this version does not honour: the pod is never bound.
    holds: Callable[[Pod], Iterable[Hold]] | None = None


class Table:
    """The rows, and what they come to together."""

    def __init__(self, rows: Iterable[Dialect]) -> None:
        self.rows = rows = tuple(rows)
        kinds = [kind for row in rows for kind in row.kinds]
        #: By API group and kind.
        self.kinds = {(kind.group, kind.kind): kind for kind in kinds}
        #: By the kind in a `Reference`.
        self.called = {kind.called: kind for kind in kinds}
        if len(self.kinds) < len(kinds) or len(self.called) < len(kinds):
            raise ValueError("two dialects read one kind, or call two kinds by one name")
        #: By kind and `apiVersion`.
        self.versions = {(kind.kind, kind.api_version(version)): version for kind in kinds for version in kind.versions}
        self.makers = {(maker.kind, maker.api_version): maker for row in rows for maker in row.makers}
        self.memberships = [row.membership for row in rows if row.membership]
        self.otherwise = [row.otherwise for row in rows if row.otherwise]
        self.references = [row.references for row in rows if row.references]
        self.descriptions = [row.descriptions for row in rows if row.descriptions]
        self.refinements = [row.refine for row in rows if row.refine]
        self.queues = [row.queue for row in rows if row.queue]
        self.wishes = [row.wishes for row in rows if row.wishes]
        self.parts = [row.part for row in rows if row.part]
        self.groups = [row.groups for row in rows if row.groups]
        self.sides = {side.name: side for row in rows for side in row.sides}
        self.config_maps = [row.config_maps for row in rows if row.config_maps]
        self.holds = [row.holds for row in rows if row.holds]

    def kind(self, kind: object, api_version: object) -> Kind | None:
        """Return the kind of an object, whatever its version; None: no dialect reads it."""
        group = api_version.rpartition("/")[0] if isinstance(api_version, str) else ""
        return self.kinds.get((group, kind)) if isinstance(kind, str) else None

    def name(self, kind: str, api_version: object) -> str:
        """Return what a kind is called in a `Reference`."""
        known = self.kind(kind, api_version)
        if known is None and isinstance(api_version, str) and (kind, api_version) in self.makers:
            return f"{kind}.{str(api_version).rpartition('/')[0]}"
        return kind if known is None else known.called
