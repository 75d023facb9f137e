"""Every way to place a gang with wishes, tried one by one: who finds none may say that there is none."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations


@dataclass(frozen=True)
class Place:
    """A node: its GPUs, its domain of each level, and who is there: a `pod`, or the `owner` of its rack, with a GPU."""

    gpus: int
    domains: Mapping[str, str]
    guest: str = ""

    @property
    def free(self) -> int:
        """Return the GPUs that nobody has."""
        return self.gpus - bool(self.guest)


@dataclass(frozen=True)
class Member:
    """A task: its GPUs, its subgroup, and its segment by a name of its own."""

    gpus: int
    subgroup: str = ""
    segment: str = ""

    @property
    def parts(self) -> set[str]:
        """Return what may require one domain for it and others: its gang, its subgroup, its segment."""
        return {"", self.subgroup, self.segment}


@dataclass(frozen=True)
class Problem:
    """A gang, and the level that it, each of its subgroups and each segment requires (none: absent)."""

    places: Sequence[Place]
    members: Sequence[Member]
    required: Mapping[str, str]
    #: The same: the level of which its domains are its own. Nobody else may be there.
    exclusive: Mapping[str, str] = field(default_factory=dict[str, str])

    def closed(self, member: Member, at: int) -> bool:
        """Tell whether somebody who was there before keeps a member out, or may not be there with it."""
        here = self.places[at].domains
        if any(self.exclusive[part] not in here for part in member.parts & self.exclusive.keys()):
            return True
        return any(self._minds(member, one, here) for one in self.places if one.guest)

    def _minds(self, member: Member, one: Place, here: Mapping[str, str]) -> bool:
        levels = [self.exclusive[part] for part in member.parts & self.exclusive.keys()]
        levels += ["rack"] if one.guest == "owner" else []
        return any(level in here and one.domains.get(level) == here[level] for level in levels)

    def apart(self, one: Member, first: int, other: Member, second: int) -> bool:
        """Tell whether two members may be at these places."""
        levels = [self.exclusive[part] for part in (one.parts ^ other.parts) & self.exclusive.keys()]
        here, there = self.places[first].domains, self.places[second].domains
        return not any(level in here and here[level] == there.get(level) for level in levels)


class _Search:
    """Places member after member, those that are equal in the order of the places."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._free = [place.free for place in problem.places]
        members = problem.members
        self._order = sorted(
            range(len(members)), key=lambda at: (members[at].subgroup, members[at].segment, -members[at].gpus)
        )
        self._chosen: list[int] = []
        self._homes: dict[str, list[str]] = {}

    def ways(self) -> Iterator[list[int]]:
        problem, depth = self._problem, len(self._chosen)
        if depth == len(self._order):
            where = dict(zip(self._order, self._chosen, strict=True))
            yield [where[at] for at in range(depth)]
            return
        member = problem.members[self._order[depth]]
        twin = depth > 0 and problem.members[self._order[depth - 1]] == member
        for at in range(self._chosen[-1] if twin else 0, len(problem.places)):
            if self._fits(member, at):
                parts = member.parts & problem.required.keys()
                for part in parts:
                    home = problem.places[at].domains[problem.required[part]]
                    self._homes.setdefault(part, []).append(home)
                self._free[at] -= member.gpus
                self._chosen.append(at)
                yield from self.ways()
                self._chosen.pop()
                self._free[at] += member.gpus
                for part in parts:
                    self._homes[part].pop()

    def _fits(self, member: Member, at: int) -> bool:
        domains = self._problem.places[at].domains
        for part in member.parts & self._problem.required.keys():
            level = self._problem.required[part]
            if level not in domains or any(home != domains[level] for home in self._homes.get(part, ())):
                return False
        problem = self._problem
        if problem.closed(member, at) or self._free[at] < member.gpus:
            return False
        before = zip(self._order, self._chosen, strict=False)
        return all(problem.apart(member, at, problem.members[row], place) for row, place in before)


def ways(problem: Problem) -> Iterator[list[int]]:
    """Yield every assignment of members to places that keeps the wishes."""
    return _Search(problem).ways()


def keeps(problem: Problem, found: Sequence[int]) -> bool:
    """Tell whether an assignment keeps the wishes and has room for everybody."""
    free = [place.free for place in problem.places]
    homes: dict[str, set[str | None]] = {}
    for member, at in zip(problem.members, found, strict=True):
        free[at] -= member.gpus
        for part in member.parts & problem.required.keys():
            homes.setdefault(part, set()).add(problem.places[at].domains.get(problem.required[part]))
    together = all(len(one) == 1 and None not in one for one in homes.values())
    placed = list(zip(problem.members, found, strict=True))
    alone = all(problem.apart(*one, *other) for one, other in combinations(placed, 2))
    return min(free) >= 0 and together and alone and not any(problem.closed(*one) for one in placed)


def fewest(problem: Problem, level: str) -> int | None:
    """Return the least number of domains of a level in which the gang can be; None: in none.

    All nodes that are in no domain of the level count as one.
    """
    found = ({problem.places[at].domains.get(level, "none") for at in way} for way in ways(problem))
    return min(map(len, found), default=None)
