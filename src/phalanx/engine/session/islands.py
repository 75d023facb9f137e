"""Islands: what is left inside nodes in one layer, link groups or NUMA nodes. The ledger has the totals.

A task lies on as few islands as it can, with an equal piece on each. Where it will lie is worked out as the kubelet
would, so that as many find room at once as would one after the other.
"""

from typing import NamedTuple

import numpy as np

from phalanx.engine.session.journal import Journal
from phalanx.engine.session.left import left_later, left_now
from phalanx.engine.session.parts import Offers, chosen
from phalanx.engine.session.request import When
from phalanx.engine.session.rows import distinct
from phalanx.model.axis import Bool, Int
from phalanx.model.island import NUMA, IslandTable, Rule, fits, piece
from phalanx.model.sharing import NEVER, NOWHERE
from phalanx.model.snapshot import Snapshot

#: Room where nothing is known that would bound it: of no copy, sums over all nodes wrap.
_ANY = 2**31


class _Shape(NamedTuple):
    """What one copy of a shape asks of islands; static."""

    ask: Int
    #: [node]: on how many islands of an empty node it fits at least; 0: on none.
    least: Int
    #: [node]: it is known how everything that it asks for is divided there.
    known: Bool


class Islands:
    """The books of one layer. Every change is in the journal."""

    def __init__(self, snapshot: Snapshot, table: IslandTable, journal: Journal) -> None:
        self.table = table
        self._journal = journal
        self._nodes = len(snapshot.nodes)
        self._parts = np.array([shape.part is not None for shape in snapshot.shapes], np.bool_)
        self._free = table.capacity - table.here - table.leaving
        self._leaving, self._promised = table.leaving.copy(), table.promised.copy()
        #: [waiting task, place]: the islands that it has, or that are or were promised to it.
        self.tasks = table.tasks.copy()
        #: [node]: kept for a reservation; None: there is none.
        self._kept: Bool | None = None
        self._shapes: dict[int, _Shape] = {}

    def spans(self, shape: int) -> bool:
        """Tell whether it matters to a shape on how many islands it lies: it is more than one device."""
        ask = self.table.asks[shape]
        return bool(not self._parts[shape] and ((ask > self.table.units).any() or (ask > 0).sum() > 1))

    def minds(self, shape: int, *, insist: bool = False) -> Bool:
        """Return [node]: a copy that would lie across islands is refused there, by node, shape or (insist) policy."""
        divided, always = np.diff(self.table.first) > 0, insist or bool(self.table.wants[shape])
        return np.asarray(divided & ((self.table.rule >= Rule.LEAST) | always), np.bool_)

    def known(self, shape: int) -> Bool:
        """Return [node]: it is known how everything that a shape asks for is divided there."""
        return self._asked(shape).known

    def ceiling(self, shape: int, *, insist: bool = False) -> Int:
        """Return [node]: how many copies may be there if nobody were."""
        room = self.room(shape, None, beside=False, insist=insist)
        return np.full(self._nodes, _ANY) if room is None else room

    def room(self, shape: int, when: When | None, *, beside: bool, insist: bool = False) -> Int | None:
        """Return [node]: how many copies may be there (None: if nobody were); or None: nobody minds where.

        `insist`: on every node they lie on as few islands as they must.
        """
        wants, minds = bool(self.table.wants[shape]), self.minds(shape, insist=insist)
        if not self.spans(shape) or not (wants or minds.any()):
            return None
        asked, spare = self._asked(shape), self.table.capacity if when is None else self._spare(when)
        islands = np.where(wants | (self.table.rule == Rule.ONE), 1, asked.least)
        room = np.where(minds, 0, _ANY)
        # A loop over the numbers of islands of which there is one on most clusters.
        for count in distinct(islands[minds & (islands > 0)]).tolist():
            where = minds & (islands == count)
            room = np.where(where, self._copies(asked.ask, spare, count), room)
        if wants:
            room = np.where(asked.known, room, 0)
        if beside and self._kept is not None and when is not None:
            room = np.where(self._kept & minds, 0, room)
        return np.minimum(room, _ANY)

    def aligned(self, shape: int, when: When) -> Int:
        """Return [node]: how many copies are known to fit without lying across more islands than they must."""
        asked, spare, found = self._asked(shape), self._spare(when), np.zeros(self._nodes, np.int64)
        for count in distinct(asked.least[asked.known & (asked.least > 0)]).tolist():
            where = asked.known & (asked.least == count)
            found = np.where(where, self._copies(asked.ask, spare, count), found)
        return found

    def place(self, shape: int, when: When, nodes: Int) -> Int:
        """Return [entry, place]: the islands of copies on these nodes, as if they came one by one."""
        table, ask = self.table, self.table.asks[shape]
        order = np.argsort(nodes, kind="stable")
        some, counts = np.unique(nodes, return_counts=True)
        own = np.diff(table.first)[some]
        starts = np.concatenate([[0], np.cumsum(own)])
        owner = np.repeat(np.arange(len(some)), own)
        rows = np.arange(len(owner)) - starts[owner] + table.first[some][owner]
        spare = self._spare(when)[rows]
        found = np.full((len(nodes), table.width), NOWHERE)
        begin, done = np.cumsum(counts) - counts, np.zeros(len(some), np.int64)
        # A loop over numbers of islands, never over nodes; mostly all copies are placed in the first turn.
        for islands in range(1, table.width + 1):
            part = piece(ask, table.units, islands)
            offers = _offers(starts, owner, fits(spare, part), islands)
            now = np.minimum(offers.room(offers.spare), counts - done)
            if now.any():
                picked = self._picked(offers, now)
                of = offers.owner[picked[:, 0]]
                at = begin[of] + done[of] + np.arange(len(of)) - (np.cumsum(now) - now)[of]
                found[at, :islands] = rows[picked]
                np.add.at(spare, picked.ravel(), -part)
                done = done + now
        # Who fits nowhere lies on all of them: the total says that there is room.
        left = np.repeat(np.arange(len(some)), counts - done)
        at = begin[left] + done[left] + np.arange(len(left)) - (np.cumsum(counts - done) - (counts - done))[left]
        columns = np.arange(table.width)
        found[at] = np.where(columns < own[left][:, None], table.first[some][left][:, None] + columns, NOWHERE)
        placed = np.empty_like(found)
        placed[order] = found
        return placed

    def occupy(self, shape: int, islands: Int) -> None:
        """Put copies of a shape on islands, entry by entry."""
        self._shift(self._free, shape, islands, -1)

    def promise(self, shape: int, islands: Int) -> None:
        """Keep islands for copies of a shape."""
        self._shift(self._promised, shape, islands, 1)

    def release(self, shape: int, tasks: Int) -> None:
        """Give up what was kept for tasks of a shape."""
        self._shift(self._promised, shape, self.tasks[tasks], -1)

    def vacate(self, shapes: Int, running: Int) -> None:
        """Let tasks of the running table leave: what they take will be free."""
        # A loop over the shapes of those that leave at once.
        for shape in distinct(shapes).tolist():
            self._shift(self._leaving, shape, self.table.running[running[shapes == shape]], 1)

    def keep(self, nodes: Int) -> None:
        """Let nothing that minds come beside a reservation on these nodes."""
        self._kept = np.zeros(self._nodes, np.bool_)
        self._kept[nodes] = True

    def forget(self) -> None:
        """Forget the reservation."""
        self._kept = None

    def _asked(self, shape: int) -> _Shape:
        if shape not in self._shapes:
            table, ask = self.table, self.table.asks[shape]
            least = np.zeros(self._nodes, np.int64)
            for islands in range(table.width, 0, -1):
                least[self._copies(ask, table.capacity, islands) > 0] = islands
            described = (table.capacity[:, ask > 0] < NEVER).all(axis=1)
            known = np.bincount(table.node[described], minlength=self._nodes) > 0
            self._shapes[shape] = _Shape(ask, least, known)
        return self._shapes[shape]

    def _spare(self, when: When) -> Int:
        if when is When.LATER:
            return left_later(self._free, self._leaving, self._promised)
        return left_now(self._free, self._leaving, self._promised)

    def _copies(self, ask: Int, spare: Int, islands: int) -> Int:
        """Return [node]: how many copies fit, each of which lies on so many islands."""
        table = self.table
        offers = _offers(table.first, table.node, fits(spare, piece(ask, table.units, islands)), islands)
        return offers.room(offers.spare[0])

    def _picked(self, offers: Offers, counts: Int) -> Int:
        """Return [entry, island] of so many copies per node, node by node."""
        if offers.devices == 1 and self.table.layer == NUMA:
            # The lowest number first, whatever is left there.
            takes = np.minimum(offers.spare[0], counts[offers.owner])
            before = np.concatenate([[0], np.cumsum(takes)])
            takes = np.clip(counts[offers.owner] - (before[:-1] - before[offers.starts[:-1]][offers.owner]), 0, takes)
            return np.repeat(np.arange(len(takes)), takes)[:, None]
        return chosen(offers, counts, spread=False)

    def _shift(self, book: Int, shape: int, islands: Int, sign: int) -> None:
        held = (islands != NOWHERE).sum(axis=1)
        for count in distinct(held[held > 0]).tolist():
            rows = islands[held == count, :count].ravel()
            part = piece(self.table.asks[shape], self.table.units, count)
            self._journal.shift(book, rows, np.tile(sign * part, (len(rows), 1)))


def _offers(starts: Int, owner: Int, copies: Int, islands: int) -> Offers:
    """Return islands as if they were devices, each of which takes so many copies."""
    copies = np.minimum(copies, _ANY)
    no, nothing = np.zeros(len(copies), np.bool_), np.zeros(len(starts) - 1, np.int64)
    return Offers(starts, owner, copies[None], np.ones_like(copies)[None], no, nothing, islands)
