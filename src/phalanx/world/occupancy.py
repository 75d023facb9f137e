"""Occupancy: what is on each node, as counts per shape. Only dirty nodes are counted again."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from phalanx.model.axis import Int
from phalanx.model.snapshot import Occupancy
from phalanx.model.task import Shape

#: Shapes that are on no node any more keep their numbers until there are so many of them.
UNUSED_MAX = 1024


@dataclass(slots=True)
class Counts:
    """Pods of one shape on one node, or on their way there."""

    here: int = 0
    leaving: int = 0
    promised: int = 0
    #: Nominated there by other schedulers.
    foreign: int = 0


@dataclass(slots=True)
class Occupancies:
    """Keeps the counts of every node."""

    _counts: dict[str, Mapping[Shape, Counts]] = field(default_factory=dict[str, Mapping[Shape, Counts]])
    #: Per node: shape number and the four counts, [5, row].
    _rows: dict[str, Int] = field(default_factory=dict[str, Int])
    _number: dict[Shape, int] = field(default_factory=dict[Shape, int])
    _last: tuple[tuple[str, ...], tuple[Shape, ...], Occupancy, tuple[Shape, ...]] | None = None

    def put(self, node: str, counts: Mapping[Shape, Counts]) -> None:
        """Replace the counts of one node."""
        if self._counts.get(node, {}) == counts:
            return
        self._last = None
        self._counts[node] = counts
        self._rows[node] = np.array(
            [
                [self._number.setdefault(shape, len(self._number)) for shape in counts],
                *([getattr(one, name) for one in counts.values()] for name in _COUNTS),
            ],
            np.int64,
        ).reshape(5, len(counts))

    def forget_all_but(self, nodes: Iterable[str]) -> None:
        """Forget every node but these."""
        for gone in set(self._counts) - set(nodes):
            del self._counts[gone], self._rows[gone]
            self._last = None

    def table(self, nodes: tuple[str, ...], known: tuple[Shape, ...]) -> tuple[Occupancy, tuple[Shape, ...]]:
        """Return the table, and the shapes: those that are known, then the others on nodes by first use."""
        if self._last is not None and self._last[0] is nodes and self._last[1] == known:
            return self._last[2], self._last[3]
        self._forget()
        blank = np.zeros((5, 0), np.int64)
        parts = [self._rows.get(name, blank) for name in nodes]
        node = np.repeat(np.arange(len(nodes)), [part.shape[1] for part in parts])
        number, *counts = np.concatenate([blank, *parts], axis=1)
        row_of, shapes = self._renumbered(known, number, node)
        shape = row_of[number]
        order = np.argsort(node * max(len(shapes), 1) + shape, kind="stable")
        table = Occupancy(node[order], shape[order], *(count[order] for count in counts))
        self._last = (nodes, known, table, shapes)
        return table, shapes

    def _renumbered(self, known: tuple[Shape, ...], number: Int, node: Int) -> tuple[Int, tuple[Shape, ...]]:
        """Return the row of each shape number, so that the table does not tell how it came to be."""
        rows = {shape: row for row, shape in enumerate(known)}
        used, first = np.unique(number, return_index=True)
        every = list(self._number)
        fresh = [(int(node[at]), every[one]) for one, at in zip(used.tolist(), first.tolist(), strict=True)]
        more: Sequence[tuple[int, Shape]] = [pair for pair in fresh if pair[1] not in rows]
        if len({at for at, _ in more}) < len(more):
            more = sorted(more, key=lambda pair: (pair[0], repr(pair[1])))
        else:
            more = sorted(more, key=lambda pair: pair[0])
        for _, shape in more:
            rows[shape] = len(rows)
        row_of = np.full(len(every), -1)
        row_of[used] = [rows[every[one]] for one in used.tolist()]
        return row_of, tuple(rows)

    def _forget(self) -> None:
        """Give numbers anew when most of them are not used any more."""
        live = {shape for counts in self._counts.values() for shape in counts} if self._crowded else None
        if live is not None and len(self._number) > 2 * len(live) + UNUSED_MAX:
            every, self._number, old = self._counts, {}, self._rows
            self._counts, self._rows = {}, {}
            del old
            for name, counts in every.items():
                self.put(name, counts)

    @property
    def _crowded(self) -> bool:
        return len(self._number) > UNUSED_MAX + 4 * len(self._counts)


_COUNTS = ("here", "leaving", "promised", "foreign")
