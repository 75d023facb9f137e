"""ResourceFit: a task goes where its requests fit, and rather to fuller (or emptier) nodes.

It looks at requests, never at measured use: no metrics server is needed.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from phalanx.engine.kernels import fit_scores
from phalanx.engine.plugin import UNLIMITED, Plugin
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import CPU, MEMORY, Bool, Float, Int, is_extended
from phalanx.model.quantity import written
from phalanx.model.queue import Placement

Strategy = Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio", "PerResource"]
Mode = Literal["LeastAllocated", "MostAllocated"]

#: In the names of resources that are slices of GPUs.
SLICES = "/mig-"
#: Stands for every extended resource (`vendor.com/thing`) that is not listed by name.
ANY_EXTENDED = "*"


@dataclass(frozen=True, slots=True)
class Weight:
    """How much one resource counts, and with PerResource, which way."""

    weight: int = 1
    #: None: as the strategy says; with PerResource, MostAllocated.
    mode: Mode | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the RequestedToCapacityRatio line: utilization in percent, score from 0 to 10."""

    utilization: int
    score: int


@dataclass(frozen=True, slots=True)
class ResourceFit(Plugin):
    """Count how many copies fit in what is left; score by how full a node would be."""

    strategy: Strategy = "MostAllocated"
    resources: dict[str, Weight] = field(default_factory=lambda: {CPU: Weight(), MEMORY: Weight()})
    shape: list[Point] = field(default_factory=lambda: [Point(0, 0), Point(100, 10)])
    name: ClassVar[str] = "resource_fit"
    reads: ClassVar[tuple[str, ...]] = ("requests",)
    by_amounts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name, weight in self.resources.items():
            if not 1 <= weight.weight <= 1_000_000:
                raise ValueError(f"resources.{name}.weight: found {weight.weight}, allowed is 1 to 1000000")
        places = [point.utilization for point in self.shape]
        if not places or places != sorted(set(places)) or places[0] < 0 or places[-1] > 100:
            raise ValueError(f"shape: found utilization {places}, allowed are rising numbers from 0 to 100")
        if not all(0 <= point.score <= 10 for point in self.shape):
            raise ValueError("shape: found a score outside 0 to 10, allowed is 0 to 10")

    def room(self, session: Session, request: Request) -> Int:
        """Return how many copies the spare amounts hold, in the scarcest resource."""
        ask = session.snapshot.requests[request.shape]
        answer = np.full(len(session.snapshot.nodes), UNLIMITED, np.int64)
        amounts = session.spare_amounts(request)
        for column in np.flatnonzero(ask).tolist():
            spare = amounts[:, column]
            # Most requests ask for one pod: a division by one is a copy, and divisions of arrays are slow.
            np.minimum(answer, spare if ask[column] == 1 else spare // ask[column], out=answer)
        return np.maximum(answer, 0, out=answer)

    def ceiling(self, session: Session, request: Request) -> Int:
        """Return how many copies an empty node holds."""
        ask = session.snapshot.requests[request.shape]
        wanted = np.flatnonzero(ask)
        # Nodes are of few kinds, and divisions of arrays are slow.
        kinds, of_node = session.once("kinds of nodes", lambda: _kinds(session.snapshot.nodes.allocatable), static=True)
        most = (kinds[:, wanted] // ask[wanted]).min(axis=1, initial=UNLIMITED)
        return np.asarray(most[of_node], np.int64)

    def refusals(self, session: Session, request: Request, nodes: Int) -> list[tuple[int, str]]:
        """Count nodes under the resource they lack, devices first; tell a small node from a full one."""
        snapshot, ask = session.snapshot, session.snapshot.requests[request.shape]
        names = snapshot.axis.names
        left = np.ones(len(nodes), np.bool_)
        counts: Counter[str] = Counter()
        for column in sorted(np.flatnonzero(ask).tolist(), key=lambda c: (not is_extended(names[c]), c)):
            spare = session.spare(request, column)[nodes]
            total = snapshot.nodes.allocatable[nodes, column]
            small = left & (total < ask[column])
            # Enough is free, but promised to pods that are not there yet.
            promised = (
                left & ~small & (spare < ask[column]) & (session.ledger.books().free[nodes, column] >= ask[column])
            )
            short = left & ~small & ~promised & (spare < ask[column])
            left &= ~(small | short | promised)
            if promised.any():
                whom = "pods nominated there" if session.reservation is None else "the gang that has the reservation"
                counts[f"keeping {names[column]} for {whom}"] += int(promised.sum())
            if short.any():
                best = np.flatnonzero(short)[np.argmax(spare[short])]
                free, of = (written(int(max(v, 0)), names[column]) for v in (spare[best], total[best]))
                counts[f"short of {names[column]} (most free on one node: {free} of {of})"] += int(short.sum())
            if small.any():
                most = written(int(total[small].max()), names[column])
                asked = written(int(ask[column]), names[column])
                text = (
                    f"without {names[column]}{_other_slices(session, column)}"
                    if most == "0"
                    else f"too small in {names[column]} ({asked} asked, largest {most})"
                )
                counts[text] += int(small.sum())
        return [(count, text) for text, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]

    def limits(self, session: Session, request: Request, nodes: Int) -> str:
        """Name the resource that most of these nodes run out of first."""
        snapshot, ask = session.snapshot, session.snapshot.requests[request.shape]
        wanted = np.flatnonzero(ask)
        room = np.stack([session.spare(request, int(column))[nodes] // ask[column] for column in wanted])
        column = int(wanted[np.bincount(room.argmin(axis=0), minlength=len(wanted)).argmax()])
        spare, name = session.spare(request, column)[nodes], snapshot.axis.names[column]
        best = int(np.argmax(spare))
        total = snapshot.nodes.allocatable[nodes[best], column]
        return (
            f"short of {name} (most free on one node: {written(int(spare[best]), name)} of {written(int(total), name)})"
        )

    def score(self, session: Session, request: Request, nodes: Int, copies: Int) -> Float:
        """Return the weighted mean over the resources, in hundredths as the formulas have it."""
        total = np.zeros(len(nodes), np.int64)
        columns = self._columns(session, request)
        if self.strategy == "PerResource":
            for column, weight in columns:
                used, capacity = self._used(session, request, column, nodes, copies)
                total += self._formula(request.placement, weight.mode, used, capacity) * weight.weight
            # A task that asks for nothing that counts is as good anywhere.
            mean = total / sum(weight.weight for _, weight in columns) if columns else np.full(len(nodes), 100.0)
            return np.floor(mean) / 100
        weights = np.zeros(len(nodes), np.int64)
        for column, weight in columns:
            used, capacity = self._used(session, request, column, nodes, copies)
            part = self._formula(request.placement, weight.mode, used, capacity)
            counted = self._counted(part, capacity)
            total += part * weight.weight * counted
            weights += weight.weight * counted
        mean = np.divide(total, weights, out=np.zeros(len(nodes)), where=weights > 0)
        hundredths: Float = np.rint(mean) if self.strategy == "RequestedToCapacityRatio" else np.floor(mean)
        return hundredths / 100

    def _counted(self, part: Int, capacity: Int) -> Bool:
        """kube-scheduler leaves out what a node has not, and its ratio also what scores nothing."""
        if self.strategy == "RequestedToCapacityRatio":
            return (capacity > 0) & (part > 0)
        return capacity > 0

    def _columns(self, session: Session, request: Request) -> list[tuple[int, Weight]]:
        """Return the resources that count for this shape: cpu and memory always (PerResource: if asked for)."""
        snapshot = session.snapshot
        found = []
        for column, name in enumerate(snapshot.axis.names):
            weight = self.resources.get(name)
            if weight is None and is_extended(name):
                weight = self.resources.get(ANY_EXTENDED)
            asked = bool(snapshot.requests[request.shape, column])
            if weight is not None and (asked or (name in {CPU, MEMORY} and self.strategy != "PerResource")):
                found.append((column, weight))
        return found

    def _used(self, session: Session, request: Request, column: int, nodes: Int, copies: Int) -> tuple[Int, Int]:
        """Return what would be in use with one more copy, and the capacity."""
        snapshot = session.snapshot
        capacity = snapshot.nodes.allocatable[nodes, column]
        if column < 2:  # cpu, memory: a container that asks for none counts as a little
            before, each = session.scored[nodes, column], snapshot.scored[request.shape, column]
        else:
            before, each = (
                capacity - session.ledger.books().free[nodes, column],
                snapshot.requests[request.shape, column],
            )
        return before + (copies + 1) * each, capacity

    def _formula(self, placement: Placement | None, mode: Mode | None, used: Int, capacity: Int) -> Int:
        if placement is not None:
            # The word of the task's queue comes before that of the policy.
            formula = fit_scores.most_allocated if placement == "pack" else fit_scores.least_allocated
            return formula(used, capacity)
        if self.strategy == "RequestedToCapacityRatio":
            points = np.array([(point.utilization, point.score * 10) for point in self.shape], np.int64)
            return fit_scores.ratio(used, capacity, points[:, 0], points[:, 1])
        way = (mode or "MostAllocated") if self.strategy == "PerResource" else self.strategy
        if way == "MostAllocated":
            return fit_scores.most_allocated(used, capacity)
        return fit_scores.least_allocated(used, capacity)


def _other_slices(session: Session, column: int) -> str:
    """Name the slices of GPUs that there are, where one is asked for that no node has: a profile is soon misspelt."""
    nodes, names = session.snapshot.nodes, session.snapshot.axis.names
    if SLICES not in names[column] or nodes.allocatable[:, column].any():
        return ""
    here = [name for at, name in enumerate(names) if SLICES in name and nodes.allocatable[:, at].any()]
    return f" (0/{len(nodes)} nodes have one; other slices here: {', '.join(here[:5])})" if here else ""


def _kinds(rows: Int) -> tuple[Int, Int]:
    """Return the different rows, and which of them each is. Rows are sorted only where they differ."""
    if (rows == rows[:1]).all():
        return rows[:1], np.zeros(len(rows), np.int64)
    kinds, of = np.unique(rows, axis=0, return_inverse=True)
    return kinds, of.reshape(-1)
