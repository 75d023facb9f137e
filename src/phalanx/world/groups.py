"""Groups that objects describe: which ones a gang's pods refer to, and what keeps the gang from starting."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from phalanx.model.events import GroupsSeen, PriorityClassSeen, Refused
from phalanx.model.gang import Group, Membership, PodFields, leaves
from phalanx.model.keys import MINIMUM, annotation
from phalanx.model.reference import Reference
from phalanx.model.task import Task
from phalanx.world.gangs import who_says

#: Every API server has these without being told.
_SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
#: How many groups a message names before it says "and n more".
_NAMED_MAX = 8


def look_up(
    members: Sequence[Task],
    known: Mapping[Reference, GroupsSeen],
    refused: Mapping[Reference, Refused],
    classes: Mapping[str, PriorityClassSeen] | None = None,
) -> tuple[Group | None, str | None]:
    """Return the group that describes a gang (None: its members do), and what its groups object to, if anything.

    The group has its priority, and whether it may be preempted, from its priority class.
    """
    referring: dict[tuple[Reference, str], list[Task]] = {}
    for task in members:
        if task.membership is not None and task.membership.owner is not None:
            referring.setdefault((task.membership.owner, task.membership.group or ""), []).append(task)
    described: Group | None = None
    objection: str | None = None
    for (owner, name), tasks in sorted(referring.items()):
        group = _prioritised(_find(owner, name, _fields(tasks[0]), known, refused), classes or {})
        objection = objection or group.hold or _other_minimum(owner, tasks, group) or _other_priority(tasks, group)
        if _says_minimum(tasks[0]) is None:
            described = group
            objection = objection or _other_subgroup(owner, tasks, group)
    return described, objection


def _find(
    owner: Reference,
    name: str,
    fields: PodFields,
    known: Mapping[Reference, GroupsSeen],
    refused: Mapping[Reference, Refused],
) -> Group:
    """Return a group; in the place of one that is missing, one that is held and says what is missing."""
    if owner in refused:
        mistake = refused[owner]
        return Group(name, 1, hold=f"{fields.object}: {owner} cannot be read: {mistake.field}: {mistake.message}")
    if owner not in known:
        return Group(name, 1, hold=f"{fields.object}: there is no {owner}")
    groups = known[owner].groups
    found = next((group for group in groups if group.name == name), None)
    if found is None:
        return Group(name, 1, hold=f"{fields.group}: {owner} has no group {name}, {_listed(groups)}")
    return found if found.hold is None else replace(found, hold=f"{owner}: {found.hold}")


def _prioritised(group: Group, classes: Mapping[str, PriorityClassSeen]) -> Group:
    """Return the group with what follows from its priority class, if it has no priority of its own."""
    if group.priority is not None or (group.priority_class is None and group.priority_absent is None):
        return group
    named = classes.get(group.priority_class or "")
    # Of several default classes the lowest counts, as in an API server.
    default = min((one.value for one in classes.values() if one.default), default=group.priority_absent)
    priority = named.value if named is not None else _SYSTEM_CLASSES.get(group.priority_class or "", default)
    preemptible = group.preemptible
    if preemptible is None and priority is not None and group.fixed_from is not None:
        preemptible = priority < group.fixed_from
    return replace(group, priority=priority, preemptible=preemptible)


def _other_subgroup(owner: Reference, members: Sequence[Task], group: Group) -> str | None:
    """Return a sentence if some pod is in no subgroup of a group that has them, or in one that it has not."""
    names = [leaf.name for leaf in leaves(group.subgroups)]
    for task in members if group.all_in_leaves else ():
        said, field = task.membership.subgroup if task.membership else None, _fields(task).subgroup
        if said is None and names:
            return f"{field}: missing on pod {task.full_name}, the leaves of {owner} are {_some(names)}"
        if said is not None and said not in names:
            there = f"its leaves are {_some(names)}" if names else "it has no subgroups"
            return f"{field}: {said} on pod {task.full_name} is no leaf of {owner}, {there}"
    return None


def _listed(groups: tuple[Group, ...]) -> str:
    return f"it has {_some([group.name for group in groups])}" if groups else "it has none"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return ", ".join(names[:_NAMED_MAX]) + more


def _fields(task: Task) -> PodFields:
    return task.membership.fields if task.membership else PodFields()


def _says_minimum(task: Task) -> int | None:
    said: Membership | None = task.membership
    return said.minimum if said else None


def _other_minimum(owner: Reference, members: Sequence[Task], group: Group) -> str | None:
    """Return a sentence if pods with a gang of their own refer to a group that is another gang.

    A basic group asks for nothing that a gang by annotation does not keep.
    """
    newest = max(members, key=lambda task: (task.created, task.name))
    said = _says_minimum(newest)
    if said is None or group.minimum is None or said == group.minimum:
        return None
    field = annotation(MINIMUM)
    return f"{field}: {said} on {newest.full_name} contradicts {owner}, which has the minimum {group.minimum}"


def _other_priority(members: Sequence[Task], group: Group) -> str | None:
    """Return a sentence if the group's priority binds its members and some have another."""
    others = [(task.shape.priority, task) for task in members if task.shape.priority != group.priority]
    if group.priority is None or not group.priority_binds or not others:
        return None
    return f"spec.priority: the pods of a group must have its priority {group.priority}, found {who_says(others)}"
