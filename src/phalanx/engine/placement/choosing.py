"""Choosing: which volume each claim of a bound task gets. No volume is given twice in a plan."""

from collections.abc import Mapping, Sequence

import numpy as np

from phalanx.engine.kernels.volumes import provision_mask, rows_of
from phalanx.model.axis import Bool, Int
from phalanx.model.plan import Bind
from phalanx.model.snapshot import Snapshot
from phalanx.model.volume import Chosen, Unbound, Volume, Want


class Choosing:
    """Gives the volumes of one snapshot away, the smallest that serves first."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._asking = {row: one.unbound for row, one in snapshot.tasks.volumes.items() if one.unbound}
        self._free = snapshot.volumes.free if snapshot.volumes is not None else ()
        self._given: dict[str, None] = {}
        #: A claim that several tasks mount gets one volume.
        self._chosen: dict[str, Chosen] = {}
        self._made: dict[Want, Bool] = {}
        self._near: Mapping[int, list[Volume]] | None = None
        self._far: list[tuple[Volume, Int]] = []

    def choose(self, tasks: Int, nodes: Int) -> list[tuple[Chosen, ...]]:
        """Return what the claims of tasks get on these nodes, entry by entry."""
        if not self._asking:
            return [()] * len(tasks)
        rows = zip(tasks.tolist(), nodes.tolist(), strict=True)
        # A loop over tasks of which some get a volume: each gets another one.
        return [self._of(self._asking[task], node) if task in self._asking else () for task, node in rows]

    def _of(self, claims: Sequence[Unbound], node: int) -> tuple[Chosen, ...]:
        if len(claims) == 1:
            return (self._one(claims[0], node),)
        by_size = sorted(claims, key=lambda one: one.want.size or 0)
        return tuple(self._one(claim, node) for claim in by_size)

    def _one(self, claim: Unbound, node: int) -> Chosen:
        known = self._chosen.get(claim.claim)
        if known is None:
            volume = claim.volume if claim.volume is not None else self._pick(claim.want, node)
            known = self._chosen[claim.claim] = Chosen(claim.claim, volume)
        return known

    def _pick(self, want: Want, node: int) -> str | None:
        """Return the smallest volume within reach that serves; None: one is made."""
        if want.selected or not self._free:
            return None
        near = self._within_reach().get(node, [])
        far = (volume for volume, rows in self._far if node in rows)
        serve = [one for one in (*near, *far) if one.name not in self._given and want.takes(one)]
        if not serve:
            return None
        best = min(serve, key=lambda one: (one.size, one.name))
        self._given[best.name] = None
        return best.name

    def _within_reach(self) -> Mapping[int, list[Volume]]:
        """Return the volumes of single nodes by node; those of many are kept with their rows."""
        if self._near is None:
            near: dict[int, list[Volume]] = {}
            rows = rows_of(self._snapshot.nodes, {one.place for one in self._free})
            for volume in self._free:
                mine = rows[volume.place]
                if len(mine) == 1:
                    near.setdefault(int(mine[0]), []).append(volume)
                else:
                    self._far.append((volume, mine))
            self._near = near
        return self._near


def obtainable(snapshot: Snapshot, binds: Sequence[Bind], tasks: Int, nodes: Int) -> Bool:
    """Return of each bind whether its claims get volumes that serve them there, each volume one claim."""
    table, mounting = snapshot.volumes, snapshot.tasks.volumes
    free = {one.name: one for one in table.free} if table is not None else {}
    taken = {free[one.volume].place for step in binds for one in step.volumes if one.volume in free}
    rows = rows_of(snapshot.nodes, taken)
    owner: dict[str, str] = {}

    def fine(claim: Unbound, given: Mapping[str, str | None], node: int) -> bool:
        name = given.get(claim.claim)
        if claim.claim not in given or (name is not None and owner.setdefault(name, claim.claim) != claim.claim):
            return False
        if claim.volume is not None or name is None:
            made = claim.volume is None and provision_mask(snapshot.nodes, table, claim.want)[node]
            return bool(made) or (name is not None and name == claim.volume)
        volume = free.get(name)
        return volume is not None and claim.want.takes(volume) and node in rows[volume.place]

    found = np.ones(len(binds), np.bool_)
    # A loop over the tasks that get volumes.
    for at, (step, task, node) in enumerate(zip(binds, tasks.tolist(), nodes.tolist(), strict=True)):
        given = {one.claim: one.volume for one in step.volumes}
        found[at] = all(fine(claim, given, node) for claim in (mounting[task].unbound if task in mounting else ()))
    return found
