"""What a policy remembers of the past: over which window, and how fast it fades; of queues, and of users in them."""

from collections.abc import Mapping
from dataclasses import dataclass

from phalanx.model.axis import Float, Int
from phalanx.model.duration import Seconds
from phalanx.model.task import Task

_WEEK = Seconds(7 * 86_400.0)
#: After so many half-lives use is forgotten: less than half a hundredth of it would count.
_HALF_LIVES = 8


@dataclass(frozen=True, slots=True)
class Memory:
    """Use counts for so many seconds; with a half-life, what is older counts less."""

    window: Seconds = _WEEK
    half_life: Seconds | None = None

    def __post_init__(self) -> None:
        if not 60 <= self.window <= 366 * 86_400:
            raise ValueError(f"window: found {self.window:g} s, allowed is 1m to 366d")
        if self.half_life is not None and not 60 <= self.half_life <= 366 * 86_400:
            raise ValueError(f"halfLife: found {self.half_life:g} s, allowed is 1m to 366d")


@dataclass(frozen=True, slots=True)
class ByUser:
    """Use of each user of a queue is remembered. A user is one value of a label or an annotation, or a namespace."""

    #: At most one of the two; both empty: the namespace.
    label: str
    annotation: str
    half_life: Seconds
    resources: tuple[str, ...]

    def __post_init__(self) -> None:
        if not 60 <= self.half_life <= 30 * 86_400:
            raise ValueError(f"halfLife: found {self.half_life:g} s, allowed is 1m to 30d")
        if self.label and self.annotation:
            raise ValueError(f"annotation: found {self.annotation} beside label, allowed is one of the two")

    @property
    def memory(self) -> Memory:
        """Return how it is remembered."""
        return Memory(Seconds(self.half_life * _HALF_LIVES), self.half_life)

    def name(self, task: Task) -> str:
        """Return whose a pod is. Those without the label, or annotation, are one user, whose name is empty."""
        if self.annotation:
            return task.annotations.get(self.annotation, "")
        return task.labels.get(self.label, "") if self.label else task.namespace


@dataclass(frozen=True, slots=True)
class UserTable:
    """Every user of whom something is known, one row each, sorted by (queue, user)."""

    users: tuple[tuple[str, str], ...]
    row: Mapping[tuple[str, str], int]
    resources: tuple[str, ...]
    #: [resource]: what ready nodes have.
    total: Int
    #: [user, resource]: what its pods have on nodes or on their way there.
    has: Int
    #: [user, resource]: the part of the cluster that it used over the past, faded.
    used: Float
