"""VolumeLimits: a node attaches so many volumes of a driver, each counted once however many pods use it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from phalanx.engine.plugin import UNLIMITED, Plugin
from phalanx.engine.session.column import Column
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Bool, Int
from phalanx.model.snapshot import Snapshot
from phalanx.model.volume import Needs

#: Volumes of one pod each, by driver; and volumes that several pods use, one by one.
OWN, SHARED = "volume_limits own", "volume_limits shared"


class _Asked(NamedTuple):
    """What one copy of a shape attaches of a driver: volumes of its own, and shared ones by their number."""

    own: int
    shared: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class VolumeLimits(Plugin):
    """Let a node take pods while its drivers can attach their volumes."""

    name: ClassVar[str] = "volume_limits"
    reads: ClassVar[tuple[str, ...]] = ("volumes",)

    def columns(self, snapshot: Snapshot) -> Sequence[Column]:
        """Return [node, driver]: volumes that one pod uses; [node, volume]: how many pods use a shared one."""
        drivers, shared = _drivers(snapshot), _shared(snapshot)
        if snapshot.volumes is None or not drivers:
            return ()
        own = np.zeros((len(snapshot.shapes), len(drivers)), np.int64)
        several = np.zeros((len(snapshot.shapes), len(shared)), np.int64)
        number = {one: place for place, one in enumerate(shared)}
        # A loop over the shapes that attach anything.
        for row, shape in enumerate(snapshot.shapes):
            if shape.volumes is not None:
                counts = dict(shape.volumes.attach)
                own[row] = [counts.get(driver, 0) for driver in drivers]
                several[row, [number[one] for one in shape.volumes.shared if one in number]] = 1
        limits = np.stack([snapshot.volumes.limits[driver] for driver in drivers], axis=1)
        columns = [Column(OWN, own, limits)]
        if shared:
            columns.append(Column(SHARED, several, np.zeros((len(snapshot.nodes), len(shared)), np.int64)))
        return columns

    def room(self, session: Session, request: Request) -> Int | None:
        """Return how many copies each node can attach the volumes of."""
        needs = session.snapshot.shapes[request.shape].volumes
        table = session.snapshot.volumes
        if needs is None or table is None or not (needs.attach or needs.shared):
            return None
        room = _needed(session, needs)
        for driver, asked in _asked(session, needs).items():
            left, fresh = self._left(session, request, driver, asked)
            left = left - fresh
            some = left // asked.own if asked.own else np.where(left >= 0, UNLIMITED, 0)
            # What is attached already takes nothing, even where nothing more can be.
            least = np.where((fresh == 0) & (asked.own == 0), UNLIMITED, np.maximum(some, 0))
            room = least if room is None else np.minimum(room, least)
        return room

    def _left(self, session: Session, request: Request, driver: str, asked: _Asked) -> tuple[Int, Int]:
        """Return [node]: how many more can be attached, and how many of the shape's shared volumes would be new."""
        left = session.spare(request, _drivers(session.snapshot).index(driver), OWN)
        fresh = np.zeros(len(left), np.int64)
        for number, (owner, _) in enumerate(_shared(session.snapshot)):
            if owner == driver:
                there = session.spare(request, number, SHARED) < 0
                left = left - there
                fresh = fresh + (~there if number in asked.shared else 0)
        return left, fresh

    def ceiling(self, session: Session, request: Request) -> Int:
        """Return its room if no pod were there."""
        snapshot = session.snapshot
        needs, table = snapshot.shapes[request.shape].volumes, snapshot.volumes
        room: Int = np.full(len(snapshot.nodes), UNLIMITED, np.int64)
        if needs is None or table is None:
            return room
        missing = _needed(session, needs)
        room = room if missing is None else missing
        for driver, asked in _asked(session, needs).items():
            left = table.limits[driver] - len(asked.shared)
            room = np.minimum(room, left // asked.own if asked.own else np.where(left >= 0, UNLIMITED, 0))
        return np.maximum(room, 0)

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Name the driver that attaches no more, or is missing."""
        needs = session.snapshot.shapes[request.shape].volumes
        assert needs is not None, "only a shape with volumes is refused for them"
        found, left = [], nodes
        for driver in sorted({name for name, _ in (*needs.attach, *needs.shared)} & set(_missing(session))):
            out: Bool = _missing(session)[driver][left]
            if out.any():
                found.append((int(out.sum()), f"without the driver {driver}"))
                left = left[~out]
        for driver, asked in _asked(session, needs).items():
            spare, fresh = self._left(session, request, driver, asked)
            out = (spare - fresh - asked.own < 0)[left]
            if out.any():
                most = int(session.snapshot.volumes.limits[driver][left[out]].max())  # type: ignore[union-attr]
                found.append((int(out.sum()), f"where {driver} attaches no more volumes (at most {most} for pods)"))
                left = left[~out]
        return sorted(found, key=lambda one: -one[0])

    def limits(self, session: Session, request: Request, nodes: Int) -> str:
        """Name the drivers that bound the number of copies."""
        del nodes
        needs = session.snapshot.shapes[request.shape].volumes
        drivers = ", ".join(_asked(session, needs)) if needs is not None else ""
        return f"a node attaches only so many volumes of {drivers}" if drivers else ""


def _drivers(snapshot: Snapshot) -> list[str]:
    """Return the drivers with a limit somewhere."""
    return list(snapshot.volumes.limits) if snapshot.volumes is not None else []


def _shared(snapshot: Snapshot) -> list[tuple[str, str]]:
    limited = set(_drivers(snapshot))
    every = {one for shape in snapshot.shapes if shape.volumes is not None for one in shape.volumes.shared}
    return sorted(one for one in every if one[0] in limited)


def _missing(session: Session) -> Mapping[str, Bool]:
    return session.snapshot.volumes.missing if session.snapshot.volumes is not None else {}


def _needed(session: Session, needs: Needs) -> Int | None:
    """Return none where a driver is not there without which pods do not go."""
    room = None
    for driver in {name for name, _ in (*needs.attach, *needs.shared)} & set(_missing(session)):
        here = np.where(_missing(session)[driver], 0, UNLIMITED)
        room = here if room is None else np.minimum(room, here)
    return room


def _asked(session: Session, needs: Needs) -> dict[str, _Asked]:
    """Return, per driver with a limit, what one copy attaches."""
    own, shared = dict(needs.attach), _shared(session.snapshot)
    found = {}
    for driver in _drivers(session.snapshot):
        mine = tuple(place for place, one in enumerate(shared) if one[0] == driver and one in needs.shared)
        if own.get(driver) or mine:
            found[driver] = _Asked(own.get(driver, 0), mine)
    return found
