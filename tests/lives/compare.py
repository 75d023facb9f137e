"""What differs between two plays, and what of it is explained in docs/volcano.md."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.lives.pictures import Picture

_OVER = {"Completed", "Failed", "Terminated", "Aborted"}
_COUNTS = {"succeeded", "failed"}


class Difference(NamedTuple):
    """One field of one Job after one round."""

    job: str
    round: int
    path: tuple[str, ...]
    theirs: Any
    ours: Any

    def __str__(self) -> str:
        return (
            f"{self.job}, round {self.round}: {'.'.join(self.path)}: {str(self.theirs)[:160]} | {str(self.ours)[:160]}"
        )


def differences(
    theirs: dict[str, list[Picture]], ours: dict[str, list[Picture]]
) -> Iterator[tuple[Difference, str | None]]:
    """Yield every difference with its explanation; None: there is none."""
    for job, rounds in theirs.items():
        assert len(ours[job]) == len(rounds), job
        for number, (before, after) in enumerate(zip(rounds, ours[job], strict=True)):
            over = {_phase(one) for one in (before, after)} <= _OVER
            last = number == len(rounds) - 1
            for path, one, other in _walk((), before, after):
                found = Difference(job, number, path, one, other)
                yield found, _explained(found, over=over, last=last)


def _phase(picture: Picture) -> str:
    found: dict[str, Any] = next(iter(picture.get("jobs", {}).values()), {})
    return str(found.get("phase", "Completed"))


def _walk(path: tuple[str, ...], one: Any, other: Any) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            yield from _walk((*path, key), one.get(key), other.get(key))
    elif one != other:
        yield path, one, other


def _explained(found: Difference, *, over: bool, last: bool) -> str | None:
    kind, field = found.path[0], found.path[-1]
    theirs, ours = found.theirs, found.ours
    # Volcano's version rises with everything that it hears of a Job on its way out.
    if field in {"version", "volcano.sh/job-version"}:
        why, holds = "versions", int(theirs or 0) > 0 and int(ours or 0) > 0
    elif found.job == "late" and last:
        # Seen in most recordings: two timers that end together, and the Job is pending again.
        why, holds = "an action after a timeout that Volcano loses", True
    elif found.job == "fleeting" and not last:
        why, holds = "when the collector of garbage comes", True
    elif kind == "jobs" and over and (field in _COUNTS or "tasks" in found.path):
        why, holds = "counts of the end", not theirs
    elif kind == "jobs" and field == "conditions":
        same = sorted(theirs or ()) == sorted(ours or ()) and theirs[-1] == ours[-1]
        why, holds = "order of phases on the way", same
    else:
        why, holds = "how often it is told", kind == "events" and bool(theirs and ours)
    return why if holds else None
