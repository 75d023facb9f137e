"""Wishes: in one domain of which level a gang, or a part of it, must be or should be, on the nodes that there are."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from phalanx.model.gang import Named, Segments
from phalanx.model.reference import Reference
from phalanx.model.snapshot import NodeTable
from phalanx.model.tree import NODE, Level, Tree, level_of

#: The level above all: the whole cluster.
EVERYWHERE = -1


class Wishing(Protocol):
    """A gang or a subgroup."""

    @property
    def topology_required(self) -> Named: ...  # noqa: D102 (as `Gang` has it)
    @property
    def topology_preferred(self) -> Named: ...  # noqa: D102
    @property
    def topology(self) -> Reference | None: ...  # noqa: D102
    @property
    def segments(self) -> Segments | None: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Wish:
    """Levels of a tree, as numbers."""

    tree: Tree
    #: All must be in one domain of this level; EVERYWHERE: of none.
    required: int = EVERYWHERE
    #: They should be in one domain of this level, or else of the next one above; None: nothing is said.
    preferred: int | None = None
    #: Every `size` tasks must be in one domain of this level, which is below the required one; None: nothing is said.
    segment: int | None = None
    size: int = 1
    #: Why it can never be fulfilled.
    problem: str | None = None

    @property
    def bottom(self) -> int:
        """Return the lowest level at which it matters how tasks are spread: nodes count where they are named."""
        named = max(self.required, *(-1 if level is None else level for level in (self.preferred, self.segment)))
        return self.tree.lowest if named == self.tree.lowest else self.tree.lowest - 1


def resolved(
    nodes: NodeTable, trees: Mapping[Reference, tuple[Level, ...]], levels: tuple[Level, ...] | None, of: Wishing
) -> Wish | None:
    """Return what a gang or a subgroup wishes for itself; None: nothing."""
    required, preferred = of.topology_required, of.topology_preferred
    level = None if of.segments is None else of.segments.level
    wanted = [named for named in (required, preferred, level) if named is not None]
    if not wanted:
        return None
    if of.topology is not None:
        listed = trees.get(of.topology)
        if listed is None and required is None and isinstance(preferred, int):
            return None
        if listed is None:
            return Wish(nodes.tree(levels), problem=f"there is no {of.topology}")
        # Levels that are listed must all be there; those that objects make may be left out on the way up.
        tree = nodes.tree(listed, whole=all(level.tier is None for level in listed))
    else:
        tree, keys = nodes.tree(levels), [str(named) for named in wanted]
        if keys[0] not in tree.number and nodes.domains(keys[0]).names:
            # A label that is no level of the tree is the top of a tree of its own.
            there = (tree.levels[tree.number[key]] if key in tree.number else level_of(key) for key in keys)
            tree = nodes.tree(tuple(one for one in dict.fromkeys(there) if one is not NODE))
    wish = _wish(tree, required, preferred)
    return wish if of.segments is None or wish.problem is not None else _cut(wish, of.segments)


def _wish(tree: Tree, required: Named, preferred: Named) -> Wish:
    problem = None if required is None else _unknown(tree, required)
    if problem is not None:
        return Wish(tree, problem=problem)
    must = None if required is None else _level(tree, required)
    must = EVERYWHERE if must is None else must
    should = None if preferred is None else _level(tree, preferred)
    if should is None and isinstance(preferred, int):
        should = tree.lowest - 1
    return Wish(tree, must, None if should is None or should <= must else should)


def _cut(wish: Wish, segments: Segments) -> Wish:
    """Return a wish with its segments. Where all must be in one domain of their level, or of one below, they are."""
    problem = _unknown(wish.tree, segments.level)
    if problem is not None:
        return replace(wish, problem=problem)
    level = wish.tree.number[segments.level]
    return wish if level <= wish.required else replace(wish, segment=level, size=segments.size)


def _level(tree: Tree, named: str | int) -> int | None:
    """Return a level by its name, or the highest one up to a tier: above all domains, the whole cluster."""
    if isinstance(named, str):
        return tree.number.get(named)
    above = tree.levels[: tree.lowest]
    if above and named > (above[0].tier or 0):
        return EVERYWHERE
    return next((at for at, level in enumerate(above) if (level.tier or 0) <= named), None)


def _unknown(tree: Tree, named: str | int) -> str | None:
    """Say that nothing is a domain of a level; None: something is."""
    at, tiers = _level(tree, named), tree.levels[0].tier is not None
    if at is None and isinstance(named, int):
        lowest = tree.levels[tree.lowest - 1]
        return f"no domain is of tier {named} or below: the lowest tier is {lowest.tier}"
    if at is None:
        known = ", ".join(one.name for one in (tree.levels[: tree.lowest] if tiers else tree.levels))
        if tiers:
            return f"no tier is called {named}: the tiers are {known}"
        return f"no node has the label {named}, and it is no level: the levels are {known}"
    if at == EVERYWHERE or tree.size(at):
        return None
    return f"no node has the label {tree.levels[at].key} of level {tree.levels[at].name}"
