"""Together: places for a unit with wishes, part by part, each in a domain of its own choice; and the way back.

Each part tries its domains, the best first, and each group of equal tasks its ways to lie on the nodes there. What
later parts cannot live with is taken back and the next way is tried, as long as there are steps left: so what can be
placed is placed, unless the steps run out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from phalanx.engine.kernels.spreads import spreads
from phalanx.engine.placement.copies import copies, fits_there, reaches
from phalanx.engine.placement.domains import Choice, choices, fill, most, wanted_by
from phalanx.engine.placement.find import NO_TASKS, request_of
from phalanx.engine.placement.replicas import others
from phalanx.engine.placement.segments import NO_SEGMENT, apart
from phalanx.engine.placement.wishes import Part, segments_as_parts
from phalanx.engine.policy import Policy
from phalanx.engine.session.request import Request, When
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Lack, Taken, Unit
from phalanx.model.axis import Bool, Int
from phalanx.model.wish import EVERYWHERE, Wish

#: Trying one way to place a group costs as much as so many steps of other searches.
STEPS_OF_A_WAY = 20
#: Units that need no way back take none of the steps; of the others, all of a cycle together get so many times as much.
UNITS = 4
#: A group is spread in every way over at most so many nodes.
SPREAD_NODES_MAX = 64

#: Places something, yields, and takes it back when it is asked for more.
Job = Callable[[Bool], Iterator[None]]


@dataclass(slots=True)
class Ways:
    """How many ways all units of a cycle may still try."""

    left: int


def place_parts(session: Session, policy: Policy, unit: Unit, part: Part, when: When) -> Taken:
    """Place the tasks of a unit as its wishes have it, all or none."""
    every = session.once("ways", lambda: Ways(UNITS * policy.search_steps // STEPS_OF_A_WAY), static=True)
    granted = max(min(policy.search_steps // STEPS_OF_A_WAY, every.left), 1)
    search = _Search(session, policy, unit, when, granted)
    start = session.checkpoint()
    everywhere = np.ones(len(session.snapshot.nodes), np.bool_)
    for _ in search.part(part, everywhere):
        return Taken(np.concatenate([tasks for tasks, _ in search.placed]),
                     np.concatenate([nodes for _, nodes in search.placed]))  # fmt: skip
    session.rollback(start)
    every.left -= search.tried
    return Taken(NO_TASKS, NO_TASKS, search.lack())


@dataclass(slots=True)
class _Search:
    """One unit's search."""

    session: Session
    policy: Policy
    unit: Unit
    when: When
    left: int
    tried: int = 0
    placed: list[tuple[Int, Int]] = field(default_factory=list[tuple[Int, Int]])
    #: Why a part finds no domain, even with all others out of the way.
    failed: Lack | None = None

    def part(self, part: Part, within: Bool) -> Iterator[None]:
        """Place a part and all parts of it, in one way after the other."""
        if part.wish is not None and part.wish.problem is not None:
            self.failed = self.failed or self._lack(part, 0, part.wish.problem)
            return
        part = self._spelled_out(part)
        groups = self._groups(part)
        requests = self._requests(distinct_shapes(self.session, part.every), part.every)
        pieces = self._requests([shape for shape, _ in groups], part.tasks) if _in_segments(part) else []
        wanted = wanted_by(self.session, self.policy, requests, pieces, part.waiting) if requests else None
        if wanted is not None and part.spread is not None:
            wanted = replace(wanted, others=others(self.session, requests[0], part.spread, part.there))
        found = False
        for choice in choices(part, wanted, within) if wanted is not None else iter([Choice(EVERYWHERE, within)]):
            found = True
            # The largest first: it has the least choice; and what whole segments leave holds the rest of one.
            first, last = _in_turn(part)
            jobs = [*(self._inner(child) for child in first),
                    *(self._group(part.wish, choice, part.there, shape, tasks) for shape, tasks in groups),
                    *(self._inner(child) for child in last)]  # fmt: skip
            yield from self._all(jobs, choice.inside)
            if self.left <= 0:
                return
        if not found and self.failed is None and wanted is not None and not self.placed:
            fit, said = most(self.session, part, wanted, within)
            self.failed = self._lack(part, fit, said)

    def _spelled_out(self, part: Part) -> Part:
        """Return a part with a part for each segment, where copies count for each other beyond their nodes."""
        if not _in_segments(part) or part.wish is None:
            return part
        shapes = distinct_shapes(self.session, part.tasks)
        if self.policy.by_count and not any(reaches(self.session, self.policy, shape) for shape in shapes):
            return part
        segments = apart(self.session.snapshot.tasks, part.tasks)
        children = (*part.children, *segments_as_parts(part.name, part.wish, segments))
        return replace(part, tasks=part.tasks[:0], children=children)

    def _inner(self, part: Part) -> Job:
        return lambda within: self.part(part, within)

    def _all(self, jobs: Sequence[Job], within: Bool) -> Iterator[None]:
        """Do all of these jobs, in every combination of their ways."""
        if not jobs:
            yield
            return
        for _ in jobs[0](within):
            yield from self._all(jobs[1:], within)

    def _group(self, wish: Wish | None, choice: Choice, there: Int, shape: int, tasks: Int) -> Job:
        """Return a job that places equal tasks: first as close as can be, then in every way that there is."""

        def job(within: Bool) -> Iterator[None]:
            request = request_of(self.session, self.unit.gang, shape, len(tasks), self.when)
            first = fill(self.session, self.policy, request, wish, choice, there)
            if first is not None:
                yield from self._put(request, wish, tasks, first)
            # A unit of one group has no other task that another way could help.
            if len(tasks) == len(self.unit.tasks):
                return
            room = np.where(within, np.minimum(copies(self.session, self.policy, request), len(tasks)), 0)
            nodes = np.flatnonzero(room)
            if len(nodes) > SPREAD_NODES_MAX:
                return
            far = len(tasks) > 1 and reaches(self.session, self.policy, shape)
            of = None if wish is None or wish.segment is None else wish.tree.domain_of(wish.segment)[nodes]
            for counts in _ways(room[nodes], len(tasks), of, 1 if wish is None else wish.size):
                where = np.repeat(nodes, counts)
                tried = first is not None and np.array_equal(np.sort(first), where)
                if not tried and (not far or fits_there(self.session, self.policy, request, where)):
                    yield from self._put(request, wish, tasks, where)
                if self.left <= 0:
                    return

        return job

    def _put(self, request: Request, wish: Wish | None, tasks: Int, nodes: Int) -> Iterator[None]:
        """Take these places, and give them back when another way is asked for."""
        self.left -= 1
        self.tried += 1
        if wish is not None:
            # Along the tree, so that neighbouring tasks are on neighbouring nodes.
            nodes = nodes[np.argsort(wish.tree.position[nodes], kind="stable")]
            tasks = tasks[np.argsort(self.session.snapshot.tasks.rank[tasks], kind="stable")]
        start = self.session.checkpoint()
        self.session.take(request, tasks, nodes)
        self.placed.append((tasks, nodes))
        yield
        self.placed.pop()
        self.session.rollback(start)

    def _groups(self, part: Part) -> list[tuple[int, Int]]:
        """Return the tasks of a part by shape, those with the least room first."""
        shapes = self.session.snapshot.tasks.shape[part.tasks]
        found = [(shape, part.tasks[shapes == shape]) for shape in distinct_shapes(self.session, part.tasks)]
        if len(found) == 1:
            return found
        room = {shape: self._room(shape, len(tasks)) / len(tasks) for shape, tasks in found}
        return sorted(found, key=lambda group: room[group[0]])

    def _room(self, shape: int, count: int) -> int:
        request = request_of(self.session, self.unit.gang, shape, count, self.when)
        return int(np.minimum(copies(self.session, self.policy, request), count).sum())

    def _requests(self, shapes: list[int], tasks: Int) -> list[Request]:
        of = self.session.snapshot.tasks.shape[tasks]
        return [
            request_of(self.session, self.unit.gang, shape, int((of == shape).sum()), self.when) for shape in shapes
        ]

    def _lack(self, part: Part, fit: int, said: str) -> Lack:
        tasks = self.session.snapshot.tasks
        wanted = len(part.every)
        shape = int(tasks.shape[part.every[0] if wanted else self.unit.tasks[0]])
        own = int((tasks.shape[part.every] == shape).sum())
        segment = None if part.segment == NO_SEGMENT else part.segment
        fit = min(fit, max(wanted - 1, 0))
        return Lack(shape, wanted, fit, own, part=part.name, domain=said, segment=segment)

    def lack(self) -> Lack:
        """Return what was lacking where nothing was found."""
        if self.failed is not None:
            return self.failed
        shape, count = int(self.session.snapshot.tasks.shape[self.unit.tasks[0]]), len(self.unit.tasks)
        said = "no way was found to place all of them as they wish"
        if self.left <= 0:
            said += f" before the search stopped after {self.tried} ways"
        return Lack(shape, count, count - 1, 1, domain=said)


def _in_segments(part: Part) -> bool:
    """Tell whether its own tasks are whole segments."""
    return part.wish is not None and part.wish.segment is not None and len(part.tasks) > 0


def _in_turn(part: Part) -> tuple[list[Part], list[Part]]:
    """Return the parts that are placed before its own tasks, and after them."""
    children = sorted(part.children, key=lambda child: -len(child.every))
    size = part.wish.size if part.wish is not None and len(part.tasks) else 0
    late = [child.segment != NO_SEGMENT and not len(child.there) and len(child.tasks) < size for child in children]
    return [child for child, after in zip(children, late, strict=True) if not after], [
        child for child, after in zip(children, late, strict=True) if after
    ]


def _ways(room: Int, count: int, of: Int | None, piece: int) -> Iterator[list[int]]:
    """Yield every way to spread so many copies over nodes; in whole pieces per domain, where `of` says these."""
    if of is None:
        yield from spreads(room.tolist(), count)
        return
    domains = np.unique(of[of >= 0])
    inside = [np.flatnonzero(of == domain) for domain in domains.tolist()]
    for pieces in spreads([int(room[rows].sum()) // piece for rows in inside], count // piece):
        counts = [0] * len(room)
        for _ in _filled(room, [(rows, piece * many) for rows, many in zip(inside, pieces, strict=True)], counts):
            yield list(counts)


def _filled(room: Int, parts: list[tuple[Int, int]], counts: list[int]) -> Iterator[None]:
    """Write every way to spread so many copies over the nodes of each part."""
    if not parts:
        yield
        return
    rows, count = parts[0]
    for found in spreads(room[rows].tolist(), count):
        for row, copies_there in zip(rows.tolist(), found, strict=True):
            counts[row] = copies_there
        yield from _filled(room, parts[1:], counts)


def distinct_shapes(session: Session, tasks: Int) -> list[int]:
    """Return the shapes of tasks, by the first task of each, never by number."""
    shapes = session.snapshot.tasks.shape[tasks]
    found, first = np.unique(shapes, return_index=True)
    ordered: list[int] = found[np.argsort(first)].tolist()
    return ordered
