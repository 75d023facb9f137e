"""Groups that objects describe: which ones a gang's pods refer to, and what keeps the gang from starting."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from phalanx.model.events import GroupsSeen, Refused
from phalanx.model.gang import Group, Membership
from phalanx.model.task import Task
from phalanx.world.gangs import who_says

#: By the kind of the object: the fields of a pod that name it, and the group inside it.
_FIELDS = {
    "Workload": ("spec.workloadRef.name", "spec.workloadRef.podGroup"),
    "PodGroup": ("spec.schedulingGroup.podGroupName", "spec.schedulingGroup.podGroupName"),
}
#: How many groups a message names before it says "and n more".
_NAMED_MAX = 8


def look_up(
    members: Sequence[Task], known: Mapping[str, GroupsSeen], refused: Mapping[str, Refused]
) -> tuple[Group | None, str | None]:
    """Return the group that describes a gang (None: its members do), and what its groups object to, if anything."""
    referring: dict[tuple[str, str], list[Task]] = {}
    for task in members:
        if task.membership is not None and task.membership.owner is not None:
            referring.setdefault((task.membership.owner, task.membership.group or ""), []).append(task)
    described: Group | None = None
    objection: str | None = None
    for (owner, name), tasks in sorted(referring.items()):
        group = _find(owner, name, known, refused)
        objection = objection or group.hold or _other_minimum(owner, tasks, group) or _other_priority(tasks, group)
        if _says_minimum(tasks[0]) is None:
            described = group
    return described, objection


def _find(owner: str, name: str, known: Mapping[str, GroupsSeen], refused: Mapping[str, Refused]) -> Group:
    """Return a group; in the place of one that is missing, one that is held and says what is missing."""
    of_object, of_group = _FIELDS[owner.partition(" ")[0]]
    if owner in refused:
        mistake = refused[owner]
        return Group(name, 1, hold=f"{of_object}: {owner} cannot be read: {mistake.field}: {mistake.message}")
    if owner not in known:
        return Group(name, 1, hold=f"{of_object}: there is no {owner}")
    groups = known[owner].groups
    found = next((group for group in groups if group.name == name), None)
    if found is None:
        return Group(name, 1, hold=f"{of_group}: {owner} has no group {name}, {_listed(groups)}")
    return found if found.hold is None else replace(found, hold=f"{owner}: {found.hold}")


def _listed(groups: tuple[Group, ...]) -> str:
    names = [group.name for group in groups]
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return f"it has {', '.join(names[:_NAMED_MAX])}{more}" if names else "it has none"


def _says_minimum(task: Task) -> int | None:
    said: Membership | None = task.membership
    return said.minimum if said else None


def _other_minimum(owner: str, members: Sequence[Task], group: Group) -> str | None:
    """Return a sentence if pods with a gang of their own refer to a group that is another gang.

    A basic group asks for nothing that a gang by annotation does not keep.
    """
    newest = max(members, key=lambda task: (task.created, task.name))
    said = _says_minimum(newest)
    if said is None or group.minimum is None or said == group.minimum:
        return None
    field = "metadata.annotations[phalanx.dev/minimum]"
    return f"{field}: {said} on {newest.full_name} contradicts {owner}, which has the minimum {group.minimum}"


def _other_priority(members: Sequence[Task], group: Group) -> str | None:
    """Return a sentence if the group's priority binds its members and some have another."""
    others = [(task.shape.priority, task) for task in members if task.shape.priority != group.priority]
    if group.priority is None or not group.priority_binds or not others:
        return None
    return f"spec.priority: the pods of a group must have its priority {group.priority}, found {who_says(others)}"
