"""The report: what a run was worth, in numbers that can be compared between policies.

Every share is weighted by time. Definitions are in docs/simulate.md, with the words used here.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from phalanx.model.axis import CPU, Float, unit
from phalanx.model.closeness import Closeness
from phalanx.sim.meter import Meter
from phalanx.sim.network import JobTimes, job_times
from phalanx.sim.queue_report import QueueRun, Waiting, queue_reports, waiting
from phalanx.sim.simulator import Simulator
from phalanx.sim.steps import Steps
from phalanx.sim.telling import short
from phalanx.sim.user_report import UserRun, user_reports
from phalanx.world.views import nodes_of

#: Points of the line over time: as wide as a terminal of 80 columns allows.
POINTS = 60


@dataclass(frozen=True, slots=True)
class Use:
    """One resource: all there is at the end, and the shares of it over time."""

    resource: str
    capacity: int
    held: float
    working: float
    #: At the end, in whole units.
    held_at_end: float
    working_at_end: float


@dataclass(frozen=True, slots=True)
class NeverStarted:
    """A gang whose work never began, and why it waited the last time it was looked at."""

    gang: str
    reason: str


@dataclass(frozen=True, slots=True)
class Closenesses:
    """How close gangs of several pods were when their work began: means over the gangs."""

    gangs: int
    level: str
    domains: float
    distance: float


@dataclass(frozen=True, slots=True)
class Split:
    """A gang that was no longer in one domain as it must be, since nodes were relabelled."""

    at: float
    what: str


@dataclass(frozen=True, slots=True)
class Report:
    """One run."""

    policy: str
    seed: int
    end: float
    cycles: int
    #: Ctrl-C came before the end.
    interrupted: bool
    nodes: int
    gangs: int
    started: int
    finished: int
    #: Gangs whose pods died and were not made again.
    lost: int
    #: How often work was lost because a gang was no longer whole.
    interruptions: int
    #: Pods that had to leave for others, or because their gang was broken.
    evictions: int
    never_started: tuple[NeverStarted, ...]
    waiting: Waiting | None
    #: From the first arrival to the last end; None when nothing ended.
    makespan: float | None
    device: Use
    cpu: Use
    #: Free devices on partly used nodes ÷ all free devices; None when none was ever free.
    fragmentation: float | None
    #: The device's shares over equal parts of the time.
    held_over_time: tuple[float, ...]
    working_over_time: tuple[float, ...]
    #: Children behind their parent. Without any Queue object: `default` alone.
    queues: tuple[QueueRun, ...]
    #: Where the policy looks at users inside queues.
    users: tuple[UserRun, ...]
    #: Where nodes are in domains, of gangs of several pods.
    closeness: Closenesses | None = None
    #: Gangs that relabelling split, and when.
    splits: tuple[Split, ...] = ()
    #: Where a network is described.
    job_times: JobTimes | None = None

    def json(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return asdict(self)


def report(simulator: Simulator, *, interrupted: bool = False, points: int = POINTS) -> Report:
    """Return what the run was worth so far, with lines over time of so many points."""
    meter, lives, end = simulator.cluster.meter, simulator.lives, simulator.now
    times, totals = meter.history()
    columns = {name: totals[:, column] for column, name in enumerate(Meter.COLUMNS)}
    weights = np.diff(np.append(times, end))
    if not weights.any():
        # Everything happened at one instant: what holds after it is what there is to say.
        weights[-1] = 1.0
    ends = [life.finished for life in lives if life.finished is not None]
    return Report(
        policy=simulator.policy.name,
        seed=simulator.seed,
        end=end,
        cycles=simulator.cycles,
        interrupted=interrupted,
        nodes=len(nodes_of(simulator.world)),
        gangs=len(lives),
        started=sum(life.started is not None for life in lives),
        finished=len(ends),
        lost=sum(life.lost for life in lives),
        interruptions=sum(life.interruptions for life in lives),
        evictions=sum(life.evictions for life in lives),
        never_started=tuple(
            NeverStarted(life.name, str(life.reason or "it was never looked at"))
            for life in lives
            if life.started is None and not life.lost
        ),
        waiting=waiting(lives),
        makespan=max(ends) - min(life.created for life in lives) if ends else None,
        device=_use(meter.device, "device", columns, weights),
        cpu=_use(CPU, "cpu", columns, weights),
        fragmentation=_share(columns["device_free_on_partly_used_nodes"], columns["device_free"], weights),
        held_over_time=_over_time(times, end, columns["device_held"], columns["device_capacity"], points),
        working_over_time=_over_time(times, end, columns["device_working"], columns["device_capacity"], points),
        queues=queue_reports(simulator.cluster.queues, lives, end, points),
        users=user_reports(simulator.cluster.users, lives, end),
        closeness=_closeness([life.closeness for life in lives if life.closeness is not None]),
        splits=tuple(Split(at, what) for what, at in simulator.cluster.places.splits.items()),
        job_times=job_times(
            [(life.runtime, life.stretch) for life in lives if life.started is not None and life.runtime is not None]
        )
        if simulator.cluster.places.networked
        else None,
    )


def _closeness(found: Sequence[Closeness]) -> Closenesses | None:
    if not found:
        return None
    domains, distance = sum(one.domains for one in found), sum(one.distance for one in found)
    return Closenesses(len(found), found[-1].level, domains / len(found), distance / len(found))


def never_by_reason(found: Report) -> dict[str, list[str]]:
    """Return the gangs that never started, in short, by why they waited last."""
    reasons: dict[str, list[str]] = {}
    for one in found.never_started:
        reasons.setdefault(one.reason, []).append(short(one.gang))
    return reasons


def _use(resource: str, prefix: str, columns: dict[str, Float], weights: Float) -> Use:
    capacity, held, working = (columns[f"{prefix}_{what}"] for what in ("capacity", "held", "working"))
    units = unit(resource)
    return Use(
        resource,
        int(capacity[-1]) // units,
        _share(held, capacity, weights) or 0.0,
        _share(working, capacity, weights) or 0.0,
        float(held[-1]) / units,
        float(working[-1]) / units,
    )


def _share(part: Float, whole: Float, weights: Float) -> float | None:
    """Return part ÷ whole, both summed over time; None where there was nothing to share."""
    total = float(whole @ weights)
    return float(part @ weights) / total if total else None


def _over_time(times: Float, end: float, part: Float, whole: Float, points: int) -> tuple[float, ...]:
    """Return part ÷ whole in each of equally long stretches of the run."""
    parts, wholes = (Steps(times, column).means(end, points) for column in (part, whole))
    shares = np.divide(parts, wholes, out=np.zeros(len(parts)), where=wholes > 0)
    return tuple(np.clip(shares, 0.0, None).round(6).tolist())
