"""VolumeConflicts: some disks and claims can be used by one pod at a time, on a node or at all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phalanx.engine.plugin import UNLIMITED, Plugin
from phalanx.engine.session.column import Column
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Int
from phalanx.model.snapshot import Snapshot
from phalanx.model.volume import Disk

DISKS, CLAIMS = "volume_conflicts disks", "volume_conflicts claims"


@dataclass(frozen=True, slots=True)
class VolumeConflicts(Plugin):
    """Keep pods that cannot share a disk apart, and let one pod at a time use a ReadWriteOncePod claim."""

    name: ClassVar[str] = "volume_conflicts"
    reads: ClassVar[tuple[str, ...]] = ("volumes",)

    def columns(self, snapshot: Snapshot) -> Sequence[Column]:
        """Return [node, disk]: how many pods there clash with it, and [cluster, claim]: how many pods use it."""
        return [column for column in (_disks(snapshot), _claims(snapshot)) if column is not None]

    def room(self, session: Session, request: Request) -> Int | None:
        """Return none where a disk is taken or a claim is in use; one copy of a disk that clashes with itself."""
        needs = session.snapshot.shapes[request.shape].volumes
        if needs is None or not (needs.disks or needs.exclusive):
            return None
        disks, claims = _known(session)
        room: Int = np.full(len(session.snapshot.nodes), UNLIMITED, np.int64)
        for disk in needs.disks:
            if disk in disks:
                there = -session.spare(request, disks[disk], DISKS)
                room = np.where(there > 0, 0, np.minimum(room, 1 if disk.clashes(disk) else UNLIMITED))
        for claim, _ in needs.exclusive:
            if (session.spare(request, claims[claim], CLAIMS) < 0).any():
                room = np.zeros(len(room), np.int64)
            # A shape with such a claim is one pod's alone.
        return room

    def ceiling(self, session: Session, request: Request) -> Int:
        """Return one copy where its disk clashes with itself, or no limit."""
        needs = session.snapshot.shapes[request.shape].volumes
        alone = needs is not None and any(disk.clashes(disk) for disk in needs.disks)
        return np.full(len(session.snapshot.nodes), 1 if alone else UNLIMITED, np.int64)

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Name the claim in use, or the disks."""
        needs = session.snapshot.shapes[request.shape].volumes
        assert needs is not None, "only a shape with volumes is refused for them"
        _, claims = _known(session)
        used = [one for one, _ in needs.exclusive if (session.spare(request, claims[one], CLAIMS) < 0).any()]
        if used:
            return [(len(nodes), f"since claim {used[0]} is ReadWriteOncePod and another pod uses it")]
        disks = ", ".join(
            f"{disk.kind} {disk.name}" for disk in needs.disks[:2] if disk.clashes(disk) or disk.read_only
        )
        return [(len(nodes), f"where a pod mounts {disks}")]


def _known(session: Session) -> tuple[dict[Disk, int], dict[str, int]]:
    """Return the count of each disk and of each claim in their columns."""

    def answer() -> tuple[dict[Disk, int], dict[str, int]]:
        snapshot = session.snapshot
        return _numbered(_all_disks(snapshot)), _numbered(_all_claims(snapshot))

    return session.once("volume conflicts", answer, static=True)


def _numbered(things: Sequence[object]) -> dict:  # type: ignore[type-arg]
    return {thing: number for number, thing in enumerate(things)}


def _all_disks(snapshot: Snapshot) -> list[Disk]:
    every = {disk for shape in snapshot.shapes if shape.volumes is not None for disk in shape.volumes.disks}
    return sorted(disk for disk in every if any(disk.clashes(other) for other in every))


def _all_claims(snapshot: Snapshot) -> list[str]:
    return sorted(
        {name for shape in snapshot.shapes if shape.volumes is not None for name, _ in shape.volumes.exclusive}
    )


def _disks(snapshot: Snapshot) -> Column | None:
    disks = _all_disks(snapshot)
    if not disks:
        return None
    footprint = np.zeros((len(snapshot.shapes), len(disks)), np.int64)
    # A loop over the shapes with disks of their own, which are few.
    for row, shape in enumerate(snapshot.shapes):
        if shape.volumes is not None and shape.volumes.disks:
            footprint[row] = [any(disk.clashes(own) for own in shape.volumes.disks) for disk in disks]
    return Column(DISKS, footprint, np.zeros((len(snapshot.nodes), len(disks)), np.int64))


def _claims(snapshot: Snapshot) -> Column | None:
    claims = _all_claims(snapshot)
    if not claims:
        return None
    footprint = np.zeros((len(snapshot.shapes), len(claims)), np.int64)
    for row, shape in enumerate(snapshot.shapes):
        if shape.volumes is not None and shape.volumes.exclusive:
            mine = {name for name, _ in shape.volumes.exclusive}
            footprint[row] = [claim in mine for claim in claims]
    whole = np.zeros(len(snapshot.nodes), np.int64)
    return Column(CLAIMS, footprint, np.zeros((1, len(claims)), np.int64), whole)
