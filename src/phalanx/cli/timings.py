"""Timings: how long each stage of a command took, and the most memory it held."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

from phalanx.model.plan import Plan
from phalanx.model.snapshot import Snapshot
from phalanx.world.world import World

_STAGES = ("policy", "read", "decode", "admit", "apply", "compile", "decide", "output")


@dataclass(slots=True)
class Timings:
    """A stopwatch per stage. A stage inside another stops the outer one's watch."""

    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_STAGES, 0.0))
    _running: list[str] = field(default_factory=list[str])
    _since: float = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time inside for this stage."""
        self._turn()
        self._running.append(name)
        try:
            yield
        finally:
            self._turn()
            self._running.pop()

    def _turn(self) -> None:
        """Book the time since the last turn on whichever stage runs."""
        now = perf_counter()
        if self._running:
            self.seconds[self._running[-1]] += now - self._since
        self._since = now

    def lines(self) -> list[str]:
        """Return a table for people."""
        rows = [*self.seconds.items(), ("total", sum(self.seconds.values()))]
        spent = [f"{name:<8} {seconds:8.3f} s" for name, seconds in rows]
        return [*spent, f"memory   {_peak_bytes() / 2**20:8.0f} MiB at most"]


def _peak_bytes() -> float:
    """Return the most memory that this process held; no number where the system does not count it."""
    try:
        import resource  # noqa: PLC0415 (there is none on Windows)
    except ModuleNotFoundError:
        return float("nan")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


class TimedWorld(World):
    """A world that books its own share of a cycle."""

    def __init__(self, label_keys: frozenset[str], devices: tuple[str, ...], timings: Timings) -> None:
        super().__init__(label_keys, devices)
        self._timings = timings

    def compile(self, now: float) -> Snapshot:
        """As in any world."""
        with self._timings.stage("compile"):
            return super().compile(now)

    def assume(self, plan: Plan) -> None:
        """As in any world."""
        with self._timings.stage("apply"):
            super().assume(plan)
