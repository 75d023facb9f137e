"""The queue tree: which queues are in order, and for each one that is not, why.

A queue that is not in order is set aside with everything below it; everybody else proceeds. What a child does not
say is its parent's.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from phalanx.model.queue import DEFAULT_QUEUE, Queue
from phalanx.model.reference import Reference

#: How many queues a message names before it says "and n more".
_NAMED_MAX = 8


@dataclass(frozen=True, slots=True)
class Tree:
    """Every queue that is in order, sorted by (depth, name), and why the others are not."""

    #: With what they inherit.
    queues: tuple[Queue, ...]
    depth: tuple[int, ...]
    row: Mapping[str, int]
    #: Rows of the children, per row that has some.
    children: Mapping[int, tuple[int, ...]]
    #: Per object that does not count: a sentence.
    aside: Mapping[Reference, str] = field(default_factory=dict[Reference, str])
    #: The same per name, where no object of the name counts.
    missing: Mapping[str, str] = field(default_factory=dict[str, str])
    #: There is no Queue object at all.
    implicit: bool = False

    def parent(self, row: int) -> int:
        """Return the row of the parent, or -1."""
        name = self.queues[row].parent
        return -1 if name is None else self.row[name]


def resolve(queues: Iterable[Queue], refused: Mapping[Reference, str]) -> Tree:
    """Return the tree of these queues. `refused`: what is wrong with those that cannot be read."""
    known = list(queues)
    if not known and not refused:
        return _ordered({DEFAULT_QUEUE.name: DEFAULT_QUEUE}, {DEFAULT_QUEUE.name: 0}, {}, {}, implicit=True)
    chosen, aside = _choose(known)
    _accompany(chosen, {thing.full_name for thing in refused})
    aside.update(refused)
    unreadable: dict[str, tuple[Reference, str]] = {}
    for thing in sorted(refused, reverse=True):
        unreadable[thing.full_name] = (thing, refused[thing])
    depth, bad = _depths(chosen, unreadable)
    missing = {name: sentence for name, (_, sentence) in unreadable.items() if name not in chosen}
    for name, sentence in bad.items():
        aside[chosen[name].object] = missing[name] = sentence
    return _ordered(chosen, depth, aside, missing)


def _choose(queues: Iterable[Queue]) -> tuple[dict[str, Queue], dict[Reference, str]]:
    """Of several objects of one name the oldest counts, whatever order they were seen in."""
    chosen: dict[str, Queue] = {}
    aside: dict[Reference, str] = {}
    for queue in sorted(queues, key=lambda queue: (queue.created, queue.kind)):
        first = chosen.setdefault(queue.name, queue)
        if first is not queue:
            aside[queue.object] = f"metadata.name: {first.object} has this name too and is the older one, so it counts"
    return chosen, aside


def _accompany(chosen: dict[str, Queue], unreadable: Collection[str]) -> None:
    """Add the queues that a system has without an object.

    One whose object cannot be read is still there for the queues below it, but takes no pods itself.
    """
    companions = {one.name: one for queue in chosen.values() for one in queue.companions}
    for name, companion in sorted(companions.items()):
        if name not in unreadable or companion.parent is None:
            chosen.setdefault(name, companion)


def _depths(
    chosen: Mapping[str, Queue], unreadable: Mapping[str, tuple[Reference, str]]
) -> tuple[dict[str, int], dict[str, str]]:
    """Return how deep each queue in order lies, and a sentence for each of the others."""
    depth: dict[str, int] = {}
    bad: dict[str, str] = {}
    #: Per bad queue: the object that everything below it waits for, and what is wrong there.
    cause: dict[str, tuple[Reference, str]] = {name: found for name, found in unreadable.items() if name not in chosen}
    for start in sorted(chosen):
        path: dict[str, None] = {}
        name: str | None = start
        while name is not None and name in chosen and name not in depth and name not in bad and name not in path:
            path[name] = None
            name = chosen[name].parent
        if name is not None and name in path:
            ring = list(path)[list(path).index(name) :]
            for member in ring:
                bad[member] = f"{chosen[member].parent_field}: {_round(ring)}"
                cause[member] = (chosen[member].object, bad[member])
                del path[member]
        for member in reversed(path):
            queue = chosen[member]
            if queue.parent is None or queue.parent in depth:
                depth[member] = 0 if queue.parent is None else depth[queue.parent] + 1
                continue
            if queue.parent not in cause:
                bad[member] = f"{queue.parent_field}: there is no Queue {queue.parent}"
                cause[member] = (queue.object, bad[member])
                continue
            thing, why = cause[member] = cause[queue.parent]
            because = "" if thing.full_name == queue.parent else f" because of {thing}"
            bad[member] = f"{queue.parent_field}: Queue {queue.parent} is set aside{because}: {why}"
    return depth, bad


def _round(ring: list[str]) -> str:
    if len(ring) == 1:
        return f"{ring[0]} is its own parent"
    first = ring.index(min(ring))
    names = ring[first:] + ring[:first]
    more = f" > {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return f"the parents go round in a circle: {' > '.join(names[:_NAMED_MAX])}{more} > {names[0]}"


def _ordered(
    chosen: Mapping[str, Queue],
    depth: Mapping[str, int],
    aside: Mapping[Reference, str],
    missing: Mapping[str, str],
    *,
    implicit: bool = False,
) -> Tree:
    """Put the queues in order, parents first, so that what is inherited is known when a child is looked at."""
    names = sorted(depth, key=lambda name: (depth[name], name))
    row = {name: position for position, name in enumerate(names)}
    queues: list[Queue] = []
    children: dict[int, list[int]] = {}
    for position, name in enumerate(names):
        queue = chosen[name]
        if queue.parent is not None:
            children.setdefault(row[queue.parent], []).append(position)
            queue = _inherit(queue, queues[row[queue.parent]])
        queues.append(queue)
    return Tree(
        tuple(queues), tuple(depth[name] for name in names), row,
        {parent: tuple(rows) for parent, rows in children.items()}, aside, missing, implicit,
    )  # fmt: skip


def _inherit(queue: Queue, parent: Queue) -> Queue:
    return replace(
        queue,
        consolidation=queue.consolidation and parent.consolidation,
        hold=queue.hold or (f"Queue {parent.name} above it: {parent.hold}" if parent.hold else None),
        placement=queue.placement or parent.placement,
        preempt_min_runtime=_else(queue.preempt_min_runtime, parent.preempt_min_runtime),
        reclaim_min_runtime=_else(queue.reclaim_min_runtime, parent.reclaim_min_runtime),
    )


def _else(own: float | None, above: float | None) -> float | None:
    return above if own is None else own
