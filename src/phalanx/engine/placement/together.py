"""Together: places for a unit with wishes, part by part, each in a domain of its own choice; and the way back.

Each part tries its domains, the best first, and each group of equal tasks its ways to lie on the nodes there. What
later parts cannot live with is taken back and the next way is tried, as long as there are steps left: so what can be
placed is placed, unless the steps run out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from phalanx.engine.kernels.spreads import spreads
from phalanx.engine.placement.copies import copies, fits_there, reaches
from phalanx.engine.placement.domains import Choice, choices, fill, most, wanted_by
from phalanx.engine.placement.find import NO_TASKS, request_of
from phalanx.engine.placement.wishes import EVERYWHERE, Part, Wish
from phalanx.engine.policy import Policy
from phalanx.engine.session.request import Request, When
from phalanx.engine.session.session import Session
from phalanx.engine.session.units import Lack, Taken, Unit
from phalanx.model.axis import Bool, Int

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
        groups = self._groups(part)
        requests = self._requests(distinct_shapes(self.session, part.every), part.every)
        wanted = wanted_by(self.session, self.policy, requests) if requests else None
        found = False
        for choice in choices(part, wanted, within) if wanted is not None else iter([Choice(EVERYWHERE, within)]):
            found = True
            # The largest first: it has the least choice.
            jobs = [*(self._inner(child) for child in sorted(part.children, key=lambda child: -len(child.every))),
                    *(self._group(part.wish, choice, part.there, shape, tasks) for shape, tasks in groups)]  # fmt: skip
            yield from self._all(jobs, choice.inside)
            if self.left <= 0:
                return
        if not found and self.failed is None and wanted is not None and not self.placed:
            fit, said = most(self.session, part, wanted, within)
            self.failed = self._lack(part, fit, said)

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
            for counts in spreads(room[nodes].tolist(), len(tasks)):
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
        return Lack(shape, wanted, min(fit, max(wanted - 1, 0)), own, part=part.name, domain=said)

    def lack(self) -> Lack:
        """Return what was lacking where nothing was found."""
        if self.failed is not None:
            return self.failed
        shape, count = int(self.session.snapshot.tasks.shape[self.unit.tasks[0]]), len(self.unit.tasks)
        said = "no way was found to place all of them as they wish"
        if self.left <= 0:
            said += f" before the search stopped after {self.tried} ways"
        return Lack(shape, count, count - 1, 1, domain=said)


def distinct_shapes(session: Session, tasks: Int) -> list[int]:
    """Return the shapes of tasks, by the first task of each, never by number."""
    shapes = session.snapshot.tasks.shape[tasks]
    found, first = np.unique(shapes, return_index=True)
    ordered: list[int] = found[np.argsort(first)].tolist()
    return ordered
