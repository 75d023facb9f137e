"""What the lines of a scenario say: one value per node, queue, budget, group of equal pods, or happening."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from phalanx.sim.neighbour_words import Near
from phalanx.sim.network import Network
from phalanx.sim.words import Runtime


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLine:
    """One node."""

    line: int
    name: str
    amounts: Mapping[str, str]
    label: Mapping[str, str]
    #: (key, value, effect)
    taint: tuple[tuple[str, str, str], ...]
    cordoned: bool = False
    not_ready: bool = False
    gpu_model: str | None = None
    gpu_memory: str | None = None
    cordoned_gpus: str | None = None
    #: Ranges of indices with a fast link between them.
    gpu_links: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLine:
    """One queue. It is there from the start; `created` says how old it is, since the older one wins a tie."""

    line: int
    name: str
    #: By resource.
    quota: Mapping[str, str]
    limit: Mapping[str, str]
    weight: Mapping[str, float]
    parent: str | None = None
    priority: int | None = None
    borrowing: bool | None = None
    consolidation: bool | None = None
    preempt_min_runtime: float | None = None
    reclaim_min_runtime: float | None = None
    namespaces: tuple[str, ...] | None = None
    placement: str | None = None
    created: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLine:
    """One disruption budget, over the pods of its namespace that have all these labels."""

    line: int
    name: str
    label: Mapping[str, str]
    #: A number, or a percentage such as `50%`; one of the two is there.
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    namespace: str = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodLine:
    """Equal pods: one on its own, or members of a gang."""

    line: int
    name: str
    amounts: Mapping[str, str]
    label: Mapping[str, str]
    select: Mapping[str, str]
    #: (key, value, effect); a value of None tolerates every value, an empty effect every effect.
    tolerate: tuple[tuple[str, str | None, str], ...]
    #: None: a pod in no gang.
    members: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    subgroup: str | None = None
    subgroup_minimum: int | None = None
    created: float = 0.0
    every: float = 0.0
    apart: float = 0.0
    on: str | None = None
    runtime: Runtime | None = None
    #: When it is taken away, done or not.
    until: float | None = None
    priority: int = 0
    port: int | None = None
    namespace: str = "default"
    scheduler: str | None = None
    queue: str | None = None
    start_timeout: float | None = None
    patience: float | None = None
    preemptible: bool | None = None
    movable: bool | None = None
    #: False: others are not evicted for it.
    preempts: bool | None = None
    topology_required: str | None = None
    topology_preferred: str | None = None
    subgroup_topology_required: str | None = None
    subgroup_topology_preferred: str | None = None
    segment_size: int | None = None
    segment_topology: str | None = None
    subgroup_segment_size: int | None = None
    subgroup_segment_topology: str | None = None
    #: What it talks, where a network is described.
    communication: float | None = None
    step_bytes: int | None = None
    step_compute: float | None = None
    topology_exclusive: str | None = None
    topology_exclusive_against: str | None = None
    subgroup_topology_exclusive: str | None = None
    replica_of: str | None = None
    topology_spread: str | None = None
    subgroup_topology_spread: str | None = None
    gpu_model: str | None = None
    gpu_memory_minimum: str | None = None
    gpu_together: str | None = None
    gpu_fraction: str | None = None
    gpu_memory: str | None = None
    gpu_devices: str | None = None
    #: Of pods that run: the ids of the devices that they share, one after the other.
    gpu_group: str | None = None
    #: What it says of other pods, by node label.
    repels: tuple[Near, ...] = ()
    attracts: tuple[Near, ...] = ()
    likes: tuple[Near, ...] = ()
    dislikes: tuple[Near, ...] = ()
    spread: tuple[Near, ...] = ()
    spread_softly: tuple[Near, ...] = ()
    controlled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkLine:
    """How fast members of gangs talk to each other, by the level of which they are in one domain."""

    line: int
    name: str
    speeds: Network


@dataclass(frozen=True, slots=True, kw_only=True)
class FailLine:
    """A node that fails, and returns after `lasts`; None: never."""

    line: int
    name: str
    at: float
    lasts: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelabelLine:
    """A node whose labels change; an empty value takes one away."""

    line: int
    name: str
    at: float
    label: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleLine:
    """A gang that gets another number of members, and perhaps another minimum."""

    line: int
    name: str
    members: int
    at: float
    namespace: str = "default"
    minimum: int | None = None
    subgroup: str | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """What a text says, expanded: one entry per node, queue, budget, gang or pod, in the order of the text."""

    source: str = "scenario"
    nodes: list[NodeLine] = field(default_factory=list[NodeLine])
    queues: list[QueueLine] = field(default_factory=list[QueueLine])
    budgets: list[BudgetLine] = field(default_factory=list[BudgetLine])
    pods: list[PodLine] = field(default_factory=list[PodLine])
    networks: list[NetworkLine] = field(default_factory=list[NetworkLine])
    failures: list[FailLine] = field(default_factory=list[FailLine])
    relabellings: list[RelabelLine] = field(default_factory=list[RelabelLine])
    scalings: list[ScaleLine] = field(default_factory=list[ScaleLine])


class ScenarioError(Exception):
    """A scenario with mistakes: one line each, `source:line: …`."""
