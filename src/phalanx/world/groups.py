"""Groups that objects describe: which one a gang's pods refer to, and which of the things they need is missing."""

from collections.abc import Mapping
from dataclasses import replace

from phalanx.model.events import GroupsSeen, Refused
from phalanx.model.gang import Group, Membership

#: By the kind of the object: the fields of a pod that name it, and the group inside it.
_FIELDS = {
    "Workload": ("spec.workloadRef.name", "spec.workloadRef.podGroup"),
    "PodGroup": ("spec.schedulingGroup.podGroupName", "spec.schedulingGroup.podGroupName"),
}
#: How many groups a message names before it says "and n more".
_NAMED_MAX = 8


def group_of(said: Membership, known: Mapping[str, GroupsSeen], refused: Mapping[str, Refused]) -> Group | None:
    """Return the group that a member refers to; one that is missing holds the gang and says what is missing.

    None: the members themselves say what their gang is.
    """
    if said.owner is None:
        return None
    name = said.group or ""
    kind = said.owner.partition(" ")[0]
    of_object, of_group = _FIELDS[kind]
    if said.owner in refused:
        mistake = refused[said.owner]
        return Group(name, 1, hold=f"{of_object}: {said.owner} cannot be read: {mistake.field}: {mistake.message}")
    if said.owner not in known:
        return Group(name, 1, hold=f"{of_object}: there is no {said.owner}")
    groups = known[said.owner].groups
    found = next((group for group in groups if group.name == name), None)
    if found is None:
        return Group(name, 1, hold=f"{of_group}: {said.owner} has no group {name}, {_listed(groups)}")
    return found if found.hold is None else replace(found, hold=f"{said.owner}: {found.hold}")


def _listed(groups: tuple[Group, ...]) -> str:
    names = [group.name for group in groups]
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return f"it has {', '.join(names[:_NAMED_MAX])}{more}" if names else "it has none"
