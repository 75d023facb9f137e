"""A gang: tasks that start together or not at all."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Subgroup:
    """A part of a gang with a minimum of its own. A gang is a tree of them; native ones are flat."""

    name: str
    minimum: int
    children: tuple["Subgroup", ...] = ()
    topology_required: str | None = None
    topology_preferred: str | None = None


@dataclass(frozen=True, slots=True)
class Membership:
    """What one pod says of its gang. Members should agree; what they may differ in is in `world.gangs`."""

    gang: str
    #: None: the annotation is missing, and the gang is held until it is there.
    minimum: int | None
    maximum: int | None = None
    subgroup: str | None = None
    subgroup_minimum: int | None = None
    start_timeout: float | None = None
    preemptible: bool = True
    topology_required: str | None = None
    topology_preferred: str | None = None
    patience: float | None = None


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
    queue: str = "default"
    priority: int = 0
    created: float = 0.0
    start_timeout: float | None = None
    preemptible: bool = True
    topology_required: str | None = None
    topology_preferred: str | None = None
    expected_runtime: float | None = None
    patience: float | None = None
    #: Why nothing of it may be placed: a sentence that names the pods and the field.
    hold: str | None = None
