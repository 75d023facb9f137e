"""Islands: what belongs together inside a node. Devices with a fast link between them, or a NUMA node with its cpus.

Which devices and cpus a container gets, the kubelet decides. A node that aligns them refuses a pod that it cannot
align, so it is counted here, island by island, what is left of each.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from phalanx.model.axis import CPU, MEMORY, Axis, Int, is_extended, unit
from phalanx.model.device import UNKNOWN
from phalanx.model.node import Node
from phalanx.model.sharing import NEVER, NOWHERE
from phalanx.model.task import Shape

#: A node is divided into islands in two ways, each of which is a layer.
LINK, NUMA = "link", "numa"
LAYERS = (LINK, NUMA)


class Rule(IntEnum):
    """What a node does with a pod that would lie across islands."""

    #: Nothing is known of its islands, or they do not matter there.
    SILENT = 0
    #: It is worse, and no more.
    PREFER = 1
    #: It is refused where an empty node could hold it on fewer (`restricted`), or on one (`single-numa-node`).
    LEAST = 2
    ONE = 3


#: The kubelet's topology manager policies.
POLICIES: Mapping[str, Rule] = {
    "none": Rule.SILENT,
    "best-effort": Rule.PREFER,
    "restricted": Rule.LEAST,
    "single-numa-node": Rule.ONE,
}


@dataclass(frozen=True, slots=True)
class Island:
    """One island of a node, by its number in its layer."""

    id: int
    #: What it has of each resource that is divided among islands, and what the node says is in use.
    amounts: Mapping[str, int]
    used: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class IslandTable:
    """The islands of all nodes in one layer, one row each, sorted by node and id."""

    layer: str
    #: The islands of node row n are rows first[n] … first[n + 1] - 1.
    first: Int
    node: Int
    #: Positions on the axis of the resources that are divided, and how many smallest units cannot be split.
    columns: Int
    units: Int
    #: [island, column]; NEVER where the node does not say how a resource is divided.
    capacity: Int
    here: Int
    leaving: Int
    promised: Int
    #: [node]: a Rule.
    rule: Int
    #: [shape, column]: what counts of its requests.
    asks: Int
    #: [shape]: 1 where the pod itself wants to lie on one.
    wants: Int
    #: [task of the running table, place] and [waiting task, place]: the islands on which it lies; NOWHERE: no more.
    running: Int
    tasks: Int

    def __len__(self) -> int:
        return len(self.node)

    @property
    def width(self) -> int:
        """Return the most islands that a node has."""
        return int(np.diff(self.first).max(initial=1))


def rule_of(node: Node, layer: str) -> Rule:
    """Return what a node does in a layer."""
    if layer == LINK:
        return Rule.PREFER
    return POLICIES.get(node.numa_policy, Rule.PREFER)


def islands_of(node: Node, layer: str) -> tuple[Island, ...]:
    """Return the islands of a node, by id: of its devices, and of the zones that are described beside it."""
    amounts: dict[int, dict[str, int]] = {}
    used: dict[int, dict[str, int]] = {}
    if layer == NUMA:
        for zone in node.zones:
            amounts[zone.id], used[zone.id] = dict(zone.amounts), dict(zone.used)
    said = {name for zone in amounts.values() for name in zone}
    for one in node.devices:
        id_ = one.group if layer == LINK else one.numa
        if id_ != UNKNOWN and one.resource not in said:
            there = amounts.setdefault(id_, {})
            there[one.resource] = there.get(one.resource, 0) + one.usable * one.replicas * unit(one.resource)
    return tuple(Island(id_, amounts[id_], used.get(id_, {})) for id_ in sorted(amounts))


def counts(name: str, amount: int, shape: Shape, layer: str) -> bool:
    """Tell whether a request is for something that is divided among islands.

    Cpus and memory are, for pods to which the kubelet gives them for themselves.
    """
    if is_extended(name):
        return True
    pinned = layer == NUMA and shape.pinned
    return pinned and (name == MEMORY or name.startswith("hugepages-") or (name == CPU and amount % unit(CPU) == 0))


def asks_of(shapes: Sequence[Shape], axis: Axis, columns: Int, layer: str) -> Int:
    """Return [shape, column]: what of the requests is divided among islands."""
    at = {axis.names[column]: place for place, column in enumerate(columns.tolist())}
    found = np.zeros((len(shapes), len(columns)), np.int64)
    for row, shape in enumerate(shapes):
        for name, amount in shape.requests:
            if name in at and counts(name, amount, shape, layer):
                found[row, at[name]] = amount
    return found


def piece(ask: Int, units: Int, islands: int) -> Int:
    """Return what lies on each of so many islands, none of which has a part of a device."""
    return ask if islands == 1 else -(-ask // (islands * units)) * units


def fits(spare: Int, part: Int) -> Int:
    """Return [island]: how many such pieces each of them takes."""
    asked = part > 0
    if not asked.any():
        return np.full(len(spare), NEVER)
    return np.asarray((np.maximum(spare[:, asked], 0) // part[asked]).min(axis=1), np.int64)


def chosen(ask: Int, units: Int, spare: Int, layer: str) -> tuple[int, ...]:
    """Return the islands of one node on which a pod will come to lie: as few as possible, all of them if it must.

    The kubelet takes the NUMA node with the lowest number that serves; device plugins look for the tightest link group.
    """
    every = len(spare)
    for islands in range(1, every + 1):
        room = fits(spare, piece(ask, units, islands))
        able = np.flatnonzero(room > 0)
        if len(able) >= islands:
            order = able if layer == NUMA and islands == 1 else able[np.argsort(room[able], kind="stable")]
            return tuple(sorted(order[:islands].tolist()))
    return tuple(range(every))


def padded(rows: Iterable[Sequence[int]], count: int, width: int) -> Int:
    """Return [entry, place] from sequences of rows."""
    found = np.full((count, width), NOWHERE)
    for at, one in enumerate(rows):
        found[at, : len(one)] = one
    return found
