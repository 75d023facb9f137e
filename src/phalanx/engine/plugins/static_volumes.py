"""StaticVolumes: a volume that somebody made by hand is given to one claim.

Claims that may have the same volumes are a group. As many of a group may ask for a size and more as there are volumes
of that size and more: then the smallest that serves is right for each, in any order. Which one is chosen with the bind.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from phalanx.engine.kernels.by_caps import Caps
from phalanx.engine.kernels.volumes import provision_mask, rows_of
from phalanx.engine.plugin import UNLIMITED, Plugin, Reach
from phalanx.engine.session.column import Column
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Bool, Int
from phalanx.model.snapshot import Snapshot
from phalanx.model.volume import Place, Volume, Want


class _Group(NamedTuple):
    """Claims that differ in size alone, and the volumes that any of them may have."""

    want: Want
    volumes: tuple[Volume, ...]
    #: What claims of the group ask for, ascending; where nodes reach different volumes of one component, 0 alone.
    sizes: tuple[int, ...]
    #: [node]: nodes from which volumes are shared are one component, -1 where none is within reach.
    component: Int
    #: [node, size]: how many volumes of this size and more are within reach.
    reach: Int
    #: Every node of a component reaches all its volumes.
    even: bool


@dataclass(frozen=True, slots=True)
class StaticVolumes(Plugin):
    """Let a node take pods while there is a volume for each of their claims that need one."""

    name: ClassVar[str] = "static_volumes"
    reads: ClassVar[tuple[str, ...]] = ("volumes",)
    reach: ClassVar[Reach] = "domain"

    def columns(self, snapshot: Snapshot) -> Sequence[Column]:
        """Return, per group, [component, size]: how many claims have such a volume, or one that overlaps."""
        groups = _groups(snapshot)
        if not groups:
            return ()
        found = []
        for number, group in enumerate(groups):
            near = [bool({one.name for one in group.volumes} & {one.name for one in other.volumes}) for other in groups]
            index = {other.want: place for place, other in enumerate(groups)}
            footprint = np.zeros((len(snapshot.shapes), len(group.sizes)), np.int64)
            # A loop over the shapes with such claims, which are few.
            for row, shape in enumerate(snapshot.shapes):
                for want in shape.volumes.wants if shape.volumes is not None else ():
                    other = index.get(_kind(want))
                    if other == number:
                        footprint[row] += [not group.even or (want.size or 0) >= size for size in group.sizes]
                    elif other is not None and near[other]:
                        footprint[row] += 1
            rows = int(group.component.max(initial=-1)) + 1
            found.append(
                Column(_name(number), footprint, np.zeros((rows, len(group.sizes)), np.int64), group.component)
            )
        return found

    def room(self, session: Session, request: Request) -> Int | None:
        """Return for how many copies each node reaches volumes, or no limit where they are made."""
        least: Int | None = None
        every, untaken = _asked(session, request), True
        for number, group, asked in every:
            room = self._copies(session, request, number, group, asked)
            least = room if least is None else np.minimum(least, room)
            untaken = untaken and not session.spare(request, 0, _name(number)).any()
        if least is not None and untaken and _entangled(every) and not (least > 0).all():
            return np.where((least == 0) & _alone(session, request), 1, least)
        return least

    def _copies(self, session: Session, request: Request, number: int, group: _Group, asked: list[Want]) -> Int:
        taken = [np.append(-session.spare(request, at, _name(number)), 0) for at in range(len(group.sizes))]
        return self._room(session, request, number, group, asked, taken)

    def _room(
        self, session: Session, request: Request, number: int, group: _Group, asked: list[Want], taken: list[Int]
    ) -> Int:
        """Return for how many copies there are volumes, given how many of each size and more are taken."""
        least = np.full(len(session.snapshot.nodes), UNLIMITED, np.int64)
        for at, gone in enumerate(taken):
            each = int(session.ledger.books(_name(number)).column.footprint[request.shape, at])
            if each:
                left = _within_reach(group, asked, at) - gone[group.component]
                least = np.minimum(least, np.maximum(left, 0) // each)
        return np.where(_made(session, asked), UNLIMITED, least)

    def ceiling(self, session: Session, request: Request) -> Int:
        """Return its room if no other claim took a volume."""
        least = np.full(len(session.snapshot.nodes), UNLIMITED, np.int64)
        for number, group, asked in _asked(session, request):
            nothing = [np.zeros(int(group.component.max(initial=-1)) + 2, np.int64)] * len(group.sizes)
            least = np.minimum(least, self._room(session, request, number, group, asked, nothing))
        return least

    def caps(self, session: Session, request: Request) -> Sequence[Caps]:
        """Return how many copies the nodes of each component take together."""
        found = []
        for number, group, asked in _asked(session, request):
            made = _made(session, asked)
            component = np.where(made, -1, group.component)
            if group.even and len(np.unique(component[component >= 0])) < np.count_nonzero(component >= 0):
                room = self._copies(session, request, number, group, asked)
                most = np.zeros(int(group.component.max(initial=-1)) + 1, np.int64)
                most[component[component >= 0]] = room[component >= 0]
                found.append(Caps(component, most))
        return found

    def reaches(self, session: Session, request: Request) -> bool:
        """Tell whether nodes reach different volumes of one component, or claims of one pod want some of the same."""
        every = _asked(session, request)
        return _entangled(every) or any(not group.even for _, group, _ in every)

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Say how many volumes there are, and that none is left here."""
        words = []
        for number, group, asked in _asked(session, request):
            if (self._copies(session, request, number, group, asked)[nodes] == 0).any():
                there = len(group.volumes)
                words.append(f"{there} volume{'s' if there > 1 else ''} of class {group.want.storage_class}")
        return [(len(nodes), f"without a free volume for each claim ({', '.join(words)} in all)")]

    def limits(self, session: Session, request: Request, nodes: Int) -> str:
        """Say how many volumes are free."""
        del nodes
        words = [
            f"{len(group.volumes)} of class {group.want.storage_class}" for _, group, _ in _asked(session, request)
        ]
        return f"volumes that are free: {', '.join(words)}" if words else ""


def _within_reach(group: _Group, asked: list[Want], at: int) -> Int:
    """Return [node]: how many volumes count for these claims, at one of the sizes of the group."""
    if group.even:
        return group.reach[:, at]
    steps = sorted({0, *(volume.size for volume in group.volumes)})
    largest = int(np.searchsorted(steps, max(want.size or 0 for want in asked)))
    return group.reach[:, largest] if largest < len(steps) else np.zeros(len(group.reach), np.int64)


def _asked(session: Session, request: Request) -> list[tuple[int, _Group, list[Want]]]:
    """Return the groups of the claims of a shape, with those claims."""
    needs = session.snapshot.shapes[request.shape].volumes
    if needs is None or not needs.wants:
        return []
    groups = session.once("static volumes", lambda: _groups(session.snapshot), static=True)
    found = []
    for number, group in enumerate(groups):
        mine = [want for want in needs.wants if _kind(want) == group.want and not want.selected]
        if mine:
            found.append((number, group, mine))
    return found


def _entangled(every: list[tuple[int, _Group, list[Want]]]) -> bool:
    """Tell whether claims of one pod may be in each other's way: then their groups' counts are stricter than needed."""
    return len(every) > 1 or any(len(asked) > 1 and not group.even for _, group, asked in every)


def _alone(session: Session, request: Request) -> Bool:
    """Return where one pod finds a volume for each claim while no other claim took any: the smallest first."""
    needs, nodes, table = (
        session.snapshot.shapes[request.shape].volumes,
        session.snapshot.nodes,
        session.snapshot.volumes,
    )
    assert needs is not None and table is not None, "only a shape with claims asks"  # noqa: PT018
    wants = sorted((want for want in needs.wants if not want.selected), key=lambda want: want.size or 0)
    if any(want.storage_class in table.provisions for want in wants):
        return np.zeros(len(nodes), np.bool_)
    free = [volume for volume in table.free if any(want.takes(volume) for want in wants)]
    rows = rows_of(nodes, {volume.place for volume in free})
    near = np.zeros((len(free), len(nodes)), np.bool_)
    for number, volume in enumerate(free):
        near[number, rows[volume.place]] = True
    kinds, at = np.unique(near, axis=1, return_inverse=True)
    # A loop over nodes that reach different volumes.
    found = [_matched(wants, [free[one] for one in np.flatnonzero(kinds[:, kind])]) for kind in range(kinds.shape[1])]
    return np.array(found, np.bool_)[at.reshape(-1)]


def _matched(wants: list[Want], volumes: list[Volume]) -> bool:
    """Tell whether each claim gets the smallest of these volumes that serves it and is left."""
    left = list(volumes)
    for want in wants:
        mine = next((volume for volume in left if want.takes(volume)), None)
        if mine is None:
            return False
        left.remove(mine)
    return True


def _made(session: Session, asked: list[Want]) -> Bool:
    """Return where all of these claims could have a volume made for them."""

    def answer() -> Bool:
        nodes, table = session.snapshot.nodes, session.snapshot.volumes
        made: Bool = np.logical_and.reduce([provision_mask(nodes, table, want) for want in set(asked)])
        return made

    return session.once(("made", *sorted(set(asked), key=repr)), answer, static=True)


def _name(number: int) -> str:
    return f"static_volumes {number}"


def _kind(want: Want) -> Want:
    """Return the want without its size."""
    return want._replace(size=None, selected="")


def _groups(snapshot: Snapshot) -> list[_Group]:
    """Return the groups of all claims that get a volume with their pod's node, those without any volume left out."""
    if snapshot.volumes is None or not snapshot.volumes.free:
        return []
    wants = {want for shape in snapshot.shapes if shape.volumes is not None for want in shape.volumes.wants}
    wants = {want for want in wants if not want.selected}
    free = snapshot.volumes.free
    found = []
    for kind in sorted({_kind(want) for want in wants}, key=repr):
        volumes = tuple(volume for volume in free if kind.takes(volume))
        if volumes:
            sizes = tuple(sorted({want.size or 0 for want in wants if _kind(want) == kind}))
            found.append(_group(snapshot, kind, volumes, sizes))
    return found


def _group(snapshot: Snapshot, kind: Want, volumes: tuple[Volume, ...], sizes: tuple[int, ...]) -> _Group:
    nodes = snapshot.nodes
    places: dict[Place | None, list[int]] = {}
    for volume in volumes:
        places.setdefault(volume.place, []).append(volume.size)
    rows = rows_of(nodes, places)
    component = np.full(len(nodes), -1)
    # A loop over places: those of several nodes that overlap become one component.
    for number, place in enumerate(places):
        mine = rows[place]
        if len(mine) > 1:
            touched = np.unique(component[mine])
            component[mine] = number
            for other in touched[touched >= 0].tolist():
                component[component == other] = number
    alone = np.array([rows[place][0] for place in places if len(rows[place]) == 1], np.int64)
    alone = alone[component[alone] < 0]
    component[alone] = len(places) + alone
    known, component[component >= 0] = np.unique(component[component >= 0], return_inverse=True)
    members = np.bincount(component[component >= 0], minlength=len(known))
    even = all(len(mine) == members[component[mine[0]]] for mine in rows.values() if len(mine))
    steps = sizes if even else tuple(sorted({0, *(volume.size for volume in volumes)}))
    reach = np.zeros((len(nodes), len(steps)), np.int64)
    sizes_of = np.array([size for there in places.values() for size in there], np.int64)
    counts = np.add.reduceat(
        sizes_of[:, None] >= np.array(steps), np.cumsum([0, *map(len, places.values())])[:-1], axis=0, dtype=np.int64
    )
    every = np.concatenate([rows[place] for place in places])
    np.add.at(reach, every, np.repeat(counts, [len(rows[place]) for place in places], axis=0))
    return _Group(kind, volumes, steps if even else (0,), component, reach, even)
