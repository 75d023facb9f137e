"""What a run was worth to each class of work. A class is what the user says: a queue, a priority or a label."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from phalanx.model.axis import unit
from phalanx.model.quantity import shown
from phalanx.sim.life import Life
from phalanx.sim.simulator import Simulator

#: The class of whatever has no such label.
OTHERS = "others"
_LABEL = "label:"
_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class ClassWaiting:
    """How long gangs waited in all. Each is a wait that happened."""

    p50: float
    p95: float
    longest: float


@dataclass(frozen=True, slots=True)
class ClassRun:
    """One class of work in one run."""

    name: str
    gangs: int
    started: int
    finished: int
    #: Over the gangs that had enough members at all, those too that still wait in the end.
    waiting: ClassWaiting | None
    #: Pods that had to leave, by action; those of `consolidate` were moved.
    evicted: Mapping[str, int]
    #: How often work was lost because a gang was no longer whole, and how many device hours of it.
    interruptions: int
    hours_lost: float

    @property
    def moved(self) -> int:
        """Return how many pods had to leave for another place that was there for them."""
        return self.evicted.get("consolidate", 0)

    @property
    def taken(self) -> int:
        """Return how many pods had to leave, and wait again."""
        return sum(self.evicted.values()) - self.moved


def classifier(by: str) -> Callable[[Life], str]:
    """Return what tells the class of a gang: `queue`, `priority` or `label:KEY`; else raise ValueError."""
    if by == "queue":
        return lambda life: life.queue or OTHERS
    if by == "priority":
        return lambda life: str(life.priority)
    key = by.removeprefix(_LABEL)
    if key and by.startswith(_LABEL):
        return lambda life: life.labels.get(key, OTHERS)
    raise ValueError(f"found {shown(by)}, allowed is queue, priority or label:KEY")


def class_runs(simulator: Simulator, by: str) -> tuple[ClassRun, ...]:
    """Return a line per class, by name; priorities from the highest down."""
    name_of = classifier(by)
    inside: dict[str, list[Life]] = {}
    for life in simulator.lives:
        inside.setdefault(name_of(life), []).append(life)
    device_hour = unit(simulator.cluster.meter.device) * _HOUR
    return tuple(_class_run(name, inside[name], simulator.now, device_hour) for name in in_order(inside, by))


def in_order(names: Iterable[str], by: str) -> list[str]:
    """Return names of classes as they are shown."""
    return sorted(names, key=lambda name: -int(name)) if by == "priority" else sorted(names)


def _class_run(name: str, lives: list[Life], now: float, device_hour: float) -> ClassRun:
    evicted: Counter[str] = Counter()
    for life in lives:
        evicted += life.evicted
    return ClassRun(
        name=name,
        gangs=len(lives),
        started=sum(life.started is not None for life in lives),
        finished=sum(life.finished is not None for life in lives),
        waiting=_waiting([waited for life in lives if (waited := life.waited(now)) is not None]),
        evicted=dict(sorted(evicted.items())),
        interruptions=sum(life.interruptions for life in lives),
        hours_lost=sum(life.wasted for life in lives) / device_hour,
    )


def _waiting(waits: list[float]) -> ClassWaiting | None:
    if not waits:
        return None
    p50, p95 = np.percentile(waits, [50, 95], method="inverted_cdf").tolist()
    return ClassWaiting(p50, p95, max(waits))
