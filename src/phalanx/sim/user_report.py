"""What a run was worth to each user of a queue. Empty where the policy does not look at users."""

from dataclasses import dataclass

from phalanx.model.axis import unit
from phalanx.sim.life import Life
from phalanx.sim.queue_meter import QueueMeter
from phalanx.sim.queue_report import Waiting, waiting


@dataclass(frozen=True, slots=True)
class UserRun:
    """One user of one queue: means over the run, in whole units."""

    queue: str
    #: Empty: all whose pods do not have the label.
    user: str
    device: float
    cpu: float
    gangs: int
    started: int
    finished: int
    waiting: Waiting | None


def user_key(queue: str, user: str) -> str:
    """Return the name of a user in the books. Names of queues have no line breaks."""
    return f"{queue}\n{user}"


def user_reports(meter: QueueMeter, lives: list[Life], end: float) -> tuple[UserRun, ...]:
    """Return a line per user, sorted by queue and name."""
    inside: dict[tuple[str, str], list[Life]] = {}
    for life in lives:
        if life.queue is not None and life.user is not None:
            inside.setdefault((life.queue, life.user), []).append(life)
    cpu, device = meter.resources
    return tuple(
        UserRun(
            queue=queue,
            user=user,
            device=meter.allocated(user_key(queue, user), device).mean(0.0, end) / unit(device),
            cpu=meter.allocated(user_key(queue, user), cpu).mean(0.0, end) / unit(cpu),
            gangs=len(own),
            started=sum(life.started is not None for life in own),
            finished=sum(life.finished is not None for life in own),
            waiting=waiting(own),
        )
        for (queue, user), own in sorted(inside.items())
    )
