"""A job of a trace: what one row, or the rows of one name, say of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Job:
    """Equal pods that start together, or one pod."""

    name: str
    #: In seconds since the trace begins, or since 1970; what counts is the time between jobs.
    arrival: float
    #: In seconds; None: for ever.
    runtime: float | None = None
    members: int = 1
    #: Per pod: milli-cores, MiB, whole GPUs, and thousandths of each GPU where it takes a part of one.
    cpu: int = 0
    memory: int = 0
    gpus: int = 0
    part: int = 1000
    #: GPUs that serve it; empty: any.
    models: tuple[str, ...] = ()
    queue: str | None = None
    user: str | None = None
    priority: int = 0
    #: The part of its time that it talks, where that is known.
    communication: float | None = None

    @property
    def milli(self) -> int:
        """Return how much of GPUs all its pods take, in thousandths."""
        return self.members * self.gpus * self.part

    @property
    def gpu_seconds(self) -> float:
        """Return its work; of what runs for ever, none."""
        return self.milli / 1000 * (self.runtime or 0.0)
