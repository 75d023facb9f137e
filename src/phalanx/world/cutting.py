"""Cutting: rows of gangs that changed take the place of the old ones; everything else is copied in whole stretches."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from phalanx.model.axis import Int

Thing = TypeVar("Thing")


class Cut(NamedTuple):
    """Rows `first` to `last` (not included) of the old columns give way to rows `since` to `until` of the new."""

    first: int
    last: int
    since: int
    until: int


def cuts_of(
    changed: Sequence[str], old: Sequence[str], old_count: Int, new: Sequence[str], new_count: Int
) -> tuple[list[Cut], list[Cut]]:
    """Return where the rows of these gangs are, and where those of their tasks are; all keys are sorted."""
    before, after = (np.concatenate(([0], np.cumsum(count))) for count in (old_count, new_count))
    of_gangs, of_tasks = [], []
    for key in changed:
        first, since = bisect_left(old, key), bisect_left(new, key)
        last = first + (list(old[first : first + 1]) == [key])
        until = since + (list(new[since : since + 1]) == [key])
        of_gangs.append(Cut(first, last, since, until))
        of_tasks.append(Cut(int(before[first]), int(before[last]), int(after[since]), int(after[until])))
    return of_gangs, of_tasks


def cut_list(old: list[Thing], new: list[Thing], cuts: Sequence[Cut]) -> bool:
    """Change a list in place; tell whether it is another one now."""
    changed = False
    for cut in reversed(cuts):
        there, here = old[cut.first : cut.last], new[cut.since : cut.until]
        if len(there) != len(here) or any(a is not b and a != b for a, b in zip(there, here, strict=True)):
            old[cut.first : cut.last] = here
            changed = True
    return changed


def cut_array(old: NDArray[Any], new: NDArray[Any], cuts: Sequence[Cut]) -> NDArray[Any]:
    """Return an array with the new rows in it."""
    parts = []
    done = 0
    for cut in cuts:
        parts += [old[done : cut.first], new[cut.since : cut.until]]
        done = cut.last
    return np.concatenate([*parts, old[done:]])
