"""Ranks: the order of a gang's members, and which segment each is in."""

import re
from collections.abc import Mapping, Sequence

from phalanx.model.gang import Gang, Subgroup, every, holders
from phalanx.model.task import State, Task

#: In the place of a segment: it is in none.
NO_SEGMENT = -1
_NUMBERS = re.compile("([0-9]{1,18})")
#: One of these has a successor with its rank, or needs none.
_GONE = frozenset({State.RELEASING, State.FAILED})


def ranked(members: Sequence[Task]) -> list[Task]:
    """Return members in the order of their indexes; where some have none, of the numbers in their names."""
    indexes = [task.index for task in members]
    if all(indexes) and len(set(indexes)) == len(indexes):
        return sorted(members, key=lambda task: task.index)
    return sorted(members, key=lambda task: _natural(task.full_name))


def segments_of(gang: Gang, members: Sequence[Task]) -> Mapping[str, int]:
    """Return the segment of each member by uid: of its gang, or of the subgroup that wishes something of its own."""
    parts: list[Gang | Subgroup] = [gang, *every(gang.subgroups)]
    wishing = {"" if part is gang else part.name: part.segments for part in parts if part.segments is not None}
    holder = holders(gang) if wishing else {}
    found: dict[str, int] = {}
    for name, segments in wishing.items():
        mine = [task for task in members if task.state not in _GONE and holder[_subgroup(task)] == name]
        line = ranked(mine)
        indexes = [task.index for task in line]
        # With an index each of its own, one that is missing leaves a gap.
        said = all(len(one) == 1 for one in indexes) and len(set(indexes)) == len(indexes)
        found.update({task.uid: (task.index[0] if said else at) // segments.size for at, task in enumerate(line)})
    return found


def _subgroup(task: Task) -> str:
    return (task.membership.subgroup if task.membership else None) or ""


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a name to sort by, in which `worker-2` stands before `worker-10`."""
    # Every other piece is a number.
    return [(int(part), "") if at % 2 else (-1, part) for at, part in enumerate(_NUMBERS.split(name))]
