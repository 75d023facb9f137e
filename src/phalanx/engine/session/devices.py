"""Devices: the books of devices that several tasks share, device by device. The ledger of whole ones stays as it is.

Whoever shares a device first takes it from the whole ones of its node, and the last one who leaves gives it back: so a
part and a whole never meet, and what is written here is always in step with the column of whole devices.
"""

from collections.abc import Callable

import numpy as np

from phalanx.engine.session.column import Column
from phalanx.engine.session.device_names import Names
from phalanx.engine.session.journal import Journal
from phalanx.engine.session.ledger import Ledger
from phalanx.engine.session.left import left_later, left_now
from phalanx.engine.session.parts import Offers, chosen
from phalanx.engine.session.request import Request, When
from phalanx.engine.session.rows import distinct
from phalanx.model.axis import Bool, Int
from phalanx.model.sharing import (
    ABREAST,
    MEMORY,
    NEVER,
    NOWHERE,
    RESOURCE,
    SEATS,
    WHOLE,
    Part,
    SharedTable,
    counted_of,
    levels,
)
from phalanx.model.snapshot import Snapshot

#: The column of devices that nobody shares, [node, 1].
WHOLE_DEVICES = "whole_devices"


def whole_devices(snapshot: Snapshot) -> Column:
    """Return the column: who asks for whole devices takes of it what he asks for, who shares nothing by himself."""
    assert snapshot.shared is not None
    column = snapshot.axis.index[RESOURCE]
    parts = np.array([shape.part is not None for shape in snapshot.shapes], np.bool_)
    footprint = np.where(parts, 0, -(-snapshot.requests[:, column] // WHOLE))
    capacity = snapshot.nodes.allocatable[:, column] // WHOLE - snapshot.shared.stray
    return Column(WHOLE_DEVICES, footprint[:, None], capacity[:, None])


class Devices:
    """What is taken of every shared device, and by whom. Every change is in the journal."""

    def __init__(self, snapshot: Snapshot, journal: Journal, ledger: Ledger, *, spread: bool) -> None:
        table = snapshot.shared
        assert table is not None
        self.table: SharedTable = table
        self._snapshot = snapshot
        self._journal = journal
        self._books = ledger.books(WHOLE_DEVICES)
        self.parts = tuple(shape.part for shape in snapshot.shapes)
        self._spread = spread
        #: [shape]: of how many devices a task takes a part.
        self._counts = np.array([part.devices if part else 0 for part in self.parts], np.int64)
        #: How many of the things that can be counted must be: mostly one. All but the last of them are limits.
        self._counted = counted_of(filter(None, self.parts), table.seats)
        self._limits = min(self._counted, ABREAST)
        self._capacity = np.where(table.usable, table.capacity(self._limits), 0)
        here, leaving, promised = (self._columns(book) for book in (table.here, table.leaving, table.promised))
        self._here, self._leaving, self._promised = here, leaving, promised
        #: [waiting task, device]: the rows that it has, or that are or were promised to it.
        width = max((part.devices for part in self.parts if part), default=1)
        self.tasks = np.full((len(snapshot.tasks), max(width, table.tasks.shape[1])), NOWHERE)
        self.tasks[:, : table.tasks.shape[1]] = table.tasks
        #: [node]: kept for a reservation, beside which nothing is shared; None: there is none.
        self._kept: Bool | None = None
        #: How good rows of the device table are for a request; None: no plugin has a say.
        self.prefer: Callable[[Request, Int], Int] | None = None
        self._taken: dict[int, Int] = {}
        self._wished: dict[int, Int] = {}
        self._names = Names(table)
        taken = np.flatnonzero(here[:, MEMORY] | leaving[:, MEMORY] | promised[:, MEMORY])
        self._write_wholes(taken, np.zeros((3, len(taken)), np.int64))

    def _columns(self, counted: Int) -> Int:
        """Return [device, what is counted] of [what may be counted, device]."""
        return counted[: self._counted].T.copy()

    def part(self, shape: int) -> Part | None:
        """Return the part that a shape asks for."""
        return self.parts[shape]

    def taken(self, shape: int) -> Int:
        """Return [device, what is counted]: what one copy of a shape takes of it."""
        if shape not in self._taken:
            part = self.parts[shape]
            assert part is not None
            self._taken[shape] = self._columns(levels(part, self.table.memory, self._counted))
        return self._taken[shape]

    def _asked(self, shape: int) -> Int:
        """Return [limit, device]: what a copy must find there; more than there is where the device does not serve."""
        if shape not in self._wished:
            wish, part = self._snapshot.shapes[shape].devices, self.parts[shape]
            assert part is not None
            asked = self.taken(shape).T[: self._limits]
            own = self.table.of_side(part.side)
            if wish is not None or own is not None:
                serves = np.ones(len(self.table), np.bool_) if own is None else own
                if wish is not None:
                    serves = serves & self._snapshot.nodes.devices.serving(wish)[self.table.device]
                asked = np.where(serves, asked, NEVER)
            self._wished[shape] = asked
        return self._wished[shape]

    def _mixed(self, shape: int, *books: Int) -> Bool | None:
        """Return [device]: whether somebody in these books computes otherwise than a shape; None: nobody could."""
        if self._counted <= ABREAST:
            return None
        part, there = self.parts[shape], np.sum(books, axis=0)
        assert part is not None
        return np.asarray(there[:, ABREAST] < there[:, SEATS] if part.abreast else there[:, ABREAST] > 0)

    def offers(self, shape: int, when: When, wholes: Int, nodes: Int | None = None, *, beside: bool) -> Offers:
        """Return what nodes (None: all) offer to copies of a shape, of whole devices at most so many each.

        A device that everybody leaves is whole again then; until then nobody joins, for whom would it be kept?
        """
        table, part = self.table, self.parts[shape]
        assert part is not None
        rows: Int | slice = slice(None)
        owner, starts = table.node, table.first
        if nodes is not None:
            counts = table.first[nodes + 1] - table.first[nodes]
            owner = np.repeat(np.arange(len(nodes)), counts)
            starts = np.concatenate([[0], np.cumsum(counts)])
            rows = np.arange(len(owner)) - starts[owner] + table.first[nodes][owner]
            wholes = wholes[nodes]
        books = self._here[rows], self._leaving[rows], self._promised[rows]
        here, leaving, promised = (book[:, : self._limits].T for book in books)
        capacity = self._capacity[:, rows]
        if when is When.LATER:
            spare = left_later(capacity - here - leaving, leaving, promised)
            opens = (here[MEMORY] == 0) & (promised[MEMORY] == 0)
            mixed = self._mixed(shape, books[0], books[2])
        else:
            spare = left_now(capacity - here - leaving, leaving, promised)
            opens = here[MEMORY] == 0
            spare = np.where(opens & (leaving[MEMORY] + promised[MEMORY] > 0), 0, spare)
            mixed = self._mixed(shape, *books)
        if beside and self._kept is not None:
            spare = np.where(self._kept[table.node[rows]], 0, spare)
        if mixed is not None:
            spare = np.where(mixed, 0, spare)
        return Offers(
            starts, owner, np.maximum(spare, 0), self._asked(shape)[:, rows], opens, np.maximum(wholes, 0), part.devices
        )

    def empty(self, shape: int) -> Offers:
        """Return what devices would offer if nobody were there."""
        table, part = self.table, self.parts[shape]
        assert part is not None
        nobody = np.ones(len(table), np.bool_)
        wholes = np.diff(table.first)
        return Offers(table.first, table.node, self._capacity, self._asked(shape), nobody, wholes, part.devices)

    def place(self, request: Request, nodes: Int, wholes: Int, wished: Int | None) -> Int:
        """Return [entry, device]: the devices of copies on these nodes; those that are wished for, if they serve."""
        shape, when, beside = request.shape, request.when, request.beside
        if wished is not None and self.serves(shape, when, wished, wholes, beside=beside):
            return wished
        spread = self._spread if request.placement is None else request.placement == "spread"
        order = np.argsort(nodes, kind="stable")
        some, counts = np.unique(nodes, return_counts=True)
        offers = self.offers(shape, when, wholes, some, beside=beside)
        rows = np.arange(len(offers.owner)) + (self.table.first[some] - offers.starts[:-1])[offers.owner]
        liked = None if self.prefer is None else self.prefer(request, self.table.device[rows])
        found = chosen(offers, counts, spread=spread, liked=liked)
        assert len(found) == len(nodes), "a filter said how many copies fit"
        devices = np.empty_like(found)
        devices[order] = rows[found]
        return devices

    def serves(self, shape: int, when: When, devices: Int, wholes: Int, *, beside: bool) -> bool:
        """Tell whether copies may go to these very devices, entry by entry."""
        part = self.parts[shape]
        if part is None or devices.shape[1] < part.devices or (devices[:, : part.devices] == NOWHERE).any():
            return False
        devices = devices[:, : part.devices]
        ordered = np.sort(devices, axis=1)
        rows, counts = np.unique(devices, return_counts=True)
        nodes = self.table.node[rows]
        some = np.unique(nodes)
        offers = self.offers(shape, when, wholes, some, beside=beside)
        at = rows - self.table.first[nodes] + offers.starts[np.searchsorted(some, nodes)]
        opened = np.bincount(offers.owner[at[offers.opens[at]]], minlength=len(some))
        fits = offers.fits[at] >= counts
        different = (ordered[:, 1:] != ordered[:, :-1]).all()
        return bool(fits.all() and different and (opened <= offers.wholes).all())

    def wholes(self, nodes: Int) -> Int:
        """Return [now or later, node]: how many devices nobody shares or has whole, promises counted later alone."""
        books = self._books
        free = books.free[nodes, 0]
        return np.stack([free, left_later(free, books.leaving[nodes, 0], books.promised[nodes, 0])])

    def sound(self, shape: int, devices: Int, before: Int) -> bool:
        """Tell whether a shape may be on these devices, where it is now, beside all who are there and will be there.

        `before`: the whole devices of their nodes, sorted, before it was put there.
        """
        rows = np.unique(devices)
        here, capacity = self._here[rows], self._capacity.T[rows]
        for book in (here + self._leaving[rows], here + self._promised[rows]):
            mixed = self._mixed(shape, book)
            if (book[:, : self._limits] > capacity).any() or (mixed is not None and mixed.any()):
                return False
        after = self.wholes(np.unique(self.table.node[rows]))
        serves = self._asked(shape)[:, rows] < NEVER
        return bool(serves.all() and ((after >= 0) | (after >= before)).all())

    def occupy(self, shape: int, devices: Int) -> None:
        """Put copies of a shape on devices, entry by entry."""
        self._shift(self._here, devices, self.taken(shape))

    def promise(self, shape: int, devices: Int) -> None:
        """Keep devices for copies of a shape."""
        self._shift(self._promised, devices, self.taken(shape))

    def release(self, shape: int, tasks: Int) -> None:
        """Give up the devices that were kept for tasks of a shape."""
        part = self.parts[shape]
        if part is not None:
            self._shift(self._promised, self.tasks[tasks, : part.devices], -self.taken(shape))

    def vacate(self, shapes: Int, running: Int) -> None:
        """Let tasks of the running table leave: what they take of devices will be free."""
        # A loop over the shapes that take part of a device, of those that leave at once.
        for shape in distinct(shapes).tolist():
            part = self.parts[shape]
            if part is not None:
                devices = self.table.running[running[shapes == shape], : part.devices]
                before = self._state(devices[devices != NOWHERE])
                self._change(self._here, devices, -self.taken(shape))
                self._change(self._leaving, devices, self.taken(shape))
                self._write_wholes(np.unique(devices[devices != NOWHERE]), before)

    def keep(self, nodes: Int, parts: list[tuple[int, Int]]) -> None:
        """Let nothing be shared on these nodes beside a reservation, which has these parts there."""
        self._kept = np.zeros(len(self.table.first) - 1, np.bool_)
        self._kept[nodes] = True
        for shape, where in parts:
            part = self.parts[shape]
            if part is not None and self._books.slack is not None:
                np.add.at(self._books.slack[:, 0], where, -part.devices)

    def forget(self) -> None:
        """Forget the reservation."""
        self._kept = None

    def named(self, shapes: Int, devices: Int) -> list[tuple[str, ...]]:
        """Return the ids of the groups on the devices of tasks of these shapes, entry by entry; () for who has none."""
        counts = self._counts[shapes]
        if (counts == 1).all():
            return [self._names[row] for row in devices[:, 0].tolist()]
        rows = zip(devices.tolist(), counts.tolist(), strict=True)
        return [tuple([name for row in some[:count] for name in self._names[row]]) for some, count in rows]

    def rows(self, node: int, names: tuple[str, ...]) -> list[int]:
        """Return the devices of a node by the ids of their groups; NOWHERE for one that is none of its."""
        first, last = self.table.first[node : node + 2].tolist()
        known = {self._names[row][0]: row for row in range(first, last)}
        return [known.get(name, NOWHERE) for name in names]

    def _shift(self, book: Int, devices: Int, cost: Int) -> None:
        before = self._state(devices[devices != NOWHERE])
        self._change(book, devices, cost)
        self._write_wholes(np.unique(devices[devices != NOWHERE]), before)

    def _change(self, book: Int, devices: Int, cost: Int) -> None:
        rows = devices[devices != NOWHERE]
        # A loop over what is counted, which is mostly one thing: sums of columns are formed faster than those of rows.
        for column in range(self._counted):
            self._journal.shift(book[:, column], rows, cost[rows, column])

    def _state(self, devices: Int) -> Int:
        """Return [free, leaving or promised; device]: what devices count in the books of whole ones."""
        rows = np.unique(devices)
        here, leaving, promised = (book[rows, MEMORY] > 0 for book in (self._here, self._leaving, self._promised))
        usable = self.table.usable[rows]
        taken, left, kept = (here | leaving) & usable, leaving & ~here & usable, promised & ~here & usable
        return np.stack([-taken.astype(np.int64), left.astype(np.int64), kept.astype(np.int64)])

    def _write_wholes(self, rows: Int, before: Int) -> None:
        """Bring the books of whole devices in step with these devices, each of which stands there once."""
        changed = self._state(rows) - before
        for book, more in zip((self._books.free, self._books.leaving, self._books.promised), changed, strict=True):
            some = np.flatnonzero(more)
            if len(some):
                self._journal.shift(book, self.table.node[rows[some]], more[some][:, None])
