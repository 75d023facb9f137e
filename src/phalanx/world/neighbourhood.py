"""Neighbourhood: the topology tree of the nodes as they are, how close gangs are in it, and who is split."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from phalanx.model.closeness import Closeness, closeness
from phalanx.model.gang import Gang, Subgroup, every, holders
from phalanx.model.snapshot import NodeTable
from phalanx.model.task import State, Task
from phalanx.model.tree import Level, Tree
from phalanx.model.wish import EVERYWHERE, resolved
from phalanx.world.gangs import gang_key
from phalanx.world.ranks import segments_of
from phalanx.world.world import World


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The nodes as they are, and the tree of them."""

    world: World
    nodes: NodeTable
    levels: tuple[Level, ...] | None

    @property
    def tree(self) -> Tree:
        """Return the tree of the levels, by default of the usual ones."""
        return self.nodes.tree(self.levels)

    @property
    def remarks(self) -> list[str]:
        """Return what is odd about labels, and about objects that make a tree, one sentence each."""
        return [*self.tree.remarks, *map(str, self.world.said.domains.mistakes)]

    def closeness(self, nodes: Iterable[str | None]) -> Closeness:
        """Return how close tasks on these nodes are; nodes that are not there do not count."""
        rows = [self.nodes.row[node] for node in nodes if node is not None and node in self.nodes.row]
        return closeness(self.tree, np.array(rows, np.int64))

    def split(self, gang: Gang, members: Sequence[Task]) -> str | None:
        """Say of a gang that runs in several domains what it requires and where it is; None: it is not split."""
        members = self.world.said.divided(members)
        said = [self._apart(gang.name, gang, members), *self._segments(gang, members)]
        for part in every(gang.subgroups):
            inside = {part.name, *(one.name for one in every(part.children))}
            mine = [task for task in members if task.membership and task.membership.subgroup in inside]
            said.append(self._apart(f"subgroup {part.name} of {gang.name}", part, mine))
        return next(filter(None, said), None)

    def _segments(self, gang: Gang, members: Sequence[Task]) -> Iterator[str | None]:
        """Say of each segment that is in several domains where it is."""
        of: dict[str, Gang | Subgroup] = {"": gang} | {part.name: part for part in every(gang.subgroups)}
        above, number = holders(gang), segments_of(gang, members)
        found: dict[tuple[str, int], list[Task]] = {}
        for task in members:
            if task.uid in number:
                name = above[(task.membership.subgroup if task.membership else None) or ""]
                found.setdefault((name, number[task.uid]), []).append(task)
        for (name, at), mine in sorted(found.items()):
            who = f"segment {at} of {f'subgroup {name} of ' if name else ''}{gang.name}"
            yield self._apart(who, of[name], mine, segment=True)

    def _apart(self, who: str, of: Gang | Subgroup, members: Sequence[Task], *, segment: bool = False) -> str | None:
        wish = resolved(self.nodes, self.world.said.trees, self.levels, of)
        at = None if wish is None else wish.segment if segment else wish.required
        if wish is None or at is None or at in {EVERYWHERE, wish.tree.lowest}:
            return None
        domain, level = wish.tree.domain_of(at), wish.tree.levels[at].name
        rows = (self.nodes.row.get(task.node or "") for task in members)
        where = sorted({int(domain[row]) for row in rows if row is not None})
        if len(where) <= 1:
            return None
        names = ", ".join(wish.tree.names[at][one] if one >= 0 else "none" for one in where)
        return f"{who} must be in one {level}, and since the topology changed is in {names}"


def neighbourhood(world: World, levels: tuple[Level, ...] | None) -> Neighbourhood:
    """Return the neighbourhood of the nodes as they are now."""
    return Neighbourhood(world, world.node_table(), levels)


def split_gangs(world: World, levels: tuple[Level, ...] | None) -> dict[str, str]:
    """Return what to say of each gang that runs in several domains against what it requires, by its key."""
    around, found = neighbourhood(world, levels), dict[str, str]()
    for key, members in sorted(members_with_places(world.tasks.values()).items()):
        gang = world.gang_of(members[0]) if len(members) > 1 else None
        said = around.split(gang, members) if gang is not None else None
        if said is not None:
            found[key] = said
    return found


def members_with_places(tasks: Iterable[Task]) -> dict[str, list[Task]]:
    """Return the tasks of ours that are on nodes or on their way there, by the key of their gang."""
    found: dict[str, list[Task]] = {}
    for task in tasks:
        if task.ours and task.state in {State.RUNNING, State.BINDING} and task.node is not None:
            found.setdefault(gang_key(task), []).append(task)
    return found
