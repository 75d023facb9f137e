"""The ledger: the one place where a session charges, promises and gives back, for every column alike.

Whatever placing takes, a promise keeps and an eviction gives back, without a line of the plugin that declared it.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from phalanx.engine.session.column import AMOUNTS, Books, Column, amounts, open_books
from phalanx.engine.session.journal import Journal
from phalanx.engine.session.left import left_later, left_now
from phalanx.engine.session.request import When
from phalanx.model.axis import Bool, Int
from phalanx.model.snapshot import Snapshot

#: All rows of a column.
EVERY = slice(None)
#: Tasks with a promise: the shape and the node of each.
Promise = tuple[Int, Int]


class Standing(NamedTuple):
    """Counts of the pods in each row of a column.

    Now: those that this plan evicts still stand, and what is promised counts in neither of the first two. Later: what
    leaves has left, and what is promised is there.
    """

    #: Without those that terminate.
    stays: Int
    #: With them.
    here: Int
    #: To others.
    promised: Int


class Ledger:
    """The books of all columns. Every change is in the journal."""

    def __init__(self, snapshot: Snapshot, journal: Journal, columns: Iterable[Column]) -> None:
        self._journal = journal
        self._occupancy = snapshot.occupancy
        self._priority = np.array([shape.priority for shape in snapshot.shapes], np.int64)
        #: Those that were looked at or changed. A column is counted when it first is: nobody changed it before.
        self._books = {AMOUNTS: amounts(snapshot)}
        self._columns = {AMOUNTS: self._books[AMOUNTS].column, **{column.name: column for column in columns}}
        #: By shape: the columns of which it takes some.
        self._taken: dict[int, tuple[str, ...]] = {}
        self._reserved: tuple[Promise, list[tuple[int, Int]]] | None = None
        #: Some place is promised.
        self._promising = bool(snapshot.occupancy.promised.any())
        self.foreign = bool(snapshot.occupancy.foreign.any())
        self._foreign: dict[tuple[str, int], Int] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all columns."""
        return tuple(self._columns)

    def books(self, name: str = AMOUNTS) -> Books:
        """Return the books of one column."""
        books = self._books.get(name)
        if books is None:
            books = self._books[name] = open_books(self._columns[name], self._occupancy)
            if self._reserved is not None:
                books.slack = _slack(books, *self._reserved)
        return books

    def taken_by(self, shape: int) -> tuple[str, ...]:
        """Return the columns of which a shape takes some."""
        names = self._taken.get(shape)
        if names is None:
            names = self._taken[shape] = tuple(name for name, one in self._columns.items() if one.takes[shape])
        return names

    def counted_in_domains(self, shape: int) -> bool:
        """Tell whether some column counts a shape in domains of nodes."""
        return any(self._columns[name].row_of is not None for name in self.taken_by(shape))

    def occupy(self, shape: int, nodes: Int, counts: Int, *, beside: bool) -> None:
        """Put copies of a shape on nodes, each of which stands there once."""
        for books, rows, cost in self._costs(shape, nodes, counts):
            self._change(books.to_change("free"), rows, -cost)
            if beside and books.slack is not None:
                self._change(books.slack, rows, -cost)

    def promise(self, shape: int, nodes: Int, counts: Int, *, beside: bool) -> None:
        """Keep places for copies of a shape."""
        self._promising = True
        for books, rows, cost in self._costs(shape, nodes, counts):
            self._change(books.to_change("promised"), rows, cost)
            if beside and books.slack is not None:
                self._change(books.slack, rows, -cost)

    def release(self, shape: int, nodes: Int, counts: Int) -> None:
        """Give up places that were kept for copies of a shape."""
        for books, rows, cost in self._costs(shape, nodes, counts):
            self._change(books.to_change("promised"), rows, -cost)
            if books.slack is not None:
                self._change(books.slack, rows, cost)

    def vacate(self, shapes: Int, nodes: Int, lasting: Bool | None = None) -> None:
        """Let tasks on nodes leave: what they take will be free.

        `lasting`: which would still be there when the reservation is needed; what they leave is free beside it.
        """
        kinds = shapes if len(shapes) == 1 else np.unique(shapes)
        for name in dict.fromkeys(name for shape in kinds.tolist() for name in self.taken_by(shape)):
            books = self.books(name)
            takes = books.column.takes[shapes]
            self._add(books, books.to_change("leaving"), shapes[takes], nodes[takes])
            if lasting is not None and books.slack is not None:
                stays = takes & lasting
                self._add(books, books.slack, shapes[stays], nodes[stays])

    def reserve(self, gone: Promise, places: Iterable[tuple[int, Int]]) -> None:
        """Note what is left beside a reservation when it is needed: these are gone, and it has its places.

        On other nodes there is no bound.
        """
        self._reserved = gone, list(places)
        for books in self._books.values():
            books.slack = _slack(books, *self._reserved)
        self._journal.renew()

    def unreserve(self) -> None:
        """Forget the reservation: all that is free counts again."""
        self._reserved = None
        for books in self._books.values():
            books.slack = None
        self._journal.renew()

    def spare(
        self,
        name: str,
        counts: int | slice,
        when: When,
        own: Promise | None,
        priority: int,
        *,
        beside: bool,
        rows: Int | slice = EVERY,
    ) -> Int:
        """Return what a request may take of one count of a column, per row, or of some counts: [row, count].

        `own`: what is promised to the request's own gang, which does not count against it. Promises of other
        schedulers count for requests of their priority and below. `rows`: only these, for whom nothing may be
        promised to its own gang.
        """
        books = self.books(name)
        free, promised = books.free[rows, counts], None
        if self._promising or self.foreign:
            promised = books.promised[rows, counts]
            if self.foreign:
                promised = promised + self._promised_by_others(books, priority)[rows, counts]
            if own is not None:
                promised = promised.copy()
                self._subtract(books, promised, counts, own)
        if promised is not None:
            left = left_later if when is When.LATER else left_now
            free = left(free, books.leaving[rows, counts], promised)
        elif when is When.LATER:
            free = free + books.leaving[rows, counts]
        if beside and books.slack is not None:
            free = np.minimum(free, books.slack[rows, counts])
        return free

    def standing(self, name: str, when: When, own: Promise | None, priority: int) -> Standing:
        """Return what is counted in each row of a column of one count, as its pods are here, leave or are promised."""
        books = self.books(name)
        promised = books.promised[:, 0]
        if self.foreign:
            promised = promised + self._promised_by_others(books, priority)[:, 0]
        if own is not None:
            promised = promised.copy()
            self._subtract(books, promised, 0, own)
        here, leaving = books.column.capacity[:, 0] - books.free[:, 0], books.leaving[:, 0]
        if when is When.LATER:
            return Standing(here - leaving + promised, here - leaving + promised, promised)
        return Standing(here - books.began[:, 0], here, promised)

    def counted(self, name: str, when: When, own: Promise | None, priority: int) -> Int:
        """Return [row, count]: what a column counts of pods that are there and of places that are promised.

        Now: those that leave are there. A sum over pods, so that counts may be sums of anything.
        """
        books = self.books(name)
        there = books.column.capacity - books.free + books.promised
        if when is When.LATER:
            there = there - books.leaving
        if self.foreign:
            there = there + self._promised_by_others(books, priority)
        if own is not None:
            self._subtract(books, there, EVERY, own)
        return there

    def _subtract(self, books: Books, promised: Int, counts: int | slice, own: Promise) -> None:
        shapes, nodes = own
        rows = books.column.rows(nodes)
        known = rows >= 0
        np.add.at(promised, rows[known], -books.column.footprint[shapes[known], counts])

    def _promised_by_others(self, books: Books, priority: int) -> Int:
        """Return [row, count]: what other schedulers' pods of this priority and above are nominated to."""
        key = (books.column.name, priority)
        if key not in self._foreign:
            table = self._occupancy
            counts = (table.foreign > 0) & (self._priority[table.shape] >= priority)
            total = np.zeros(books.free.shape, np.int64)
            rows = books.column.rows(table.node[counts])
            costs = table.foreign[counts][:, None] * books.column.footprint[table.shape[counts]]
            np.add.at(total, rows[rows >= 0], costs[rows >= 0])
            self._foreign[key] = total
        return self._foreign[key]

    def _costs(self, shape: int, nodes: Int, counts: Int) -> Iterable[tuple[Books, Int, Int]]:
        """Yield, for each column that the shape takes some of: its books, rows (each once) and amounts."""
        for name in self.taken_by(shape):
            books = self.books(name)
            footprint, rows, times = books.column.footprint[shape], nodes, counts
            if books.column.row_of is not None:
                every = books.column.row_of[nodes]
                rows, at = np.unique(every[every >= 0], return_inverse=True)
                times = np.bincount(at, counts[every >= 0], len(rows)).astype(np.int64)
            yield books, rows, times[:, None] * footprint

    def _change(self, array: Int, rows: Int, amounts: Int) -> None:
        self._journal.write(array, rows, array[rows] + amounts)

    def _add(self, books: Books, array: Int, shapes: Int, nodes: Int) -> None:
        if books.column.row_of is None:
            self._journal.shift(array, nodes, books.column.footprint[shapes])
            return
        rows = books.column.rows(nodes)
        known = rows >= 0
        self._journal.shift(array, rows[known], books.column.footprint[shapes[known]])


def _slack(books: Books, gone: Promise, places: list[tuple[int, Int]]) -> Int:
    """Return what is left of a column once these are gone and the reserved places are taken; elsewhere no bound."""
    column = books.column
    later = left_later(books.free, books.leaving, books.promised)
    rows = column.rows(gone[1])
    np.add.at(later, rows[rows >= 0], column.footprint[gone[0]][rows >= 0])
    for shape, where in places:
        rows = column.rows(where)
        np.add.at(later, rows[rows >= 0], -column.footprint[shape])
    rows = np.unique(column.rows(np.unique(np.concatenate([where for _, where in places]))))
    rows = rows[rows >= 0]
    slack = np.full(later.shape, np.int64(2**62), order="F")
    slack[rows] = later[rows]
    return slack
