"""Views: what others read of the world. Nothing here changes it."""

from collections.abc import Mapping
from types import MappingProxyType

from phalanx.model.events import GroupsSeen, Refused
from phalanx.model.node import Node
from phalanx.model.reference import Reference
from phalanx.model.task import Task
from phalanx.world.world import World


def task_of(world: World, uid: str) -> Task | None:
    """Return a task as the world has it; None: it is not there."""
    return world.tasks.get(uid)


def tasks_of(world: World) -> Mapping[str, Task]:
    """Return all tasks by uid, as they are at any time."""
    return MappingProxyType(world.tasks)


def nodes_of(world: World) -> Mapping[str, Node]:
    """Return all nodes by name, as they are at any time."""
    return MappingProxyType(world.nodes)


def tasks_on(world: World, node: str) -> list[Task]:
    """Return the tasks that take room on a node."""
    return [world.tasks[uid] for uid in world.on_node.get(node, {})]


def moved_to(world: World, uid: str) -> str | None:
    """Return the node on which a place is kept for the successor of a task; None: nothing is kept."""
    move = world.moves.places.get(uid)
    return None if move is None else move.node


def members_of(world: World, gang_key: str) -> list[Task]:
    """Return the members of a gang, sorted by uid."""
    return [world.tasks[uid] for uid in sorted(world.members.get(gang_key, {}))]


def groups_of(world: World) -> Mapping[Reference, GroupsSeen]:
    """Return the objects that describe groups, as they are at any time."""
    return MappingProxyType(world.groups)


def refused_of(world: World) -> Mapping[Reference, Refused]:
    """Return the objects that are set aside, as they are at any time."""
    return MappingProxyType(world.refused)


def left_out(world: World) -> tuple[Refused, ...]:
    """Return what objects say that make a tree of domains and does not fit into it."""
    return world.said.domains.mistakes


def topology_changes(world: World) -> int:
    """Return a number that is another one whenever nodes that were known may be in other domains."""
    return world.said.domains.changes


def referring_to(world: World, owner: Reference) -> list[Task]:
    """Return our tasks that refer to an object, finished ones too, sorted by uid."""
    return [world.tasks[uid] for uid in sorted(world.links.referring.get(owner, {}))]


def nominated_of(world: World) -> list[Task]:
    """Return the waiting tasks of ours to which a node is nominated."""
    found = (world.tasks[uid] for uids in world.nominated.values() for uid in uids)
    return [task for task in found if task.ours]


def group_of(world: World, gang_key: str) -> GroupsSeen | None:
    """Return the object that describes a gang; None: its members say it themselves, or it is not there.

    Members of one gang refer to one object, because its kind and name are part of the key.
    """
    uid = next(iter(world.members.get(gang_key, {})), None)
    said = world.tasks[uid].membership if uid is not None else None
    return world.groups.get(said.owner) if said is not None and said.owner is not None else None
