"""Shared rows: who sits on which device that is shared. Only nodes that changed are looked at again."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from phalanx.model.axis import Int
from phalanx.model.device import DeviceTable
from phalanx.model.running import RunningTable
from phalanx.model.sharing import COUNTED, MIB, NOWHERE, RESOURCE, Part, SharedTable, levels
from phalanx.model.snapshot import NodeTable, TaskTable
from phalanx.model.task import State

if TYPE_CHECKING:
    from phalanx.world.world import World

_HERE, _LEAVING, _PROMISED = range(3)


class _Seat(NamedTuple):
    """A part that is taken on a node, or kept for somebody."""

    uid: str
    book: int
    part: Part
    groups: tuple[str, ...]


@dataclass(slots=True)
class _Piece:
    """One node: what is taken of its devices, by their places among them."""

    #: [here | leaving | promised, what is counted, device].
    books: Int
    groups: dict[int, str]
    stray: int
    #: By uid.
    at: dict[str, tuple[int, ...]]


@dataclass(slots=True)
class SharedRows:
    """Keeps a piece per node on which devices are shared."""

    _pieces: dict[str, _Piece] = field(default_factory=dict[str, _Piece])
    _dirty: set[str] = field(default_factory=set[str])
    _devices: DeviceTable | None = None
    _rows: Int = field(default_factory=lambda: np.zeros(0, np.int64))

    def touch(self, name: str) -> None:
        """Mark a node: it, or a task on it, changed."""
        self._dirty.add(name)

    def table(self, world: "World", nodes: NodeTable, running: RunningTable, tasks: TaskTable) -> SharedTable | None:
        """Return the table; None: nobody shares anything."""
        setting = world.sharings.setting
        # Where a side gives out parts, who asks for whole devices must keep off.
        sided = world.sharings.live and any(nodes.devices.sides)
        if setting is None or not (world.links.sharing or sided):
            self._dirty.clear()
            self._pieces.clear()
            self._devices = None
            return None
        devices = nodes.devices
        if devices is not self._devices:
            self._devices, self._rows = devices, np.flatnonzero(devices.of_resource(RESOURCE))
            self._pieces.clear()
            self._dirty = {world.tasks[uid].node or world.tasks[uid].nominated or "" for uid in world.links.sharing}
            self._dirty.update(move.node for move in world.moves.places.values())
        rows = self._rows
        node = devices.node[rows]
        first = np.searchsorted(node, np.arange(len(nodes) + 1))
        memory = devices.memory[rows] // MIB
        memory = np.where(memory > 0, memory, setting.memory // MIB)
        for name in sorted(self._dirty & nodes.row.keys()):
            here = slice(first[nodes.row[name]], first[nodes.row[name] + 1])
            ids = [devices.ids[row] for row in rows[here].tolist()]
            seats = list(_seats(world, name))
            if seats:
                self._pieces[name] = _piece(seats, memory[here], devices.index[rows][here], ids)
            else:
                self._pieces.pop(name, None)
        self._dirty.clear()
        return self._joined(nodes, running, tasks, first, node, memory, devices, live=world.sharings.live)

    def _joined(
        self, nodes: NodeTable, running: RunningTable, tasks: TaskTable, first: Int, node: Int, memory: Int,
        devices: DeviceTable, *, live: bool,
    ) -> SharedTable:  # fmt: skip
        books = np.zeros((3, COUNTED, len(node)), np.int64)
        stray = np.zeros(len(nodes), np.int64)
        groups: dict[int, str] = {}
        at: dict[str, tuple[int, ...]] = {}
        # A loop over the nodes on which devices are shared.
        for name in sorted(self._pieces.keys() & nodes.row.keys()):
            piece, row = self._pieces[name], nodes.row[name]
            begin = int(first[row])
            books[:, :, begin : begin + piece.books.shape[2]] = piece.books
            stray[row] = piece.stray
            groups.update((begin + place, group) for place, group in piece.groups.items())
            for uid, places in piece.at.items():
                at[uid] = tuple(begin + place if place != NOWHERE else NOWHERE for place in places)
        usable = devices.usable[self._rows] & (devices.replicas[self._rows] == 1)
        return SharedTable(
            first=first, device=self._rows, node=node, index=devices.index[self._rows], memory=memory,
            seats=devices.seats[self._rows], usable=usable, here=books[_HERE], leaving=books[_LEAVING],
            promised=books[_PROMISED], stray=stray, groups=groups, running=_places(running.uids, at),
            tasks=_places(tasks.uids, at), side=devices.side[self._rows] if live else None, sides=devices.sides,
        )  # fmt: skip


def _places(uids: tuple[str, ...], at: Mapping[str, tuple[int, ...]]) -> Int:
    """Return [task, device]: where each of these sits."""
    width = max(map(len, at.values()), default=1)
    found = np.full((len(uids), width), NOWHERE)
    for row, uid in enumerate(uids):
        places = at.get(uid)
        if places is not None:
            found[row, : len(places)] = places
    return found


def _seats(world: "World", name: str) -> Iterator[_Seat]:
    """Yield the parts that are taken on a node: of pods that are there, and of those to which places are promised."""
    for uid in world.on_node.get(name, {}):
        task = world.tasks[uid]
        if task.shape.part is not None:
            leaves = task.state is State.RELEASING and not task.stuck
            yield _Seat(uid, _LEAVING if leaves else _HERE, task.shape.part, _groups(uid, task.shape.part, task.groups))
    for uid in world.nominated.get(name, {}):
        task = world.tasks[uid]
        # A place without devices gets them when somebody decides.
        if task.shape.part is not None and task.ours and len(task.groups) == task.shape.part.devices:
            yield _Seat(uid, _PROMISED, task.shape.part, task.groups)
    for move in world.moves.kept_on(name):
        if move.task.shape.part is not None:
            yield _Seat(f"{move.task.uid} moved", _PROMISED, move.task.shape.part, move.groups)


def _groups(uid: str, part: Part, said: tuple[str, ...]) -> tuple[str, ...]:
    """Return the groups of a pod on a node. One that does not say what it shares has devices of its own."""
    known = tuple(dict.fromkeys(said))[: part.devices]
    return known + tuple(f"{uid}#{number}" for number in range(len(known), part.devices))


def _piece(seats: Iterable[_Seat], memory: Int, index: Int, ids: Iterable[str]) -> _Piece:
    """Give each group of a node a device: the one that it names by number or id.

    Which one any other gets does not matter, but that it is the same for all who see it.
    """
    seats = list(seats)
    numbers = {id_: place for place, id_ in enumerate(ids) if id_}
    numbers |= {str(number): place for place, number in enumerate(index.tolist())}
    names = {group for seat in seats for group in seat.groups}
    place = {group: numbers[group] for group in names if group in numbers}
    left = [at for at in range(len(index)) if at not in place.values()]
    # Those that have a pod already go before those that are only promised.
    held = {group for seat in seats if seat.book != _PROMISED for group in seat.groups}
    others = sorted(names - place.keys(), key=lambda group: (group not in held, group))
    place.update(zip(others, left, strict=False))
    books = np.zeros((3, COUNTED, len(index)), np.int64)
    at: dict[str, tuple[int, ...]] = {}
    for seat in sorted(seats):
        places = tuple(place.get(group, NOWHERE) for group in seat.groups)
        if seat.book == _PROMISED and NOWHERE in places:
            continue
        at[seat.uid] = places
        for one in places:
            if one != NOWHERE:
                books[seat.book, :, one] += levels(seat.part, memory[one])
    groups = {number: group for group, number in place.items() if group not in numbers}
    return _Piece(books, groups, len(held - place.keys()), at)
