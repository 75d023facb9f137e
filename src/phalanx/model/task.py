"""A task is one pod; a shape is what makes two tasks interchangeable."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from operator import attrgetter
from typing import Any, NamedTuple

from phalanx.model.device import DeviceWish
from phalanx.model.gang import Membership
from phalanx.model.image import ImageWish
from phalanx.model.selectors import HostPort, Liking, NodeTerm, PodRule, PodTerm, Preference, Spread, Toleration
from phalanx.model.sharing import RESOURCE, Part
from phalanx.model.volume import Mount, Needs


class State(Enum):
    """Where a task is in its life."""

    PENDING = "pending"
    #: Decided, its bind on the way: charged like a running one until its outcome is known.
    BINDING = "binding"
    RUNNING = "running"
    #: Terminating: still charged, will be free.
    RELEASING = "releasing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Hold:
    """Why an object must not be placed yet: the field that says so, and a sentence for a person."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class Alone(NamedTuple):
    """Who shares the domains of a level with nobody."""

    #: The gang, or the subgroup of one.
    owner: str
    level: str
    #: A label, `KEY` or `KEY=VALUE`: nobody who has it; None: nobody of ours.
    against: str | None


class Replica(NamedTuple):
    """Of what it is a replica, and the level over which replicas are spread."""

    of: str
    level: str


@dataclass(frozen=True, slots=True)
class Shape:
    """Everything about a task that a decision may look at. Tasks of one shape are interchangeable."""

    #: Sorted by resource name; always holds one of `pods`.
    requests: tuple[tuple[str, int], ...]
    #: cpu and memory as Kubernetes scores them: a container that asks for none counts as a little.
    scored: tuple[int, int] = (0, 0)
    priority: int = 0
    namespace: str = "default"
    #: Only the labels that some selector in the cluster reads.
    labels: tuple[tuple[str, str], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    #: nodeSelector, as requirements that must all hold.
    node_selector: NodeTerm | None = None
    #: Required node affinity: one of the terms must match. None: no such wish.
    node_terms: tuple[NodeTerm, ...] | None = None
    preferences: tuple[Preference, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    #: What its node must declare that it can do, sorted.
    features: tuple[str, ...] = ()
    #: Required anti-affinity: keeps matching pods out of its domains while it is on a node.
    repels: tuple[PodRule, ...] = ()
    #: Required affinity: in each of its domains there must be a pod that all these rules mean.
    attracts: tuple[PodRule, ...] = ()
    #: Preferred affinity, and (below zero) anti-affinity.
    likes: tuple[tuple[int, PodRule], ...] = ()
    spreads: tuple[Spread, ...] = ()
    #: The labels by which Services select it; nothing where nobody looks at Services.
    served: tuple[tuple[str, str], ...] = ()
    #: The images that it starts from; None: nobody looks at them.
    images: ImageWish | None = None
    #: Which devices serve it; None: any of the resource that it asks for.
    devices: DeviceWish | None = None
    #: The kubelet gives it cpus for itself, where it is told to: its limits are its requests (Guaranteed).
    pinned: bool = False
    #: What it takes of devices that it shares. Its requests have as much of their resource as it takes at least.
    part: Part | None = None
    #: How much of that resource queues count for it where that is more; 0: what it requests.
    counted: int = 0
    #: What its volumes ask of nodes, as claims and volumes are now; None: it has none that would.
    volumes: Needs | None = None
    alone: tuple[Alone, ...] = ()
    replicas: tuple[Replica, ...] = ()

    @property
    def charged(self) -> tuple[tuple[str, int], ...]:
        """Return what queues count for it: requests, and a part by memory as that of the smallest device for it."""
        if not self.counted:
            return self.requests
        return tuple(sorted((dict(self.requests) | {RESOURCE: self.counted}).items()))

    @property
    def wish(self) -> tuple[object, ...] | None:
        """Return which devices it wants, and how many; None: any device, and then no filter asks how many."""
        if self.devices is None:
            return None
        return (self.devices, self.part, *((name, amount) for name, amount in self.requests if "/" in name))


#: Stands among the labels of a shape for what its task is a copy of. No label can be called so.
REPLICAS_OF = " replicas of"
#: The same: that it is of ours.
OURS = " ours"


@dataclass(frozen=True, slots=True)
class Task:
    """One pod, of ours or of anybody else."""

    uid: str
    namespace: str
    name: str
    shape: Shape
    state: State = State.PENDING
    node: str | None = None
    #: Whether one of our scheduler names is on it. Others' tasks are charged, never moved.
    ours: bool = True
    scheduler: str = "phalanx"
    created: float = 0.0
    started: float | None = None
    finished: float | None = None
    #: When a terminating pod will be gone.
    gone_at: float | None = None
    #: It should have been gone long ago: nobody counts on its room.
    stuck: bool = False
    grace: float = 30.0
    #: The controller that will make it again, by uid (empty: it has none); None: nobody will.
    owner: str | None = None
    #: The ReplicaSet or its like whose copies it is one of, by uid; empty: of none.
    replicas_of: str = ""
    #: Its number among the pods of its controller, where that says it; with that of its job, or group, before it.
    index: tuple[int, ...] = ()
    #: Does not forbid to be moved to another node.
    movable: bool = True
    membership: Membership | None = None
    hold: Hold | None = None
    nominated: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    #: Of its annotations those that a plugin reads.
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    images: ImageWish | None = None
    #: What it says of other pods as it is written. Its shape in a snapshot has it with the namespaces looked up.
    repels: tuple[PodTerm, ...] = ()
    attracts: tuple[PodTerm, ...] = ()
    likes: tuple[Liking, ...] = ()
    spreads: tuple[Spread, ...] = ()
    queue: str | None = None
    #: The field that names the queue; None: no field does, the pod's own system puts it there.
    queue_field: str | None = None
    #: Of a pod in no gang; members of one say it in their membership.
    preemptible: bool = True
    patience: float | None = None
    #: Others may be evicted for it (`spec.preemptionPolicy` is not `Never`).
    evicts: bool = True
    #: From the annotation `phalanx.dev/expected-runtime`.
    expected_runtime: float | None = None
    #: What it asks for of devices that it shares, and the field that says so.
    part: Part | None = None
    part_field: str = ""
    #: It asks a device plugin for it, which counts places: where nothing is shared each device counts as a whole one.
    part_counted: bool = False
    #: The ids of the groups whose devices it shares on its node, or on the one that is nominated to it.
    groups: tuple[str, ...] = ()
    #: The volumes that tie it to some nodes, as its spec names them. Its shape in a snapshot has what they ask for.
    mounts: tuple[Mount, ...] = ()

    @property
    def full_name(self) -> str:
        """Return `namespace/name`, as every output shows it."""
        return f"{self.namespace}/{self.name}"

    @property
    def looks_around(self) -> bool:
        """Tell whether it says something of other pods."""
        return bool(self.repels or self.attracts or self.likes or self.spreads) or self.stands_apart

    @property
    def stands_apart(self) -> bool:
        """Tell whether its gang, or its subgroup, wishes to be apart from others in the topology tree."""
        said = self.membership
        if said is None or not self.ours:
            return False
        levels = (said.topology_exclusive, said.subgroup_topology_exclusive, said.topology_spread)
        return any(levels) or said.subgroup_topology_spread is not None

    @property
    def controlled(self) -> bool:
        """Tell whether a controller will make it again."""
        return self.owner is not None

    @property
    def charged(self) -> bool:
        """Tell whether it takes room on its node."""
        return self.node is not None and self.state in CHARGED


#: Terminating pods still take room.
CHARGED = frozenset({State.BINDING, State.RUNNING, State.RELEASING})

_PLACE = {one.name: place for place, one in enumerate(fields(Task))}
_VALUES = attrgetter(*_PLACE)


def changed(task: Task, **values: object) -> Task:
    """Return a task with other values in these fields; `dataclasses.replace` takes three times as long."""
    found: list[Any] = list(_VALUES(task))
    for name, value in values.items():
        found[_PLACE[name]] = value
    return Task(*found)
