"""SharedDevices: tasks that ask for a part of a GPU share one, and never more of it than there is."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.plugin import UNLIMITED, Plugin
from phalanx.engine.session.column import Column
from phalanx.engine.session.devices import WHOLE_DEVICES, whole_devices
from phalanx.engine.session.parts import Offers
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.engine.session.taking import offered, with_own_devices
from phalanx.model.axis import MEMORY as BYTES
from phalanx.model.axis import Bool, Float, Int
from phalanx.model.quantity import QuantityError, capacity, written
from phalanx.model.queue import Placement
from phalanx.model.sharing import CORES, MEMORY, MIB, NEVER, RESOURCE, WHOLE, Part, SharedTable, Sharing, levels
from phalanx.model.snapshot import Snapshot

#: Why a node has no room for a part.
_NONE, _UNKNOWN, _SMALL, _FEW, _SHORT, _BARRED, _CORES = range(7)

_ASK_FOR_ALL = f"whose device plugin must be told which {RESOURCE} is whose: ask for all of it there in its own words"


@dataclass(frozen=True, slots=True)
class SharedDevices(Plugin):
    """Count how many copies fit on devices that are shared, and on those that may be; of whole ones what is left.

    A node on which a copy joins others on a device scores 1, one on which it would break into a whole device 0.
    """

    #: Tightest device first, or emptiest first. A queue's own word comes before it.
    placement: Placement = "pack"
    #: Memory of a device where its node does not say it; 0: requests by memory find no room there.
    assumed_memory: str = "0"
    name: ClassVar[str] = "shared_devices"
    reads: ClassVar[tuple[str, ...]] = ("requests", "part")

    def __post_init__(self) -> None:
        try:
            capacity(self.assumed_memory, BYTES)
        except QuantityError as error:
            raise ValueError(f"assumedMemory: {error}") from None

    def sharing(self) -> Sharing:
        """Return how parts are put on devices."""
        return Sharing(capacity(self.assumed_memory, BYTES), self.placement)

    def columns(self, snapshot: Snapshot) -> Sequence[Column]:
        """Return the devices that nobody shares, where somebody shares or wants to."""
        return () if snapshot.shared is None else (whole_devices(snapshot),)

    def room(self, session: Session, request: Request) -> Int | None:
        """Return how many copies fit; where nobody shares any device there is nothing to say."""
        if session.devices is None:
            return None
        if session.devices.parts[request.shape] is not None:
            return with_own_devices(session, request.gang, lambda: _room(session, request))
        ask = _asked(session, request)
        if not ask:
            return None
        wholes = with_own_devices(session, request.gang, lambda: session.spare(request, 0, WHOLE_DEVICES))
        return np.where(_sided(session.devices.table), 0, np.maximum(wholes // ask, 0))

    def ceiling(self, session: Session, request: Request) -> Int:
        """Return how many copies the devices hold if nobody else is there."""
        snapshot, books = session.snapshot, session.devices
        if books is None:
            return np.full(len(snapshot.nodes), UNLIMITED, np.int64)
        whole = session.ledger.books(WHOLE_DEVICES).column.capacity[:, 0] + books.table.stray
        if books.parts[request.shape] is None:
            ask = _asked(session, request)
            if not ask:
                return np.full(len(snapshot.nodes), UNLIMITED, np.int64)
            return np.where(_sided(books.table), 0, whole // ask)
        offers = books.empty(request.shape)
        return offers.room(offers.copies)

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Count nodes without devices for it, with devices too small for it, and with too little left."""
        books = session.devices
        assert books is not None
        part = books.parts[request.shape]
        if part is None:
            sided = int(_sided(books.table)[nodes].sum())
            told = [(len(nodes) - sided, f"short of {RESOURCE} that nobody shares"), (sided, _ASK_FOR_ALL)]
            return [(count, text) for count, text in told if count]
        empty = books.empty(request.shape)
        large = empty.room(empty.copies) > 0
        causes = _causes(part, books.table, large, offered(session, request))[nodes]
        each, count = np.unique(causes, axis=0, return_counts=True)
        counts: Counter[str] = Counter()
        for (cause, figure), times in zip(each.tolist(), count.tolist(), strict=True):
            counts[_words(part, cause, figure)] += times
        return [(count, text) for text, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]

    def limits(self, session: Session, request: Request, nodes: Int) -> str:
        """Say what bounds the copies on nodes that take some."""
        del nodes
        books = session.devices
        part = books.parts[request.shape] if books is not None else None
        return (
            f"short of {RESOURCE} with {_said(part)} left" if part is not None else f"{RESOURCE} are shared by others"
        )

    def score(self, session: Session, request: Request, nodes: Int, copies: Int) -> Float | None:
        """Return 1 where the next copy joins others on their devices, else 0."""
        if session.devices is None or session.devices.parts[request.shape] is None:
            return None
        key = ("beside others", request.shape, session.view(request))
        beside = session.once(key, lambda: with_own_devices(session, request.gang, lambda: _beside(session, request)))
        return np.asarray(copies < beside[nodes], np.float64)


def _asked(session: Session, request: Request) -> int:
    """Return how many whole devices a copy asks for."""
    return int(session.ledger.books(WHOLE_DEVICES).column.footprint[request.shape, 0])


def _room(session: Session, request: Request) -> Int:
    offers = offered(session, request)
    return offers.room(offers.copies)


def _beside(session: Session, request: Request) -> Int:
    """Return [node]: how many copies fit on devices that others share already."""
    offers = offered(session, request)
    return offers.room(np.where(offers.opens, 0, offers.copies))


def _sided(table: SharedTable) -> Bool:
    """Return [node]: whether some program on it must be told which device is whose."""
    sided = np.zeros(len(table.first) - 1, np.bool_)
    own = table.of_side("")
    if own is not None:
        sided[table.node[~own]] = True
    return sided


def _causes(part: Part, table: SharedTable, large: Bool, offers: Offers) -> Int:
    """Return [node, 2]: why it has no room for a part, and the figure that goes with it."""
    nodes = len(table.first) - 1
    causes = np.zeros((nodes, 2), np.int64)
    some = np.flatnonzero(np.diff(table.first))
    if not len(some):
        return causes
    starts = table.first[some]
    spare = np.where(offers.opens & (offers.wholes[offers.owner] == 0), 0, offers.spare)
    # The first device of each node of which the part leaves most.
    cost = levels(part, table.memory)[MEMORY]
    cores = spare[CORES] if len(spare) > CORES else np.full(len(cost), WHOLE)
    lacks = (cost <= spare[MEMORY]) & (cores < max(part.cores, 1))
    rank = np.where(lacks, NEVER, spare[MEMORY] * (WHOLE if part.memory else 1) // np.maximum(cost, 1))
    best = np.lexsort((-rank, np.repeat(np.arange(nodes), np.diff(table.first))))[starts]
    left = spare[MEMORY, best]
    left = left // WHOLE * MIB if part.memory else left // np.maximum(table.memory[best], 1)
    largest = np.maximum.reduceat(table.memory, starts)
    small = np.where(largest > 0, _SMALL, _UNKNOWN) if part.memory else np.full(len(some), _FEW)
    causes[some, 0] = np.where(large[some], _SHORT, small)
    causes[some, 1] = np.where(large[some], left, np.where(small == _SMALL, largest, 0))
    few = large[some] & lacks[best]
    causes[some[few], 0] = _CORES
    causes[some[few], 1] = cores[best[few]]
    own = table.of_side(part.side)
    if own is not None:
        causes[table.node[~own]] = (_BARRED, 0)
    return causes


def _words(part: Part, cause: int, figure: int) -> str:
    """Say why nodes have no room for a part."""
    most = written(figure, BYTES if part.memory else RESOURCE)
    return {
        _NONE: f"without {RESOURCE}",
        _UNKNOWN: f"on which the memory of {RESOURCE} is not known",
        _BARRED: f"whose device plugin gives out {'no such' if part.side else 'its own'} parts of {RESOURCE}",
        _CORES: f"short of {RESOURCE} with {_said(part)} left (most of the cores of one: {figure / WHOLE:g})",
        _SMALL: f"too small in {RESOURCE} ({_said(part)} asked, largest {written(figure * MIB, BYTES)})",
        _FEW: f"with fewer than {part.devices} {RESOURCE} to share",
        _SHORT: f"short of {RESOURCE} with {_said(part)} left (most left of one: {most})",
    }[cause]


def _said(part: Part) -> str:
    """Return what is asked of each device."""
    each = written(part.memory, BYTES) if part.memory else f"{part.milli / WHOLE:g}"
    if part.cores and part.cores != part.milli:
        each = f"{each} and {part.cores / WHOLE:g} of the cores"
    return each if part.devices == 1 else f"{each} on each of {part.devices}"
