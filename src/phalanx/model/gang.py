"""A gang: tasks that start together or not at all."""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from phalanx.model.reference import Reference
from phalanx.model.selectors import LabelSelector

#: A level by its name or the key of its label; or by a number: the highest tier of domains that objects name.
Named: TypeAlias = str | int | None


class Segments(NamedTuple):
    """Every so many members, in the order of their ranks, are in one domain of a level."""

    size: int
    level: str


@dataclass(frozen=True, slots=True)
class Subgroup:
    """A part of a gang with a minimum of its own. A gang is a tree of them; native ones are flat."""

    name: str
    minimum: int
    children: tuple["Subgroup", ...] = ()
    topology_required: Named = None
    topology_preferred: Named = None
    #: The object that lists the levels; None: as the policy says.
    topology: Reference | None = None
    segments: Segments | None = None
    #: So many of its children must be whole, the others may start later, each whole; None: all of them must.
    groups: int | None = None
    #: The subgroups of its gang that say the same are replicas: they should be in different domains of this level.
    spread: str | None = None

    @property
    def wishes(self) -> bool:
        """Tell whether it, or a part of it, wishes to be in one domain."""
        return _wishes(self) or any(part.wishes for part in self.children)


def _wishes(of: "Gang | Subgroup") -> bool:
    """Tell whether it wishes something of topology for itself."""
    return (of.topology_required, of.topology_preferred, of.segments) != (None, None, None)


def leaves(subgroups: tuple[Subgroup, ...]) -> list[Subgroup]:
    """Return the subgroups that hold tasks, in order."""
    return [leaf for part in subgroups for leaf in (leaves(part.children) if part.children else [part])]


def every(subgroups: tuple[Subgroup, ...]) -> list[Subgroup]:
    """Return all subgroups, those with parts too."""
    return [one for part in subgroups for one in (part, *every(part.children))]


def holders(gang: "Gang") -> dict[str, str]:
    """Return by subgroup ("": none) whose wishes hold for its members: the lowest above with some, or "", the gang."""
    found, line = {"": ""}, [(part, "") for part in gang.subgroups]
    while line:
        part, above = line.pop()
        found[part.name] = part.name if part.wishes else above
        line += [(child, found[part.name]) for child in part.children]
    return found


class Division(NamedTuple):
    """Pods that the values of some labels divide into subgroups."""

    #: The subgroup above them.
    name: str
    #: Which pods; None: all that have the labels.
    selector: LabelSelector | None
    keys: tuple[str, ...]
    #: What each of them is like, whatever it is called.
    part: Subgroup
    #: As of a subgroup: so many of them must be whole.
    groups: int = 0


class PodFields(NamedTuple):
    """The fields by which a pod refers to its group, as its dialect spells them."""

    #: Names the object.
    object: str = ""
    #: Names the group inside the object.
    group: str = ""
    #: Names the subgroup, where the object says which there are.
    subgroup: str = ""


@dataclass(frozen=True, slots=True)
class Membership:
    """What one pod says of its gang. Members should agree; what they may differ in is in `world.gangs`."""

    gang: str
    #: None: another object says it (`owner`), or the annotation is missing and the gang is held until it is there.
    minimum: int | None
    maximum: int | None = None
    subgroup: str | None = None
    subgroup_minimum: int | None = None
    start_timeout: float | None = None
    preemptible: bool = True
    topology_required: Named = None
    topology_preferred: Named = None
    #: The objects whose levels these are; None: as the policy says.
    topology: Reference | None = None
    #: The same for its subgroup.
    subgroup_topology_required: str | None = None
    subgroup_topology_preferred: str | None = None
    segment_size: int | None = None
    segment_topology: str | None = None
    subgroup_segment_size: int | None = None
    subgroup_segment_topology: str | None = None
    #: Nobody else in the domains of this level that it is in; with a label (`KEY`, `KEY=VALUE`), nobody who has that.
    topology_exclusive: str | None = None
    topology_exclusive_against: str | None = None
    subgroup_topology_exclusive: str | None = None
    replica_of: str | None = None
    topology_spread: str | None = None
    subgroup_topology_spread: str | None = None
    patience: float | None = None
    #: The object that the pod refers to. It describes the gang, unless `minimum` is set.
    owner: Reference | None = None
    #: The group of that object, and which copy of the group.
    group: str | None = None
    replica: str | None = None
    #: What the pod itself says, where its group is part of a larger one, of which the rest speaks.
    base: "Membership | None" = None
    #: For messages alone: pods that refer to one group by different fields agree.
    fields: PodFields = field(default=PodFields(), compare=False)

    @property
    def segments(self) -> Segments | None:
        """Return the segments of its gang."""
        return _segments(self.segment_size, self.segment_topology)

    @property
    def subgroup_segments(self) -> Segments | None:
        """Return the segments of its subgroup."""
        return _segments(self.subgroup_segment_size, self.subgroup_segment_topology)


def _segments(size: int | None, level: str | None) -> Segments | None:
    return None if size is None or level is None else Segments(size, level)


@dataclass(frozen=True, slots=True)
class Group:
    """What an object says of one gang whose pods only refer to it."""

    #: Unique inside its object.
    name: str
    #: None: its pods need not start together (the policy `basic`).
    minimum: int | None
    #: None: that of its pods counts.
    priority: int | None = None
    #: Every pod must have the priority of the group.
    priority_binds: bool = False
    #: Its pods may be evicted one by one; otherwise all of them or none.
    disrupted_singly: bool = True
    topology_required: Named = None
    topology_preferred: Named = None
    topology: Reference | None = None
    #: Its leaf queue; None: its pods say it.
    queue: str | None = None
    #: The object's field that names the queue, for messages alone.
    queue_field: str = field(default="", compare=False)
    #: The annotation by which its namespace may name another queue, since the object names none of its own choice.
    namespace_key: str = ""
    #: A tree; empty: it has none.
    subgroups: tuple[Subgroup, ...] = ()
    #: As of a subgroup.
    groups: int | None = None
    #: Pods that are divided by their labels are in no other subgroup.
    divisions: tuple[Division, ...] = ()
    #: Its members are groups, those that name it as `parent`; the field that does so is for messages alone.
    composite: bool = False
    parent: Reference | None = None
    parent_field: str = field(default="", compare=False)
    #: Every pod must be in a leaf of the tree; otherwise who is in none counts to the minimum alone.
    all_in_leaves: bool = True
    #: The priority class that gives the priority, where `priority` is None. A class that is missing gives the value of
    #: the cluster's default class, and without one `priority_absent`.
    priority_class: str | None = None
    priority_absent: int | None = None
    #: None: preemptible if the priority is below `fixed_from`, and always where that is None.
    preemptible: bool | None = None
    fixed_from: int | None = None
    created: float | None = None
    #: Why none of its pods may be placed: the field and a sentence.
    hold: str | None = None

    @property
    def topologies(self) -> set[Reference]:
        """Return the objects that list the levels that it, or a subgroup, speaks of."""
        parts = (*every(self.subgroups), *(one.part for one in self.divisions))
        named = (self.topology, *(part.topology for part in parts))
        return {one for one in named if one is not None}


@dataclass(frozen=True, slots=True)
class Condition:
    """What an object's status says of the scheduling of its group."""

    status: str
    reason: str = ""
    message: str = ""
    #: When the status became what it is, as it is written there.
    since: str = ""
    #: Of the object's generations, the one that it speaks of.
    generation: int = 0


@dataclass(frozen=True, slots=True)
class Gang:
    """Tasks that are placed together: at least `minimum`, at most `maximum` (None: all there are)."""

    #: Unique. A plain pod's gang of one has the pod's uid here.
    key: str
    #: `namespace/name`, as every output shows it.
    name: str
    minimum: int = 1
    maximum: int | None = None
    subgroups: tuple[Subgroup, ...] = ()
    #: As of a subgroup.
    groups: int | None = None
    queue: str = "default"
    priority: int = 0
    created: float = 0.0
    start_timeout: float | None = None
    preemptible: bool = True
    #: The level inside one domain of which it must be, and should be: the key of a label, or the name of a level.
    topology_required: Named = None
    topology_preferred: Named = None
    #: The object that lists the levels; None: as the policy says.
    topology: Reference | None = None
    segments: Segments | None = None
    #: The replicas of its service should be in different domains of this level.
    spread: str | None = None
    expected_runtime: float | None = None
    patience: float | None = None
    #: Others may be evicted for it.
    evicts: bool = True
    #: What it has beyond its minimum may be evicted task by task; otherwise all of it or nothing.
    disrupted_singly: bool = True
    #: Why nothing of it may be placed: a sentence that names the pods and the field.
    hold: str | None = None
    #: The hold is our mistake, not the user's.
    failed: bool = False
    #: Room for it could not be made: what is promised to it is given up.
    forfeits: bool = False
    #: What is left of it was asked to leave and may not: it is not asked again for a while.
    stays: bool = False

    @property
    def wishes(self) -> bool:
        """Tell whether it wishes to be in one domain, or a subgroup of it does."""
        return _wishes(self) or any(part.wishes for part in self.subgroups)

    @property
    def requires(self) -> bool:
        """Tell whether it must be in one domain, or a subgroup or a segment of it must."""
        parts: list[Gang | Subgroup] = [self, *every(self.subgroups)]
        return any(part.topology_required is not None or part.segments is not None for part in parts)

    @property
    def runtime(self) -> float:
        """Return its expected runtime in seconds; infinity where nobody said so."""
        return math.inf if self.expected_runtime is None else self.expected_runtime

    @property
    def chooses(self) -> bool:
        """Tell whether not all of its subgroups must be whole."""
        return self.groups is not None or any(part.groups is not None for part in every(self.subgroups))

    def lacks(self, counted: int, inside: Mapping[str, int]) -> int:
        """Return how many members are missing to the minimums, given those that count in all and per subgroup."""
        return max(lacking(self.subgroups, self.groups, inside), self.minimum - counted, 0)


def lacking(subgroups: Sequence[Subgroup], groups: int | None, inside: Mapping[str, int]) -> int:
    """Return how few members more make so many of these subgroups whole (None: all), given those inside each."""
    each = sorted(
        lacking(part.children, part.groups, inside)
        if part.children
        else max(part.minimum - inside.get(part.name, 0), 0)
        for part in subgroups
    )
    return sum(each if groups is None else each[:groups])


def row_of(gangs: Sequence[Gang], key: str) -> int | None:
    """Return the row of a gang among gangs that are sorted by key; None: it is not there."""
    at = bisect_left(gangs, key, key=lambda gang: gang.key)
    return at if at < len(gangs) and gangs[at].key == key else None
