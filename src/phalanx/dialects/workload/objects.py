"""The fields of Kubernetes' Workload and PodGroup objects that are read, in every version of them."""

from typing import Any

from msgspec import Struct

from phalanx.dialects.core import objects


class GangPolicy(Struct, gc=False, rename="camel"):
    """All or nothing from so many pods on."""

    min_count: objects.Int32 | None = None


class Policy(Struct, gc=False):
    """How the pods of a group are placed: exactly one of the two is set."""

    basic: Any = None
    gang: GangPolicy | None = None


class WorkloadGroup(Struct, gc=False):
    """A group of a v1alpha1 Workload."""

    name: str
    policy: Policy | None = None


class WorkloadSpec(Struct, gc=False, rename="camel"):
    """What a v1alpha1 Workload says."""

    pod_groups: list[WorkloadGroup] | None = None


class Workload(Struct, gc=False):
    """A v1alpha1 Workload: it holds its groups itself."""

    metadata: objects.Versioned
    spec: WorkloadSpec


class Templates(Struct, gc=False):
    """A later Workload: templates of PodGroups, which do not bind anybody."""

    metadata: objects.Versioned


class Topology(Struct, gc=False):
    """A node label of which all pods of the group must see one value."""

    key: str | None = None


class Constraints(Struct, gc=False):
    """Where the pods of a group may be, together."""

    topology: list[Topology] | None = None


class PodGroupSpec(Struct, gc=False, rename="camel"):
    """What a PodGroup says."""

    scheduling_policy: Policy | None = None
    scheduling_constraints: Constraints | None = None
    #: A word in v1alpha2, a map with one key later.
    disruption_mode: Any = None
    priority_class_name: str | None = None
    priority: objects.Int32 | None = None
    parent_composite_pod_group_name: str | None = None


class GroupsPolicy(Struct, gc=False, rename="camel"):
    """All or nothing from so many groups on."""

    min_group_count: objects.Int32 | None = None


class CompositePolicy(Struct, gc=False):
    """How the groups of a composite one are placed: exactly one of the two is set."""

    basic: Any = None
    gang: GroupsPolicy | None = None


class CompositeSpec(Struct, gc=False, rename="camel"):
    """What a CompositePodGroup says."""

    scheduling_policy: CompositePolicy | None = None
    scheduling_constraints: Constraints | None = None
    disruption_mode: Any = None
    priority_class_name: str | None = None
    priority: objects.Int32 | None = None
    parent_composite_pod_group_name: str | None = None


class CompositePodGroup(Struct, gc=False):
    """A group of groups."""

    metadata: objects.Versioned
    spec: CompositeSpec


class Condition(Struct, gc=False, rename="camel"):
    """A condition in a PodGroup's status."""

    type: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None
    observed_generation: int | None = None


class PodGroupStatus(Struct, gc=False):
    """What the scheduler wrote."""

    conditions: list[Condition] | None = None


class PodGroup(Struct, gc=False):
    """A PodGroup."""

    metadata: objects.Versioned
    spec: PodGroupSpec
    status: PodGroupStatus | None = None
