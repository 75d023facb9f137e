"""Divisions: subgroups that the labels of pods make, where their group says by which."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from phalanx.model.gang import Division, Group, Subgroup
from phalanx.model.task import Task


def divided(tasks: Sequence[Task], group: Group | None) -> Sequence[Task]:
    """Return the tasks, those that a division means in the subgroup that it puts them in."""
    if group is None or not group.divisions:
        return tasks
    return [_put(task, group.divisions) for task in tasks]


def subgroups_of(tasks: Iterable[Task], group: Group) -> tuple[Subgroup, ...]:
    """Return the subgroups of a group: those that it lists, and those that its divisions make of these tasks."""
    names = {task.membership.subgroup for task in tasks if task.membership is not None}
    listed = {part.name: part for part in group.subgroups}
    for one in group.divisions:
        mine = sorted((name for name in names if name and name.startswith(f"{one.name}/")), key=_natural)
        parts = tuple(replace(one.part, name=name) for name in mine)
        # A subgroup of pods that are divided has them in its parts.
        if parts or one.groups:
            listed[one.name] = Subgroup(one.name, 0, parts or (Subgroup(f"{one.name}/", 1),), groups=one.groups)
    return tuple(listed[name] for name in sorted(listed))


def _put(task: Task, divisions: Sequence[Division]) -> Task:
    for one in divisions if task.membership is not None else ():
        values = [task.labels.get(key, "") for key in one.keys]
        meant = one.selector is None or one.selector.matches(task.labels)
        if meant and values and all(values) and task.membership is not None:
            return replace(task, membership=replace(task.membership, subgroup=f"{one.name}/{'-'.join(values)}"))
    return task


def _natural(name: str) -> list[tuple[int, str]]:
    """Return the order in which people count: 2 before 10."""
    return [(int(word), "") if word.isdecimal() else (0, word) for word in re.split(r"([0-9]+)", name)]
