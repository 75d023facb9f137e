"""Island rows: how nodes are divided, and on which islands the pods there lie. Only nodes that changed are worked out.

The kubelet does not say where it put a pod. So pods are laid out as it would have, in the order in which they started;
where the node tells what is in use on each NUMA node, as that says. Who was laid out once stays there until the node
says something else: room that is being made must not move.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    layer: str
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
        #: By layer: the rows of the last table, as long as nodes are divided in the same way.
        self._layouts: dict[str, _Layout] = {}

    def touch(self, name: str) -> None:
        """Mark a node: it, or a task on it, changed."""
        self._dirty.add(name)

    def tables(
        self, world: "World", nodes: NodeTable, axis: Axis, shapes: Sequence[Shape], running: RunningTable,
        tasks: TaskTable,
    ) -> tuple[IslandTable, ...]:  # fmt: skip
        """Return a table for each layer in which some node is divided."""
        dirty = sorted(self._dirty)
        self._dirty.clear()
        for layer, pieces in self._pieces.items():
            before = {name: pieces.get(name) for name in dirty}
            for name in dirty:
                self._work_out(world, name, layer)
            layout = self._layouts.get(layer)
            if layout is not None and all(_alike(old, pieces.get(name)) for name, old in before.items()):
                layout.forget(old for old in before.values() if old is not None)
                layout.write(pieces, [name for name in dirty if name in pieces and name in layout.row])
            else:
                self._layouts.pop(layer, None)
        wanted = {layer for shape in shapes if shape.devices is not None for layer in shape.devices.together}
        return tuple(
            self._table(layer, nodes, axis, shapes, running, tasks)
            for layer, pieces in self._pieces.items()
            if pieces or layer in wanted
        )

    def _table(
        self, layer: str, nodes: NodeTable, axis: Axis, shapes: Sequence[Shape], running: RunningTable,
        tasks: TaskTable,
    ) -> IslandTable:  # fmt: skip
        wants = [shape.devices is not None and layer in shape.devices.together for shape in shapes]
        # A pod that insists must not go where nobody says how its devices are divided.
        insisting = (shape for shape, want in zip(shapes, wants, strict=True) if want)
        asked = frozenset(name for shape in insisting for name, _ in shape.requests if is_extended(name))
        layout = self._layouts.get(layer)
        if layout is None or layout.row is not nodes.row or (layout.axis, layout.asked) != (axis, asked):
            layout = self._layouts[layer] = _Layout(self._pieces[layer], nodes, axis, asked)
        books, at = layout.books.copy(), layout.at
        columns = np.array([axis.index[name] for name in layout.named], np.int64)
        return IslandTable(
            layer=layer, first=layout.first, node=layout.node, columns=columns,
            units=np.array([unit(name) if "/" in name else 1 for name in layout.named], np.int64),
            capacity=layout.capacity.copy(), here=books[_HERE], leaving=books[_LEAVING], promised=books[_PROMISED],
            rule=layout.rule.copy(), asks=asks_of(shapes, axis, columns, layer), wants=np.array(wants, np.int64),
            running=padded((at.get(uid, ()) for uid in running.uids), len(running), layout.width),
            tasks=padded((at.get(uid, ()) for uid in tasks.uids), len(tasks), layout.width),
        )  # fmt: skip

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
    found = _Piece(node, layer, islands, names, capacity, units, np.zeros((3, *capacity.shape), np.int64))
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


def _alike(old: _Piece | None, new: _Piece | None) -> bool:
    """Tell whether a node is divided as it was."""
    if old is None or new is None:
        return old is new
    return (old.names, [one.id for one in old.islands]) == (new.names, [one.id for one in new.islands])


class _Layout:
    """Which rows the islands of all nodes have, and what is written there."""

    def __init__(self, pieces: Mapping[str, _Piece], nodes: NodeTable, axis: Axis, asked: frozenset[str]) -> None:
        self.row, self.axis, self.asked = nodes.row, axis, asked
        self.named = sorted(asked.union(*(piece.names for piece in pieces.values())) & axis.index.keys())
        self._place = {name: column for column, name in enumerate(self.named)}
        here = sorted(pieces.keys() & nodes.row.keys())
        count = np.zeros(len(nodes), np.int64)
        count[[nodes.row[name] for name in here]] = [len(pieces[name].islands) for name in here]
        self.first = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
        self.node, self.width = np.repeat(np.arange(len(nodes)), count), int(count.max(initial=1))
        self.rule = np.full(len(nodes), int(Rule.SILENT))
        self.capacity = np.full((len(self.node), len(self.named)), NEVER)
        self.books = np.zeros((3, len(self.node), len(self.named)), np.int64)
        #: By uid: the rows on which somebody lies.
        self.at: dict[str, tuple[int, ...]] = {}
        self.write(pieces, here)

    def forget(self, gone: Iterable[_Piece]) -> None:
        """Forget where those on some nodes lay."""
        for one in gone:
            for uid in one.at:
                self.at.pop(uid, None)

    def write(self, pieces: Mapping[str, _Piece], names: Iterable[str]) -> None:
        """Write the rows of these nodes, which changed."""
        for name in names:
            one, row = pieces[name], self.row[name]
            begin = int(self.first[row])
            known = [column for column, resource in enumerate(one.names) if resource in self._place]
            where = [self._place[one.names[column]] for column in known]
            rows = slice(begin, begin + len(one.islands))
            self.rule[row] = rule_of(one.node, one.layer)
            self.capacity[rows, where] = one.capacity[:, known]
            self.books[:, rows, where] = one.books[:, :, known]
            self.at.update((uid, tuple(begin + island for island in islands)) for uid, islands in one.at.items())
