"""The snapshot: one cycle's frozen view of the cluster, as arrays. Nobody writes it.

Rows are sorted by name, so the first of two equal answers is the same on every machine. Arrays of
[row, resource] are column-major: a decision reads one resource over all nodes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from phalanx.model.axis import Axis, Bool, Float, Int
from phalanx.model.charges import Apart
from phalanx.model.device import NO_DEVICES, DeviceTable
from phalanx.model.failure import Failure
from phalanx.model.gang import Gang
from phalanx.model.image import Holding, Image, holdings
from phalanx.model.island import IslandTable
from phalanx.model.node import Taint
from phalanx.model.queue_table import QueueTable
from phalanx.model.reference import Reference
from phalanx.model.running import RunningTable
from phalanx.model.sharing import SharedTable
from phalanx.model.task import Hold, Shape
from phalanx.model.topology import Domains, domains
from phalanx.model.tree import USUAL, Level, Tree, tree_of
from phalanx.model.usage import UserTable
from phalanx.model.volume import TaskVolumes, VolumeTable


@dataclass(frozen=True, slots=True)
class NodeTable:
    """Every node, one row each."""

    names: tuple[str, ...]
    row: Mapping[str, int]
    #: [node, resource]
    allocatable: Int
    #: allocatable less every charged task, terminating ones too. Below zero where a node shrank.
    free: Int
    #: The part of what is charged that terminates: will be free.
    leaving: Int
    #: Nominated to pods of ours that are not there yet: may lie in `free` or in `leaving`.
    promised: Int
    #: [node, 2]: cpu and memory in use as Kubernetes scores them (see `Shape.scored`).
    scored: Int
    ready: Bool
    cordoned: Bool
    #: Per node, the number of its set in `taint_sets`.
    taint_set: Int
    taint_sets: tuple[tuple[Taint, ...], ...]
    labels: tuple[Mapping[str, str], ...]
    #: Per node, the number of its set of declared features in `feature_sets`.
    feature_set: Int
    feature_sets: tuple[tuple[str, ...], ...]
    devices: DeviceTable = NO_DEVICES
    #: Per node what it has; empty where no plugin looks at it.
    images: tuple[tuple[Image, ...], ...] = ()
    #: The levels that objects make which name the nodes of domains, from the top.
    tiers: tuple[Level, ...] = ()
    _domains: dict[str, Domains] = field(default_factory=dict[str, Domains], repr=False, compare=False)
    _holders: list[Mapping[str, Holding]] = field(
        default_factory=list[Mapping[str, Holding]], repr=False, compare=False
    )
    _trees: dict[object, Tree] = field(default_factory=dict[object, Tree], repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.names)

    def domains(self, key: str) -> Domains:
        """Return the nodes grouped by one label; worked out once and remembered."""
        found = self._domains.get(key)
        if found is None:
            found = self._domains[key] = domains(key, self.labels)
        return found

    @property
    def holders(self) -> Mapping[str, Holding]:
        """Return who has each image; worked out once and remembered."""
        if not self._holders:
            self._holders.append(holdings(self.images))
        return self._holders[0]

    @property
    def _usual(self) -> tuple[Level, ...]:
        """Return the usual levels that some node has; where there is none, those that objects make."""
        return tuple(level for level in USUAL if self.domains(level.key).names) or self.tiers

    def tree(self, levels: tuple[Level, ...] | None = None, *, whole: bool = False) -> Tree:
        """Return the tree of these levels, by default the usual ones; worked out once.

        `whole`: a node that lacks the label of one level is in no domain of any.
        """
        found = self._trees.get((levels, whole))
        if found is None:
            kept = self._usual if levels is None else levels
            found = self._trees[levels, whole] = tree_of(kept, len(self), self.domains, whole=whole)
        return found


def placed_in(nodes: NodeTable, levels: tuple[Level, ...] | None, key: str) -> tuple[Tree, int] | None:
    """Return the tree that has a level, by its name or by the label of nodes, and its number; None: nobody is in one.

    A label that is no level of the tree is a tree of its own.
    """
    tree = nodes.tree(levels)
    if key not in tree.number and nodes.domains(key).names:
        tree = nodes.tree((Level(key, key.rpartition("/")[2]),))
    at = tree.number.get(key)
    return None if at is None or not tree.size(at) else (tree, at)


#: A bind was seen to be answered after 34 seconds; well beyond that, a missing member is not on its way.
WAVE_DEADLINE = 120.0
#: So long after a place was nominated, and with nothing leaving its node any more, the nomination is given up.
NOMINATION_DEADLINE = 600.0

#: The maximum of a gang that has none.
UNBOUNDED = 2**31


@dataclass(frozen=True, slots=True)
class GangTable:
    """Every gang with a pending task of ours, one row each."""

    gangs: tuple[Gang, ...]
    #: Its tasks are rows first … first + count - 1 of the task table.
    first: Int
    count: Int
    minimum: Int
    #: UNBOUNDED where the gang has none.
    maximum: Int
    priority: Int
    created: Float
    #: Seconds; 0 where the gang has none.
    start_timeout: Float
    #: Members that count towards the minimum already.
    running: Int
    #: Members on nodes or on their way there: what the maximum bounds. Finished ones are not among them.
    present: Int
    #: Has subgroups, a hold, or a member with one: its tasks are chosen one gang at a time.
    irregular: Bool
    #: Row of its queue; -1 where it has none, and then it is held.
    queue: Int
    #: Row of whose it is in the table of users; -1: nobody asks, or it is in no queue.
    user: Int
    preemptible: Bool
    #: Seconds from its creation during which it lets others of its queue pass; 0 where it does not.
    patience: Float
    #: Others may be evicted for it.
    evicts: Bool
    #: Seconds; infinity where nobody said so.
    expected_runtime: Float
    #: It wishes to be in one domain, or a subgroup of it does.
    wishes: Bool
    #: The same per subgroup, only for gangs that have subgroups.
    running_in: Mapping[int, Mapping[str, int]]
    #: Of gangs with such a wish, by subgroup ("": none): the node of each member that is on one, and its segment.
    located: Mapping[int, Mapping[str, tuple[tuple[int, int], ...]]]

    def __len__(self) -> int:
        return len(self.gangs)


@dataclass(frozen=True, slots=True)
class TaskTable:
    """Every pending task of ours, sorted by gang, then creation, then name."""

    uids: tuple[str, ...]
    #: `namespace/name`
    names: tuple[str, ...]
    gang: Int
    shape: Int
    created: Float
    subgroups: tuple[str | None, ...]
    #: Its place among its gang's waiting tasks by the numbers in their names; 0 where nobody asks.
    rank: Int
    #: The number of its segment; -1: it is in none.
    segment: Int
    #: Row of the node that is nominated to it, or -1; and since when, infinity where none is.
    nominated: Int
    nominated_since: Float
    #: Nominations to nodes that are not there, by row.
    lost: Mapping[int, str]
    held: Bool
    holds: Mapping[int, Hold]
    #: Of tasks that mount claims, by row.
    volumes: Mapping[int, TaskVolumes] = field(default_factory=dict[int, TaskVolumes])

    def __len__(self) -> int:
        return len(self.uids)


@dataclass(frozen=True, slots=True)
class Occupancy:
    """What is on the nodes: one row per node and shape, sorted by both. Every pod counts, whoever scheduled it.

    The node table's amounts, and every column of a plugin, follow from these counts.
    """

    #: Row of the node table, and row among the snapshot's shapes.
    node: Int
    shape: Int
    #: Pods on the node that stay, and pods that terminate.
    here: Int
    leaving: Int
    #: Pods of ours to which a place on the node is nominated, and such pods of other schedulers.
    promised: Int
    foreign: Int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What `decide` sees. Same snapshot, same policy: same plan."""

    now: float
    axis: Axis
    nodes: NodeTable
    shapes: tuple[Shape, ...]
    #: [shape, resource]: what a task takes of a node, and what queues count for it.
    requests: Int
    charges: Int
    #: [shape, 2]
    scored: Int
    gangs: GangTable
    tasks: TaskTable
    queues: QueueTable
    occupancy: Occupancy
    #: Empty unless the policy looks at what runs.
    running: RunningTable
    #: Seconds after which a gang that did not come together steps back.
    wave_deadline: float = WAVE_DEADLINE
    #: Users inside queues; None: nobody looks at them.
    users: UserTable | None = None
    #: The devices that several tasks may share; None: nobody asks for a part of one.
    shared: SharedTable | None = None
    #: What is known of volumes; None: nobody mounts any.
    volumes: VolumeTable | None = None
    #: Objects that list the levels of a tree, or kinds of objects that make it: the levels from the top.
    topologies: Mapping[Reference, tuple[Level, ...]] = field(default_factory=dict[Reference, tuple[Level, ...]])
    #: Tasks on devices that are no longer healthy, by uid, and since when that is seen.
    lost_devices: Mapping[str, float] = field(default_factory=dict[str, float])
    #: By key of the gang: where members failed, or were lost with their node, as long as the policy wants to know it.
    failures: Mapping[str, tuple[Failure, ...]] = field(default_factory=dict[str, tuple[Failure, ...]])
    #: The islands of nodes, layer by layer; none where no node says how it is divided.
    islands: tuple[IslandTable, ...] = ()
    #: Models of devices that some queue counts apart; mostly none.
    apart: tuple[Apart, ...] = ()
    #: The levels of the topology tree, as the policy says; None: the usual ones that some node has.
    levels: tuple[Level, ...] | None = None
    #: What was worked out of the shapes, and of the names, labels and taints of nodes. Handed on while these stay.
    derived: dict[object, Any] = field(default_factory=dict[object, Any], repr=False, compare=False)
