"""The fields of Volcano's PodGroup and Queue objects that are read. What becomes of each is in `fields`."""

from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct, field

from phalanx.dialects.core import objects

Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Size: TypeAlias = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Weight: TypeAlias = Annotated[int, Meta(ge=1, le=65_535)]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class NetworkTopology(Struct, gc=False, rename="camel"):
    """How near to each other pods must, or should, be."""

    mode: str | None = None
    highest_tier_allowed: Count | None = None
    highest_tier_name: str | None = None


class ExactMatch(Struct, gc=False):
    """One object by its name."""

    name: str


class RegexMatch(Struct, gc=False):
    """Nodes by a pattern that is found in their names."""

    pattern: str


class MemberSelector(Struct, gc=False, rename="camel"):
    """Which members: exactly one of the three is set."""

    exact_match: ExactMatch | None = None
    regex_match: RegexMatch | None = None
    label_match: objects.Selector | None = None


class Member(Struct, gc=False):
    """Nodes, or a smaller HyperNode."""

    type: str
    selector: MemberSelector | None = None


class HyperNodeSpec(Struct, gc=False, rename="camel"):
    """What a HyperNode says."""

    tier: Count
    tier_name: str | None = None
    members: list[Member] | None = None


class HyperNode(Struct, gc=False):
    """A HyperNode."""

    metadata: objects.Versioned
    spec: HyperNodeSpec


class SubGroupPolicy(Struct, gc=False, rename="camel"):
    """Pods of a group that are placed together, by their labels."""

    name: str | None = None
    label_selector: objects.Selector | None = None
    match_label_keys: list[str] | None = None
    sub_group_size: Size | None = None
    min_sub_groups: Count | None = None
    network_topology: NetworkTopology | None = None


class PodGroupSpec(Struct, gc=False, rename="camel"):
    """What a PodGroup says."""

    min_member: Count | None = None
    #: Numbers, checked by hand.
    min_task_member: dict[str, Any] | None = None
    min_resources: objects.Amounts = None
    queue: str | None = None
    priority_class_name: str | None = None
    network_topology: NetworkTopology | None = None
    sub_group_policy: list[SubGroupPolicy] | None = None


class PodGroup(Struct, gc=False):
    """A PodGroup."""

    metadata: objects.Versioned
    spec: PodGroupSpec | None = None
    status: Any = None


class Guarantee(Struct, gc=False):
    """What is kept for a queue while it is idle."""

    resource: objects.Amounts = None


class NodeGroups(Struct, gc=False):
    """Groups of nodes."""

    required: list[str] | None = field(default=None, name=_REQUIRED)
    preferred: list[str] | None = field(default=None, name=_PREFERRED)


class QueueAffinity(Struct, gc=False, rename="camel"):
    """Groups of nodes on which the work of a queue must, or should, be."""

    node_group_affinity: NodeGroups | None = None
    node_group_anti_affinity: NodeGroups | None = None


class QueueSpec(Struct, gc=False, rename="camel"):
    """What a Queue says."""

    weight: Weight | None = None
    capability: objects.Amounts = None
    reclaimable: bool | None = None
    guarantee: Guarantee | None = None
    affinity: QueueAffinity | None = None
    parent: str | None = None
    deserved: objects.Amounts = None
    priority: Count | None = None
    dequeue_strategy: str | None = None


class Queue(Struct, gc=False):
    """A Queue."""

    metadata: objects.Versioned
    spec: QueueSpec | None = None
    status: Any = None
