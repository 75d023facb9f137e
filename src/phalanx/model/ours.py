"""Whose pods are ours, and what of them is kept although only a policy knows what it is for."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ours(Collection[str]):
    """The scheduler names whose pods are ours."""

    names: tuple[str, ...]
    #: Annotations of pods that some plugin reads; all others are forgotten once a pod is read.
    noted: tuple[str, ...] = ()

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def noted_by(schedulers: Collection[str]) -> tuple[str, ...]:
    """Return the annotations that are kept; none where only names are known."""
    return schedulers.noted if isinstance(schedulers, Ours) else ()
