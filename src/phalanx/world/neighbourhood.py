"""Neighbourhood: the topology tree of the nodes as they are, how close gangs are in it, and who is split."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from phalanx.model.closeness import Closeness, closeness
from phalanx.model.gang import Gang, every, holders
from phalanx.model.task import State, Task
from phalanx.model.topology import domains
from phalanx.model.tree import USUAL, Level, Tree, tree_of
from phalanx.world.gangs import gang_key
from phalanx.world.ranks import segments_of
from phalanx.world.world import World


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A tree, and the row of each node in it."""

    tree: Tree
    row: dict[str, int]

    def closeness(self, nodes: Iterable[str | None]) -> Closeness:
        """Return how close tasks on these nodes are; nodes that are not there do not count."""
        rows = [self.row[node] for node in nodes if node in self.row]
        return closeness(self.tree, np.array(rows, np.int64))

    def split(self, gang: Gang, members: Sequence[Task]) -> str | None:
        """Say of a gang that runs in several domains what it requires and where it is; None: it is not split."""
        if gang.topology is not None:
            return None
        said = [self._apart(gang.name, gang.topology_required, members), *self._segments(gang, members)]
        for part in every(gang.subgroups):
            inside = {part.name, *(one.name for one in every(part.children))}
            mine = [task for task in members if task.membership and task.membership.subgroup in inside]
            said.append(self._apart(f"subgroup {part.name} of {gang.name}", part.topology_required, mine))
        return next(filter(None, said), None)

    def _segments(self, gang: Gang, members: Sequence[Task]) -> Iterator[str | None]:
        """Say of each segment that is in several domains where it is."""
        levels = {"": gang.segments} | {part.name: part.segments for part in every(gang.subgroups)}
        above, number = holders(gang), segments_of(gang, members)
        found: dict[tuple[str, int], list[Task]] = {}
        for task in members:
            if task.uid in number:
                name = above[(task.membership.subgroup if task.membership else None) or ""]
                found.setdefault((name, number[task.uid]), []).append(task)
        for (name, at), mine in sorted(found.items()):
            segments = levels[name]
            who = f"segment {at} of {f'subgroup {name} of ' if name else ''}{gang.name}"
            yield self._apart(who, segments.level if segments else None, mine)

    def _apart(self, who: str, level: str | None, members: Sequence[Task]) -> str | None:
        at = self.tree.number.get(level or "")
        if at is None or at == self.tree.lowest:
            return None
        of, name = self.tree.domain_of(at), self.tree.levels[at].name
        where = sorted({int(of[self.row[task.node]]) for task in members if task.node in self.row})
        if len(where) <= 1:
            return None
        names = ", ".join(self.tree.names[at][one] if one >= 0 else "none" for one in where)
        return f"{who} must be in one {name}, and since nodes were relabelled is in {names}"


def neighbourhood(world: World, levels: tuple[Level, ...] | None) -> Neighbourhood:
    """Return the tree of these levels, by default of the usual ones."""
    names = sorted(world.nodes)
    labels = [world.said.domains.labels(world.nodes[name]) for name in names]
    kept = tuple(level for level in USUAL if any(level.key in one for one in labels)) if levels is None else levels
    tree = tree_of(kept, len(names), lambda key: domains(key, labels), whole=False)
    return Neighbourhood(tree, {name: row for row, name in enumerate(names)})


def members_with_places(tasks: Iterable[Task]) -> dict[str, list[Task]]:
    """Return the tasks of ours that are on nodes or on their way there, by the key of their gang."""
    found: dict[str, list[Task]] = {}
    for task in tasks:
        if task.ours and task.state in {State.RUNNING, State.BINDING} and task.node is not None:
            found.setdefault(gang_key(task), []).append(task)
    return found
