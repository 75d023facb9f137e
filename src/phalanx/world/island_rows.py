"""Island rows: how nodes are divided, and on which islands the pods there lie. Only nodes that changed are worked out.

The kubelet does not say where it put a pod. So pods are laid out as it would have, in the order in which they started;
where the node tells what is in use on each NUMA node, as that says. Who was laid out once stays there until the node
says something else: room that is being made must not move.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from phalanx.model.axis import SUM_MAX, Axis, Int, is_extended, unit
from phalanx.model.island import (
    LAYERS,
    LINK,
    Island,
    IslandTable,
    Rule,
    asks_of,
    chosen,
    counts,
    fits,
    islands_of,
    padded,
    piece,
    rule_of,
)
from phalanx.model.node import Node
from phalanx.model.running import RunningTable
from phalanx.model.sharing import NEVER, RESOURCE
from phalanx.model.snapshot import NodeTable, TaskTable
from phalanx.model.task import Shape, State, Task

if TYPE_CHECKING:
    from phalanx.world.world import World

_HERE, _LEAVING, _PROMISED = range(3)


class _Seat(NamedTuple):
    """Somebody who takes room on a node, or for whom some is kept."""

    uid: str
    book: int
    task: Task


@dataclass(slots=True)
class _Piece:
    """One node in one layer."""

    #: Of which the layout was made: another one is made when the node says something else.
    node: Node
    islands: tuple[Island, ...]
    names: tuple[str, ...]
    capacity: Int
    units: Int
    #: [book, island, name]
    books: Int
    #: By uid: positions among its islands.
    at: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])


class IslandRows:
    """Keeps a piece per layer and node that is divided."""

    def __init__(self) -> None:
        self._pieces: dict[str, dict[str, _Piece]] = {layer: {} for layer in LAYERS}
        self._dirty: set[str] = set()

    def touch(self, name: str) -> None:
        """Mark a node: it, or a task on it, changed."""
        self._dirty.add(name)

    def tables(
        self, world: "World", nodes: NodeTable, axis: Axis, shapes: Sequence[Shape], running: RunningTable,
        tasks: TaskTable,
    ) -> tuple[IslandTable, ...]:  # fmt: skip
        """Return a table for each layer in which some node is divided."""
        for name in sorted(self._dirty):
            for layer in LAYERS:
                self._work_out(world, name, layer)
        self._dirty.clear()
        wanted = {layer for shape in shapes if shape.devices is not None for layer in shape.devices.together}
        return tuple(
            _joined(layer, pieces, nodes, axis, shapes, running, tasks)
            for layer, pieces in self._pieces.items()
            if pieces or layer in wanted
        )

    def _work_out(self, world: "World", name: str, layer: str) -> None:
        pieces, node = self._pieces[layer], world.nodes.get(name)
        # Most nodes are divided in no way.
        found = islands_of(node, layer) if node is not None and (node.zones or node.devices) else ()
        if node is None or not found or rule_of(node, layer) is Rule.SILENT:
            pieces.pop(name, None)
            return
        old = pieces.get(name)
        if old is None or (old.node.zones, old.node.devices) != (node.zones, node.devices):
            old = None
        pieces[name] = _laid_out(node, layer, found, list(_seats(world, name)), world.shape_of, old)


def _seats(world: "World", name: str) -> Iterator[_Seat]:
    """Yield who is on a node in the order of their start, then those for whom places are kept there."""
    there = (world.tasks[uid] for uid in world.on_node.get(name, {}))
    for task in sorted(there, key=lambda one: (one.started is None, one.started or 0.0, one.created, one.full_name)):
        leaves = task.state is State.RELEASING and not task.stuck
        yield _Seat(task.uid, _LEAVING if leaves else _HERE, task)
    promised = (world.tasks[uid] for uid in world.nominated.get(name, {}))
    for task in sorted(promised, key=lambda one: (one.created, one.full_name)):
        if task.ours:
            yield _Seat(task.uid, _PROMISED, task)
    for move in sorted(world.moves.kept_on(name), key=lambda one: one.task.full_name):
        yield _Seat(f"{move.task.uid} moved", _PROMISED, move.task)


def _laid_out(
    node: Node, layer: str, islands: tuple[Island, ...], seats: Sequence[_Seat], shape_of: Callable[[Task], Shape],
    old: _Piece | None,
) -> _Piece:  # fmt: skip
    names = tuple(sorted({name for one in islands for name in one.amounts}))
    capacity = np.array([[one.amounts.get(name, 0) for name in names] for one in islands], np.int64)
    units = np.array([unit(name) if "/" in name else 1 for name in names], np.int64)
    used = np.array([[one.used.get(name, 0) for name in names] for one in islands], np.int64)
    found = _Piece(node, islands, names, capacity, units, np.zeros((3, *capacity.shape), np.int64))
    told, books = used.any(), found.books
    before = old.at if old is not None else {}
    # A loop over the pods of a node that changed. Who lies there already comes first: the others lie beside him.
    for seat in sorted(seats, key=lambda seat: seat.uid not in before):
        asked = dict(shape_of(seat.task).requests)
        shape = seat.task.shape
        ask = np.array(
            [asked.get(name, 0) * counts(name, asked.get(name, 0), shape, layer) for name in names], np.int64
        )
        if not ask.any():
            continue
        at = before.get(seat.uid) or _named(seat.task, node, layer, islands)
        if not at and told and seat.book != _PROMISED:
            at = _reported(ask, used - books[_HERE] - books[_LEAVING])
        if not at:
            free = capacity - books[_HERE] - books[_PROMISED]
            at = chosen(ask, units, free if seat.book == _PROMISED else free - books[_LEAVING], layer)
        found.at[seat.uid] = at
        books[seat.book, list(at)] = np.minimum(books[seat.book, list(at)] + piece(ask, units, len(at)), SUM_MAX)
    # What nobody whom we know has taken, such as the share of the system.
    books[_HERE] += np.maximum(used - books[_HERE] - books[_LEAVING], 0)
    return found


def _named(task: Task, node: Node, layer: str, islands: Sequence[Island]) -> tuple[int, ...]:
    """Return the islands of the devices that a pod names; none where it names none that are known."""
    places = {one.id: place for place, one in enumerate(islands)}
    gpus = [one for one in node.devices if one.resource == RESOURCE] if task.groups else []
    of = {name: one.group if layer == LINK else one.numa for one in gpus for name in (str(one.index), one.id)}
    return tuple(sorted({places[of[name]] for name in task.groups if of.get(name) in places}))


def _reported(ask: Int, left: Int) -> tuple[int, ...]:
    """Return the island on which a pod lies if what is in use there is to be explained."""
    able = np.flatnonzero(fits(left, ask) > 0)
    return (int(able[0]),) if len(able) else ()


def _joined(
    layer: str, pieces: dict[str, _Piece], nodes: NodeTable, axis: Axis, shapes: Sequence[Shape],
    running: RunningTable, tasks: TaskTable,
) -> IslandTable:  # fmt: skip
    wants = [shape.devices is not None and layer in shape.devices.together for shape in shapes]
    divided = {name for piece in pieces.values() for name in piece.names if name in axis.index}
    # A pod that insists must not go where nobody says how its devices are divided.
    for shape in (shape for shape, want in zip(shapes, wants, strict=True) if want):
        divided.update(name for name, _ in shape.requests if is_extended(name))
    named = sorted(divided)
    columns = np.array([axis.index[name] for name in named], np.int64)
    count = np.zeros(len(nodes), np.int64)
    rule = np.full(len(nodes), int(Rule.SILENT))
    here = sorted(pieces.keys() & nodes.row.keys())
    for name in here:
        count[nodes.row[name]] = len(pieces[name].islands)
        rule[nodes.row[name]] = rule_of(pieces[name].node, layer)
    first = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    capacity = np.full((int(first[-1]), len(named)), NEVER)
    books = np.zeros((3, int(first[-1]), len(named)), np.int64)
    at: dict[str, tuple[int, ...]] = {}
    place = {name: column for column, name in enumerate(named)}
    # A loop over the nodes that are divided.
    for name in here:
        one, begin = pieces[name], int(first[nodes.row[name]])
        known = [column for column, resource in enumerate(one.names) if resource in place]
        where = [place[one.names[column]] for column in known]
        rows = slice(begin, begin + len(one.islands))
        capacity[rows, where] = one.capacity[:, known]
        books[:, rows, where] = one.books[:, :, known]
        at.update((uid, tuple(begin + island for island in islands)) for uid, islands in one.at.items())
    width = int(count.max(initial=1))
    return IslandTable(
        layer=layer, first=first, node=np.repeat(np.arange(len(nodes)), count), columns=columns,
        units=np.array([unit(name) if "/" in name else 1 for name in named], np.int64), capacity=capacity,
        here=books[_HERE], leaving=books[_LEAVING], promised=books[_PROMISED], rule=rule,
        asks=asks_of(shapes, axis, columns, layer), wants=np.array(wants, np.int64),
        running=padded((at.get(uid, ()) for uid in running.uids), len(running), width),
        tasks=padded((at.get(uid, ()) for uid in tasks.uids), len(tasks), width),
    )  # fmt: skip
