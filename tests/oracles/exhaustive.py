"""Every way to make room on a small cluster, one after the other: what the search for victims is measured against.

Works on plain dictionaries that are filled from the world's objects, never on the engine's arrays.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from phalanx.model.task import State, Task
from phalanx.world.world import World

#: Amounts by resource, and those by node.
Amounts: TypeAlias = dict[str, int]
Space: TypeAlias = dict[str, Amounts]

THERE = frozenset({State.BINDING, State.RUNNING})


@dataclass(frozen=True, slots=True)
class Leaving:
    """What can leave at once: one task beyond its gang's minimum, or the minimum itself (`core`)."""

    gang: str
    tasks: tuple[Task, ...]
    core: bool

    @property
    def gives(self) -> Amounts:
        """Return what its queue has less without it."""
        return added(*(requests(task) for task in self.tasks))


#: Tells whether these units may all be taken together.
Legal: TypeAlias = Callable[[Sequence[Leaving]], bool]


def requests(task: Task) -> Amounts:
    """Return what a task asks for."""
    return dict(task.shape.requests)


def added(*amounts: Mapping[str, int]) -> Amounts:
    """Return the sum."""
    total: Amounts = {}
    for one in amounts:
        for name, amount in one.items():
            total[name] = total.get(name, 0) + amount
    return total


def gang_name(task: Task) -> str:
    """Return the name of a task's gang; a pod in none is one by itself."""
    return task.membership.gang if task.membership else task.full_name


def members(world: World, gang: str) -> list[Task]:
    """Return the unfinished tasks of a gang in the order in which they are taken."""
    own = (task for task in world.tasks.values() if task.ours and gang_name(task) == gang)
    return sorted(own, key=lambda task: (task.created, task.name, task.uid))


def space(world: World) -> Space:
    """Return what each node has left once everybody has gone who is on his way out."""
    left = {name: dict(node.allocatable) for name, node in world.nodes.items()}
    for task in world.tasks.values():
        if task.node in left and task.state in THERE:
            put(left[task.node], task, -1)
    return left


def put(amounts: Amounts, task: Task, sign: int) -> None:
    """Give back (1) or charge (-1) what a task asks for."""
    for name, amount in task.shape.requests:
        amounts[name] = amounts.get(name, 0) + sign * amount


def copies_that_fit(left: Space, ask: Mapping[str, int]) -> int:
    """Return how many tasks of one kind all nodes take together."""
    wanted = [(name, amount) for name, amount in ask.items() if amount]
    return sum(max(min(here.get(name, 0) // amount for name, amount in wanted), 0) for here in left.values())


def all_fit(left: Space, tasks: Sequence[Task]) -> bool:
    """Tell whether there is a place for every task, by trying all of them; of nodes that are alike, one."""
    if not tasks:
        return True
    first, rest = tasks[0], tasks[1:]
    asked = added(*map(requests, tasks))
    if any(sum(max(here.get(name, 0), 0) for here in left.values()) < amount for name, amount in asked.items()):
        return False
    for here in {tuple(sorted(here.items())): here for here in left.values()}.values():
        if all(here.get(name, 0) >= amount for name, amount in first.shape.requests):
            put(here, first, -1)
            fine = all_fit(left, rest)
            put(here, first, 1)
            if fine:
                return True
    return False


def units(world: World) -> list[Leaving]:
    """Return what can leave at once of everything preemptible that runs."""
    running: dict[str, list[Task]] = {}
    for task in world.tasks.values():
        if task.ours and task.state in THERE:
            running.setdefault(gang_name(task), []).append(task)
    found: list[Leaving] = []
    for name, tasks in sorted(running.items()):
        said = tasks[0].membership
        if not (said.preemptible if said else tasks[0].preemptible):
            continue
        core = core_of(tasks)
        found.append(Leaving(name, tuple(core), core=True))
        found += [Leaving(name, (task,), core=False) for task in tasks if task not in core]
    return found


def core_of(tasks: Sequence[Task]) -> list[Task]:
    """Return the running tasks of one gang that leave only together: its minimums, or all of one that is broken."""
    ordered = sorted(tasks, key=lambda task: (task.created, task.name, task.uid))
    said = ordered[0].membership
    if said is None:
        return ordered
    core: list[Task] = []
    subgroups = {task.membership.subgroup: task.membership for task in ordered if task.membership}
    for name in sorted(filter(None, subgroups)):
        own = [task for task in ordered if task.membership and task.membership.subgroup == name]
        core += own[: subgroups[name].subgroup_minimum or 0]
    others = [task for task in ordered if task not in core]
    core += others[: max((said.minimum or 1) - len(core), 0)]
    return sorted(core, key=lambda task: (task.created, task.name, task.uid))


def choices(able: Sequence[Leaving]) -> Iterator[tuple[Leaving, ...]]:
    """Yield every set of units that splits no gang, by the number of tasks that leave."""
    sets = (chosen for size in range(len(able) + 1) for chosen in combinations(able, size) if _whole(able, chosen))
    yield from sorted(sets, key=lambda chosen: sum(len(unit.tasks) for unit in chosen))


def fewest(left: Space, ask: Mapping[str, int], copies: int, able: Sequence[Leaving], legal: Legal) -> int | None:
    """Return how few tasks must leave so that so many copies fit; None: no legal set makes room for them."""
    for chosen in choices(able):
        if copies_that_fit(without(left, chosen), ask) >= copies and legal(chosen):
            return sum(len(unit.tasks) for unit in chosen)
    return None


def fewest_moved(left: Space, gang: Sequence[Task], able: Sequence[Leaving]) -> int | None:
    """Return how few tasks must be moved so that a gang of equal tasks fits and they do; None: there is no way."""
    # Whoever need not be moved could be moved to where he is: if moving all is no way, there is none.
    if not able or not all_fit(without(left, able), largest_first([*gang, *tasks_of(able)])):
        return None
    ask = requests(gang[0])
    for chosen in choices(able):
        after = without(left, chosen)
        if copies_that_fit(after, ask) >= len(gang) and all_fit(after, largest_first([*gang, *tasks_of(chosen)])):
            return len(tasks_of(chosen))
    raise AssertionError("all of them are one of the choices")


def with_some_moved(left: Space, gang: Sequence[Task], able: Sequence[Leaving], legal: Legal) -> bool:
    """Tell whether there is a way to take some units and to move others of them so that a gang fits, and the moved."""
    for taken in choices(able):
        moved = [unit for unit in able if unit not in taken and can_move(unit)]
        after = without(left, [*taken, *moved])
        enough = copies_that_fit(after, requests(gang[0])) >= len(gang)
        if enough and (not taken or legal(taken)) and all_fit(after, largest_first([*gang, *tasks_of(moved)])):
            return True
    return False


def can_move(unit: Leaving) -> bool:
    """Tell whether all of a unit are made anew by a controller, and none says that it must stay."""
    return all(task.controlled and task.movable for task in unit.tasks)


def tasks_of(chosen: Iterable[Leaving]) -> list[Task]:
    """Return the tasks of all these units."""
    return [task for unit in chosen for task in unit.tasks]


def largest_first(tasks: Sequence[Task]) -> list[Task]:
    """Return tasks in the order in which they are packed soonest."""
    return sorted(tasks, key=lambda task: -max(amount for _, amount in task.shape.requests))


def without(left: Space, chosen: Iterable[Leaving]) -> Space:
    """Return the space once these have left."""
    after = {name: dict(amounts) for name, amounts in left.items()}
    for unit in chosen:
        for task in unit.tasks:
            put(after[task.node or ""], task, 1)
    return after


def _whole(able: Sequence[Leaving], chosen: Sequence[Leaving]) -> bool:
    """A minimum leaves only with all that its gang has beyond it."""
    leaving = {unit.gang for unit in chosen if unit.core}
    return all(unit in chosen for unit in able if unit.gang in leaving)
