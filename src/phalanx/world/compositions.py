"""Compositions: groups that are parts of larger groups. The pods of all of them are one gang, a subgroup per group."""

from collections.abc import Mapping
from dataclasses import replace

from phalanx.model.events import GroupsSeen
from phalanx.model.gang import Group, Membership, PodFields, Subgroup, lacking
from phalanx.model.reference import Reference
from phalanx.model.task import Task
from phalanx.world.gangs import gang_key
from phalanx.world.links import Links


class Compositions:
    """Knows which group is part of which, from the objects that say so."""

    def __init__(self, groups: Mapping[Reference, GroupsSeen], links: Links) -> None:
        """`groups`: the objects that describe groups, as they are at any time."""
        self._groups, self._links = groups, links
        self._children: dict[Reference, list[Reference]] | None = None
        self._stale = False

    def see(self, before: GroupsSeen | None, now: GroupsSeen | None) -> bool:
        """Take note that an object is another one; tell whether that changes which groups belong together."""
        found = any(group.composite or group.parent for seen in (before, now) if seen for group in seen.groups)
        if found:
            self._children, self._stale = None, True
        return found

    def gangs(self, tasks: Mapping[str, Task]) -> set[str]:
        """Return the keys of the gangs that are made of several groups, or of one that is part of another."""
        one_each = (tasks[next(iter(uids))] for uids in self._links.referring.values() if uids)
        return {gang_key(task) for task in one_each if task.membership is not None and task.membership.base is not None}

    def outdated(self, tasks: Mapping[str, Task]) -> list[Task]:
        """Return, once, the tasks that may be in another gang now: nobody unless such an object changed."""
        if not self._stale:
            return []
        self._stale = False
        owners = [owner for owner, uids in self._links.referring.items() if uids and self._concerns(owner, tasks, uids)]
        return [tasks[uid] for owner in owners for uid in list(self._links.referring[owner])]

    def composed(self, task: Task) -> Task:
        """Return a task as a member of the gang that its group is part of, if it is part of one."""
        said = task.membership
        if said is None or said.owner is None:
            return task
        own = said.base or said
        group = self._group(own)
        above = self._root(own, group) if group is not None and group.parent is not None else own
        return task if above == said else replace(task, membership=above)

    def whole(self, owner: Reference | None, group: Group | None) -> Group | None:
        """Return a group with those that are parts of it as subgroups."""
        if owner is None or group is None or not group.composite:
            return group
        if group.parent is not None:
            return replace(group, hold=f"{owner}: {group.parent_field}: it is part of itself")
        parts = self._parts(owner, frozenset())
        hold = group.hold or next((why for part in self._below(owner) if (why := part.hold)), None)
        return replace(group, subgroups=parts, minimum=max(lacking(parts, group.groups, {}), 1), hold=hold)

    def _concerns(self, owner: Reference, tasks: Mapping[str, Task], uids: Mapping[str, None]) -> bool:
        """Tell whether the tasks that refer to an object are, or will be, part of a larger gang."""
        said = tasks[next(iter(uids))].membership
        seen = self._groups.get(owner)
        return (said is not None and said.base is not None) or (
            seen is not None and any(group.parent is not None for group in seen.groups)
        )

    def _group(self, said: Membership) -> Group | None:
        seen = self._groups.get(said.owner) if said.owner is not None else None
        return next((group for group in seen.groups if group.name == said.group), None) if seen else None

    def _root(self, own: Membership, group: Group) -> Membership:
        """Return what a pod says, said of the group above all: pods of it are one gang."""
        path: list[Reference] = []
        parent, field = group.parent, f"{own.owner}: {group.parent_field}"
        while parent is not None and parent not in path:
            path.append(parent)
            above = self._groups.get(parent)
            parent = above.groups[0].parent if above is not None else None
        # In a circle, the same one whoever begins.
        root = path[-1] if parent is None else min(path)
        fields = PodFields(object=field, group=field, subgroup=own.fields.group)
        return replace(
            own, gang=root.full_name, owner=root, group=root.name, subgroup=own.group, base=own, fields=fields
        )

    def _parts(self, owner: Reference, above: frozenset[Reference]) -> tuple[Subgroup, ...]:
        """Return the groups that are parts of one, siblings by name; each once."""
        found = []
        for part in self._of(owner):
            for group in self._groups[part].groups if part not in above else ():
                inner = self._parts(part, above | {owner, part}) if group.composite else ()
                found.append(Subgroup(
                    f"{part.kind} {group.name}" if group.composite else group.name,
                    0 if group.composite else group.minimum or 1, inner, group.topology_required,
                    group.topology_preferred, group.topology, groups=group.groups,
                ))  # fmt: skip
        return tuple(sorted(found, key=lambda one: one.name))

    def _below(self, owner: Reference) -> list[Group]:
        """Return all groups that are parts of one, and parts of those."""
        found, todo, seen = list[Group](), [owner], {owner}
        while todo:
            for part in self._of(todo.pop()):
                if part not in seen:
                    seen.add(part)
                    todo.append(part)
                    found += [
                        replace(one, hold=one.hold and f"{part}: {one.hold}") for one in self._groups[part].groups
                    ]
        return found

    def _of(self, owner: Reference) -> list[Reference]:
        if self._children is None:
            self._children = {}
            for part, seen in sorted(self._groups.items()):
                for group in seen.groups:
                    if group.parent is not None:
                        self._children.setdefault(group.parent, []).append(part)
        return self._children.get(owner, [])
