"""The life of a gang on the pretend cluster, from its first member to its end."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from phalanx.model.gang import Gang, leaves
from phalanx.model.plan import Reason
from phalanx.model.task import Task
from phalanx.world.gangs import gang_key


@dataclass(slots=True)
class Life:
    """One gang from its first member to its end, as the cluster saw it."""

    name: str
    ours: bool
    created: float
    #: None: it works for ever.
    runtime: float | None
    #: The name of its queue, whether or not there is such a queue; None for others' pods.
    queue: str | None = None
    #: uids of unfinished members, and of those that run.
    members: dict[str, None] = field(default_factory=dict[str, None])
    running: dict[str, None] = field(default_factory=dict[str, None])
    #: When enough members were there for the first time.
    complete: float | None = None
    #: When its work began for the first time.
    started: float | None = None
    working: bool = False
    finished: float | None = None
    #: Its pods died and nobody makes them again.
    lost: bool = False
    #: How often its work began, and how often it was interrupted and lost.
    attempt: int = 0
    interruptions: int = 0
    #: How many of its pods were evicted.
    evictions: int = 0
    #: Why it waited, the last time it did.
    reason: Reason | None = None


def life_key(task: Task) -> str:
    """Return the key of a task's life: its gang, or the pod's own name."""
    return gang_key(task) if task.membership else f"pod/{task.full_name}"


def enough(gang: Gang | None, tasks: Iterable[Task]) -> bool:
    """Tell whether these tasks reach the gang's minimum and every subgroup's."""
    inside = [task.membership.subgroup if task.membership else None for task in tasks]
    if gang is None:
        return bool(inside)
    return len(inside) >= gang.minimum and all(
        inside.count(part.name) >= part.minimum for part in leaves(gang.subgroups)
    )
