"""What there is to tell of each node and its devices, as plain values: for the table and for programs alike."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from phalanx.cli.queue_accounts import gangs_of
from phalanx.model.axis import unit
from phalanx.model.device import Device, devices_of
from phalanx.model.node import Node
from phalanx.model.sharing import RESOURCE
from phalanx.model.task import State, Task
from phalanx.world.gangs import gang_key
from phalanx.world.views import nodes_of, nominated_of, tasks_of, tasks_on
from phalanx.world.world import World


@dataclass(frozen=True, slots=True)
class Holder:
    """A pod that has some devices of a node, or is to have them."""

    pod: str
    #: None: a pod that is not ours.
    gang: str | None
    count: int
    #: `running`, `leaving`, or `promised`.
    state: str

    def document(self) -> dict[str, Any]:
        """Return it as `-o json` shows it."""
        return {"pod": self.pod, "gang": self.gang, "count": self.count, "state": self.state}


@dataclass(frozen=True, slots=True)
class Held:
    """The devices of one resource on one node, and who has some. Which of them a pod has is not known."""

    resource: str
    devices: tuple[Device, ...]
    #: How many may be given out: what the device plugin offers, less what is cordoned.
    allocatable: int
    holders: tuple[Holder, ...]

    @property
    def places(self) -> int:
        """Return to how many pods all the devices would be given out if every one were usable."""
        return sum(one.replicas for one in self.devices)

    def held(self, state: str) -> int:
        """Return how many are in this state."""
        return sum(one.count for one in self.holders if one.state == state)

    @property
    def left(self) -> int:
        """Return how many may be given to others now; below zero where a node shrank."""
        return self.allocatable - sum(one.count for one in self.holders)

    def away(self, *, cordoned: bool) -> int:
        """Return how many places are cordoned, or unhealthy without being cordoned."""
        gone = [one for one in self.devices if one.cordoned == cordoned and not one.usable]
        return sum(one.replicas for one in gone)

    def document(self) -> dict[str, Any]:
        """Return it as `-o json` shows it."""
        return {
            "resource": self.resource, "places": self.places, "allocatable": self.allocatable,
            "running": self.held("running"), "leaving": self.held("leaving"), "promised": self.held("promised"),
            "left": self.left, "devices": [_device(one) for one in self.devices],
            "pods": [one.document() for one in self.holders],
        }  # fmt: skip


@dataclass(slots=True)
class NodeRow:
    """One node."""

    node: Node
    held: list[Held] = field(default_factory=list[Held])

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return where the node contradicts itself, and of what more is in use than can be given out."""
        short = (
            f"pods have {one.allocatable - one.left} {one.resource}, and {one.allocatable} can be given out"
            for one in self.held
            if one.left < 0
        )
        return (*self.node.remarks, *short)

    def document(self) -> dict[str, Any]:
        """Return it as `-o json` shows it."""
        return {
            "node": self.node.name, "ready": self.node.ready, "cordoned": self.node.cordoned,
            "resources": [one.document() for one in self.held], "remarks": list(self.remarks),
        }  # fmt: skip


def node_rows(world: World, resources: tuple[str, ...]) -> list[NodeRow]:
    """Return a row for each node, by name."""
    gangs = {key: gang.name for key, gang in gangs_of(world, tasks_of(world).values()).items()}
    coming: dict[str, list[Task]] = {}
    for task in nominated_of(world):
        coming.setdefault(str(task.nominated), []).append(task)
    rows = []
    for name, node in sorted(nodes_of(world).items()):
        devices: dict[str, list[Device]] = {}
        for one in devices_of(node.devices, node.allocatable, resources):
            devices.setdefault(one.resource, []).append(one)
        # A loop over the tasks of nodes with devices, once for a person.
        there = [*tasks_on(world, name), *coming.get(name, ())] if devices else []
        rows.append(
            NodeRow(node, [_held(node, resource, listed, there, gangs) for resource, listed in devices.items()])
        )
    return rows


def _held(node: Node, resource: str, listed: list[Device], tasks: list[Task], gangs: Mapping[str, str]) -> Held:
    counts = _counts(resource, tasks)
    holders = [
        Holder(task.full_name, gangs.get(gang_key(task)) if task.ours else None, counts[task.uid], _state(task))
        for task in tasks
        if counts.get(task.uid)
    ]
    holders.sort(key=lambda one: (one.state != "running", one.pod))
    return Held(resource, tuple(listed), node.allocatable.get(resource, 0) // unit(resource), tuple(holders))


def _counts(resource: str, tasks: list[Task]) -> dict[str, int]:
    """Return how many devices each of these has; of those who share one, the first one has it."""
    found: dict[str, int] = {}
    seen: set[str] = set()
    for task in sorted(tasks, key=lambda one: (one.node is None, one.full_name)):
        part, amount = task.shape.part, dict(task.shape.requests).get(resource, 0)
        if part is None or resource != RESOURCE:
            found[task.uid] = -(-amount // unit(resource))
            continue
        said = task.groups[: part.devices]
        own = {*said, *(f"{task.uid}#{number}" for number in range(len(said), part.devices))}
        found[task.uid] = len(own - seen)
        seen |= own
    return found


def _state(task: Task) -> str:
    if task.node is None:
        return "promised"
    return "leaving" if task.state is State.RELEASING else "running"


def _device(one: Device) -> dict[str, Any]:
    return {
        "index": one.index, "id": one.id or None, "model": one.model or None, "memory": one.memory or None,
        "numa": None if one.numa < 0 else one.numa, "group": None if one.group < 0 else one.group,
        "replicas": one.replicas, "healthy": one.healthy, "cordoned": one.cordoned,
    }  # fmt: skip
