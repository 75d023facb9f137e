"""Everything that can happen. Events are the only way a World changes."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from phalanx.model.budget import Budget
from phalanx.model.device import Device
from phalanx.model.gang import Condition, Group
from phalanx.model.node import Node, Zone
from phalanx.model.pattern import Pattern
from phalanx.model.queue import Queue
from phalanx.model.reference import Reference
from phalanx.model.selectors import LabelSelector
from phalanx.model.task import Task
from phalanx.model.volume import Storage


@dataclass(frozen=True, slots=True)
class NodeSeen:
    """A node appeared or changed."""

    node: Node

    @property
    def object(self) -> Reference:
        """Return which object it is."""
        return Reference("Node", self.node.name)


@dataclass(frozen=True, slots=True)
class NodeGone:
    """A node was deleted. Its pods stay in the books until they are deleted too."""

    name: str


@dataclass(frozen=True, slots=True)
class TaskSeen:
    """A pod appeared or changed."""

    task: Task


@dataclass(frozen=True, slots=True)
class TaskGone:
    """A pod was deleted."""

    uid: str


@dataclass(frozen=True, slots=True)
class NamespaceSeen:
    """A namespace appeared or changed."""

    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class NamespaceGone:
    """A namespace was deleted."""

    name: str


@dataclass(frozen=True, slots=True)
class ServiceSeen:
    """A Service appeared or changed."""

    #: `namespace/name`.
    full_name: str
    #: The labels by which it selects pods; None: it selects none.
    selector: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class ServiceGone:
    """A Service was deleted."""

    full_name: str


@dataclass(frozen=True, slots=True)
class GroupsSeen:
    """An object that describes groups of pods appeared or changed."""

    #: As its pods' `Membership.owner`.
    owner: Reference
    groups: tuple[Group, ...]
    #: These serve whoever writes the object's status; no decision looks at them.
    api_version: str = ""
    uid: str = ""
    generation: int = 0
    #: None: nobody has written one yet.
    condition: Condition | None = None
    #: `status` as it was read.
    status: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class GroupsGone:
    """An object that describes groups of pods was deleted."""

    owner: Reference
    #: Of the deleted object: one of the same name that was made since stays. None: whichever is there.
    uid: str | None = None


@dataclass(frozen=True, slots=True)
class QueueSeen:
    """A queue appeared or changed."""

    queue: Queue
    #: These serve whoever writes the object's status; no decision looks at them.
    api_version: str = ""
    generation: int = 0
    #: `status` as it was read: what was used, so that a restart does not forget it, and the conditions.
    status: Mapping[str, object] = dataclasses.field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class QueueGone:
    """A queue was deleted."""

    #: As `Queue.object`.
    object: Reference
    #: Of the deleted object: one of the same name that was made since stays. None: whichever is there.
    uid: str | None = None


@dataclass(frozen=True, slots=True)
class DevicesSeen:
    """An object that describes the devices of the node of its name appeared or changed."""

    object: Reference
    devices: tuple[Device, ...] = ()
    uid: str = ""
    #: Whose program on the node gives out parts of them, where nobody else counts them.
    side: str = ""
    #: As of a `Node`.
    zones: tuple[Zone, ...] = ()
    numa_policy: str = ""


@dataclass(frozen=True, slots=True)
class DevicesGone:
    """An object that describes the devices of a node was deleted."""

    object: Reference
    #: Of the deleted object: one of the same name that was made since stays. None: whichever is there.
    uid: str | None = None


@dataclass(frozen=True, slots=True)
class DomainSeen:
    """An object that names the nodes of one domain appeared or changed. The domain has the name of the object."""

    object: Reference
    #: What the domains of this level are grouped by, as nodes would be by a label of this key.
    key: str
    nodes: tuple[str, ...] = ()
    uid: str = ""
    #: More nodes, by their names or labels.
    choices: tuple[Pattern | LabelSelector, ...] = ()
    #: Names of domains of the same kind that are parts of it, each with the field that names it.
    parts: tuple[tuple[str, str], ...] = ()
    #: How far apart its nodes are at most: the lower, the closer. None: such domains have no parts, and make no tree.
    tier: int | None = None
    #: What domains of its tier are called.
    called: str = ""


@dataclass(frozen=True, slots=True)
class DomainGone:
    """An object that names the nodes of a domain was deleted."""

    object: Reference
    #: Of the deleted object: one of the same name that was made since stays. None: whichever is there.
    uid: str | None = None


@dataclass(frozen=True, slots=True)
class TopologySeen:
    """An object that lists the levels of a topology tree, as keys of labels of nodes from the top."""

    object: Reference
    levels: tuple[str, ...]
    uid: str = ""


@dataclass(frozen=True, slots=True)
class TopologyGone:
    """An object that lists the levels of a topology tree was deleted."""

    object: Reference
    #: Of the deleted object, as in `DomainGone`.
    uid: str | None = None


@dataclass(frozen=True, slots=True)
class PriorityClassSeen:
    """A priority class appeared or changed."""

    name: str
    value: int
    #: It counts for who names none.
    default: bool = False
    #: Its pods may have others evicted for themselves (`preemptionPolicy` is not `Never`).
    evicts: bool = True


@dataclass(frozen=True, slots=True)
class PriorityClassGone:
    """A priority class was deleted."""

    name: str


@dataclass(frozen=True, slots=True)
class BudgetSeen:
    """A disruption budget appeared or changed."""

    budget: Budget

    @property
    def full_name(self) -> str:
        """Return `namespace/name`."""
        return self.budget.full_name


@dataclass(frozen=True, slots=True)
class BudgetGone:
    """A disruption budget was deleted."""

    #: `namespace/name`
    full_name: str
    #: Of the deleted object: one of the same name that was made since stays. None: whichever is there.
    uid: str | None = None


@dataclass(frozen=True, slots=True)
class StorageSeen:
    """A claim, a volume, or an object that says something of volumes appeared or changed."""

    object: Reference
    value: Storage


@dataclass(frozen=True, slots=True)
class StorageGone:
    """Such an object was deleted."""

    object: Reference
    #: Of the deleted object: one of the same name that was made since stays. None: whichever is there.
    uid: str | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """An object could not be read. It is set aside with a sentence; everything else proceeds."""

    kind: str
    name: str
    field: str
    message: str
    #: It is a queue, whatever its system calls the kind.
    queue: bool = False
    #: Empty where it cannot be read either. Two mistakes are the same whoever made them.
    uid: str = dataclasses.field(default="", compare=False)

    @property
    def object(self) -> Reference:
        """Return which object it is."""
        return Reference(self.kind, self.name)

    def __str__(self) -> str:
        where = f"{self.object}: {self.field}: " if self.field else f"{self.object}: "
        return where + self.message


#: What changes how nodes and the pods on them are seen by others.
OfNodes = NamespaceSeen | NamespaceGone | StorageSeen | StorageGone | ServiceSeen | ServiceGone
#: What changes gangs, and nothing else.
OfGangs = GroupsSeen | GroupsGone | PriorityClassSeen | PriorityClassGone | TopologySeen | TopologyGone

Event = (
    NodeSeen | NodeGone | TaskSeen | TaskGone | OfNodes | OfGangs | QueueSeen | QueueGone | DomainSeen | DomainGone
    | DevicesSeen | DevicesGone | BudgetSeen | BudgetGone | Refused
)  # fmt: skip
