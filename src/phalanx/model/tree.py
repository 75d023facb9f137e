"""The topology tree: the levels of a cluster (zone, block, rack, NVLink island, node) and the domains of each.

A domain is known by its path: rack `r1` of zone `a` and rack `r1` of zone `b` are two racks. So levels always nest;
where a name occurs more than once, the tree has a remark that says so.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from phalanx.model.axis import Int
from phalanx.model.topology import Domains

#: In the place of a domain: none.
NONE = -1


@dataclass(frozen=True, slots=True)
class Level:
    """One level: the label of nodes that names the domain, and what people call such a domain."""

    key: str
    name: str
    #: Of domains that objects name: the number by which wishes mean this level, and other words for it.
    tier: int | None = None
    also: tuple[str, ...] = ()


#: The lowest level everywhere. Each node is a domain of it, whatever its label says.
NODE = Level("kubernetes.io/hostname", "node")
#: Levels that are known by their usual labels, from the top; those that no node has are left out.
USUAL = (
    Level("topology.kubernetes.io/region", "region"),
    Level("topology.kubernetes.io/zone", "zone"),
    Level("topology.kubernetes.io/block", "block"),
    Level("topology.kubernetes.io/rack", "rack"),
    Level("nvidia.com/gpu.clique", "island"),
)
_NAMES = {level.key: level.name for level in (*USUAL, NODE)}


def level_of(key: str) -> Level:
    """Return the level of a label: what it is usually called, or the end of its key."""
    return Level(key, _NAMES.get(key) or key.rpartition("/")[2])


@dataclass(frozen=True, slots=True)
class Tree:
    """Nodes grouped level by level, from the top; the last level is the nodes themselves."""

    levels: tuple[Level, ...]
    #: Per level above the nodes, [node]: the domain that it is in; NONE where it has no label of the level.
    of_node: tuple[Int, ...]
    #: The same, [domain]: the domain of the next level above that it is part of; NONE where it is in none.
    parents: tuple[Int, ...]
    #: The same: what each domain is called. Domains are numbered along the tree.
    names: tuple[tuple[str, ...], ...]
    #: [node]: where it stands when nodes are lined up along the tree, so that neighbours are neighbours.
    position: Int
    #: What is odd about the labels, one sentence each.
    remarks: tuple[str, ...] = ()
    #: By key and by name.
    number: dict[str, int] = field(default_factory=dict[str, int], compare=False)

    @property
    def lowest(self) -> int:
        """Return the level of the nodes."""
        return len(self.levels) - 1

    def domain_of(self, level: int) -> Int:
        """Return [node]: the domain of a level that each node is in; NONE where it is in none."""
        return np.arange(len(self.position)) if level == self.lowest else self.of_node[level]

    def size(self, level: int) -> int:
        """Return how many domains a level has."""
        return len(self.position) if level == self.lowest else len(self.names[level])


def tree_of(levels: tuple[Level, ...], count: int, group: Callable[[str], Domains], *, whole: bool) -> Tree:
    """Return the tree of these levels. `whole`: a node that lacks the label of one level is in no domain of any."""
    above = [level for level in levels if level.key != NODE.key]
    grouped = [group(level.key) for level in above]
    inside = np.logical_and.reduce([domains.of_node >= 0 for domains in grouped] or [np.ones(count, np.bool_)])
    of_node, parents, names, remarks = list[Int](), list[Int](), list[tuple[str, ...]](), list[str]()
    #: [node]: one number per path of values down to here, in the order of paths.
    path = np.zeros(count, np.int64)
    # A loop over levels, which are few.
    for level, domains in zip(above, grouped, strict=True):
        value = np.where(inside, domains.of_node, NONE) if whole else domains.of_node
        path = np.unique(path * (len(domains.names) + 1) + value + 1, return_inverse=True)[1]
        there = np.flatnonzero(value >= 0)
        _, first, number = np.unique(path[there], return_index=True, return_inverse=True)
        first = there[first]
        mine = np.full(count, NONE)
        mine[there] = number
        parents.append(of_node[-1][first] if of_node else np.full(len(first), NONE))
        times = np.bincount(value[first], minlength=len(domains.names))
        within = [_path(of_node, names, row) for row in first.tolist()]
        said = [domains.names[one] for one in value[first].tolist()]
        names.append(tuple(f"{up}/{name}" if up and times[domains.number[name]] > 1 else name
                           for name, up in zip(said, within, strict=True)))  # fmt: skip
        remarks += _remarks(level, said, within, times.max(initial=0) > 1)
        of_node.append(mine)
    position = np.empty(count, np.int64)
    position[np.argsort(path, kind="stable")] = np.arange(count)
    for array in (*of_node, *parents, position):
        array.flags.writeable = False
    kept = (*above, NODE)
    number_of = {name: at for at, level in enumerate(kept) for name in (*level.also, level.name, level.key)}
    return Tree(kept, tuple(of_node), tuple(parents), tuple(names), position, tuple(remarks), number_of)


def _path(of_node: list[Int], names: list[tuple[str, ...]], node: int) -> str:
    """Return the lowest domain above in which a node is; empty where it is in none."""
    return next((names[at][of_node[at][node]] for at in range(len(of_node) - 1, -1, -1) if of_node[at][node] >= 0), "")


def _remarks(level: Level, said: list[str], within: list[str], several: bool) -> list[str]:
    """Name the first domain whose label occurs in several domains above it."""
    if not several:
        return []
    above: dict[str, list[str]] = {}
    for name, up in zip(said, within, strict=True):
        above.setdefault(name, []).append(up or "none")
    spread = {name: ups for name, ups in above.items() if len(ups) > 1}
    name, ups = next(iter(sorted(spread.items())))
    more = f", and {len(spread) - 1} more like it" if len(spread) > 1 else ""
    return [f"{level.name} {name} is in {', '.join(ups[:3])}: it counts as {len(ups)}{more} ({level.key})"]
