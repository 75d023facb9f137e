"""The life of a gang on the pretend cluster, from its first member to its end."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from phalanx.model.closeness import Closeness
from phalanx.model.gang import Gang
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
    #: Whose it is inside its queue; None: the policy does not look at users.
    user: str | None = None
    #: Those of its first pod.
    priority: int = 0
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    #: uids of unfinished members, and of those that run.
    members: dict[str, None] = field(default_factory=dict[str, None])
    running: dict[str, None] = field(default_factory=dict[str, None])
    #: When enough members were there for the first time.
    complete: float | None = None
    #: When its work began for the first time.
    started: float | None = None
    working: bool = False
    #: How many times as long its work takes, where it began last, as where its members talk fastest.
    stretch: float = 1.0
    #: How close its members were when its work began for the first time, if there are domains.
    closeness: Closeness | None = None
    finished: float | None = None
    #: When it was over: finished, taken away, or lost.
    over: float | None = None
    #: Its pods died and nobody makes them again.
    lost: bool = False
    #: How often its work began, and how often it was interrupted and lost.
    attempt: int = 0
    interruptions: int = 0
    #: How many of its pods were evicted, by the action that did it.
    evicted: Counter[str] = field(default_factory=Counter[str])
    #: Devices of its members that run; up to when the sums below are right; for how long it worked in all.
    devices: int = 0
    noted: float = 0.0
    worked: float = 0.0
    #: Devices × seconds: of the work that goes on, and of work that was interrupted and has to be done again.
    underway: float = 0.0
    wasted: float = 0.0
    #: Why it waited, the last time it did.
    reason: Reason | None = None

    @property
    def evictions(self) -> int:
        """Return how many of its pods were evicted."""
        return self.evicted.total()

    def note(self, now: float, devices: int = 0) -> None:
        """Bring the sums up to now; from now on its running members have so many devices."""
        if self.working:
            self.worked += now - self.noted
            self.underway += (now - self.noted) * self.devices
        self.noted, self.devices = now, devices

    def stop(self) -> None:
        """Its work is interrupted. What never ends, such as a service, has nothing to do again."""
        self.interruptions += 1
        self.wasted += 0.0 if self.runtime is None else self.underway
        self.underway = 0.0

    def waited(self, now: float) -> float | None:
        """Return how long it had enough members and did not work, up to now; None if it never had enough.

        Before its first start, and again after every interruption.
        """
        if self.complete is None:
            return None
        end = now if self.over is None else self.over
        going_on = end - self.noted if self.working else 0.0
        return max(end - self.complete - self.worked - going_on, 0.0)


def life_key(task: Task) -> str:
    """Return the key of a task's life: its gang, or the pod's own name."""
    return gang_key(task) if task.membership else f"pod/{task.full_name}"


def enough(gang: Gang | None, tasks: Iterable[Task]) -> bool:
    """Tell whether these tasks reach the gang's minimum and every subgroup's."""
    inside = Counter((task.membership.subgroup if task.membership else None) or "" for task in tasks)
    return not gang.lacks(inside.total(), inside) if gang is not None else bool(inside)
