"""Columns: what a placement takes, as counts. The ledger does all arithmetic on them; a plugin only declares them.

A column has rows (nodes, or domains of nodes) and some counts per row. One copy of a shape takes its footprint.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from phalanx.model.axis import Bool, Int
from phalanx.model.snapshot import Occupancy, Snapshot

#: The column of amounts, [node, resource].
AMOUNTS = "amounts"


@dataclass(frozen=True, slots=True)
class Column:
    """Counts per row, never flags: what is taken twice and given back once is still taken."""

    name: str
    #: [shape, count]: what one copy of a shape takes.
    footprint: Int
    #: [row, count]: how much there is; zeros where only what is taken counts.
    capacity: Int
    #: [node]: its row, or -1 for none; None: rows are nodes.
    row_of: Int | None = None
    #: [shape]: it takes some.
    takes: Bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Look once at who takes some."""
        object.__setattr__(self, "takes", np.asarray(self.footprint.any(axis=1)))

    def rows(self, nodes: Int) -> Int:
        """Return the row of each node, -1 for none."""
        return nodes if self.row_of is None else self.row_of[nodes]


@dataclass(slots=True)
class Books:
    """One column's state in a session, [row, count] each."""

    column: Column
    #: The capacity less everything on nodes, what is leaving too.
    free: Int
    leaving: Int
    #: To pods of ours. May lie in `free` or in `leaving`.
    promised: Int
    #: What is left beside the reservation when it is needed; None while there is none.
    slack: Int | None = None
    #: What was leaving when the session began; of domains alone.
    began: Int = field(init=False, repr=False)
    #: Arrays that are the snapshot's until they change.
    _shared: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        """Keep what is leaving now, where pods are counted in domains."""
        self.began = self.leaving if self.column.row_of is None else self.leaving.copy()

    def to_change(self, name: Literal["free", "leaving", "promised"]) -> Int:
        """Return an array that may be written. Most cycles change few, and copies of all nodes take time."""
        array: Int = getattr(self, name)
        if name in self._shared:
            self._shared.discard(name)
            array = array.copy(order="F")
            setattr(self, name, array)
        return array


def open_books(column: Column, occupancy: Occupancy) -> Books:
    """Return the books of a column, counted afresh from what is on the nodes."""
    takes = column.takes[occupancy.shape]
    on, shape = column.rows(occupancy.node[takes]), occupancy.shape[takes]
    known = on >= 0

    def counted(counts: Int) -> Int:
        total = np.zeros(column.capacity.shape, np.int64, order="F")
        np.add.at(total, on[known], (counts[takes][:, None] * column.footprint[shape])[known])
        return total

    leaving = counted(occupancy.leaving)
    free = np.asfortranarray(column.capacity - counted(occupancy.here) - leaving)
    return Books(column, free, leaving, counted(occupancy.promised))


def amounts(snapshot: Snapshot) -> Books:
    """Return the books of the amounts, which the snapshot has added up already."""
    nodes = snapshot.nodes
    column = Column(AMOUNTS, snapshot.requests, nodes.allocatable)
    return Books(column, nodes.free, nodes.leaving, nodes.promised, _shared={"free", "leaving", "promised"})
