"""The fields of KAI's Queue and PodGroup objects that are read; the others are for other programs than a scheduler."""

from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct

from phalanx.dialects.core import objects

Member: TypeAlias = Annotated[int, Meta(ge=1, le=2**31 - 1)]


class QueueResource(Struct, gc=False, rename="camel"):
    """What a queue owns of one resource; numbers, checked by hand."""

    quota: Any = None
    over_quota_weight: Any = None
    limit: Any = None


class QueueResources(Struct, gc=False):
    """What a queue owns. Other resources are not governed."""

    gpu: QueueResource | None = None
    cpu: QueueResource | None = None
    memory: QueueResource | None = None


class QueueSpec(Struct, gc=False, rename="camel"):
    """What a Queue says."""

    parent_queue: str | None = None
    resources: QueueResources | None = None
    priority: objects.Int32 | None = None
    preempt_min_runtime: str | None = None
    reclaim_min_runtime: str | None = None


class Queue(Struct, gc=False):
    """A Queue."""

    metadata: objects.Versioned
    spec: QueueSpec
    status: Any = None


class TopologyConstraint(Struct, gc=False, rename="camel"):
    """Levels of a topology inside one domain of which the pods must, or should, be."""

    topology: str | None = None
    required_topology_level: str | None = None
    preferred_topology_level: str | None = None


class TopologyLevel(Struct, gc=False, rename="camel"):
    """A level of a topology."""

    node_label: str | None = None


class TopologySpec(Struct, gc=False):
    """The levels of a topology, from the top."""

    levels: list[TopologyLevel] | None = None


class Topology(Struct, gc=False):
    """A Topology: KAI's and Kueue's are alike."""

    metadata: objects.Versioned
    spec: TopologySpec


class SubGroup(Struct, gc=False, rename="camel"):
    """A part of a group: a set of other parts, or of pods."""

    name: str
    min_member: Member | None = None
    min_sub_group: Member | None = None
    parent: str | None = None
    topology_constraint: TopologyConstraint | None = None


class PodGroupSpec(Struct, gc=False, rename="camel"):
    """What a PodGroup says."""

    min_member: Member | None = None
    min_sub_group: Member | None = None
    queue: str | None = None
    priority_class_name: str | None = None
    preemptibility: str | None = None
    topology_constraint: TopologyConstraint | None = None
    sub_groups: list[SubGroup] | None = None


class PodGroup(Struct, gc=False):
    """A PodGroup."""

    metadata: objects.Versioned
    spec: PodGroupSpec
