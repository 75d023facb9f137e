"""Draw: which of a trace's jobs take part, and when. Chance comes from a seed; the same seed draws the same."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from phalanx.sim.traces.job import Job
from phalanx.sim.traces.rows import TraceError

#: By default an arrival a second where a trace has no times, or its times do not count.
APART = 1.0


@dataclass(frozen=True, slots=True)
class Draw:
    """What is done to a trace before it runs."""

    #: Jobs that arrive in this stretch of the trace alone, in seconds since its first job.
    window: tuple[float, float] | None = None
    #: This part of the jobs, drawn without replacement.
    sample: float = 1.0
    #: Arrivals are drawn together or apart until the work offered is so many times what the GPUs can do.
    load: float | None = None
    #: In random order, one each second, as FGD's experiment has it: times of the trace do not count.
    shuffle: bool = False
    #: Jobs are drawn again, with replacement, until they ask for so many times the GPUs there are.
    inflate: float | None = None
    #: Nothing ends.
    endless: bool = False


def draw(jobs: Sequence[Job], wish: Draw, seed: int, milli: int) -> list[Job]:
    """Return the jobs in the order of their arrival, from time zero on; `milli`: the thousandths of GPUs there are."""
    chance = random.Random(seed)  # noqa: S311 (no secret)
    found = sorted(jobs, key=lambda job: job.arrival)
    if found:
        found = _moved(found, found[0].arrival)
    if wish.window is not None:
        first, last = wish.window
        found = _moved([job for job in found if first <= job.arrival < last], first)
    if wish.sample < 1.0:
        chosen = set(chance.sample(range(len(found)), round(wish.sample * len(found))))
        found = [job for at, job in enumerate(found) if at in chosen]
    if not found:
        raise TraceError("the trace: no job is left, by --window and --sample; allowed are wider ones")
    if wish.shuffle or wish.inflate is not None:
        found = _shuffled(found, wish, chance, milli)
    if wish.endless:
        found = [replace(job, runtime=None) for job in found]
    return found if wish.load is None else _loaded(found, wish.load, milli)


def _moved(jobs: list[Job], start: float) -> list[Job]:
    return [replace(job, arrival=job.arrival - start) for job in jobs]


def _shuffled(jobs: list[Job], wish: Draw, chance: random.Random, milli: int) -> list[Job]:
    # As FGD has it: the list itself in random order, and only then jobs again. What is added up is what a job takes of
    # one GPU, not of all its GPUs, so that it overshoots a little; the published figures have that in them.
    ordered = sorted(jobs, key=lambda job: job.name)
    chance.shuffle(ordered)
    if wish.inflate is not None:
        total = sum(job.milli for job in ordered)
        again: list[Job] = []
        while True:
            job = chance.choice(jobs)
            each = job.part if job.gpus else 0
            if total + each > wish.inflate * milli:
                break
            total += job.milli
            again.append(replace(job, name=f"{job.name}-again-{len(again)}"))
        ordered += again
    return [replace(job, arrival=at * APART) for at, job in enumerate(ordered)]


def _loaded(jobs: list[Job], load: float, milli: int) -> list[Job]:
    """Return the jobs with their arrivals drawn together or apart."""
    work, span = sum(job.gpu_seconds for job in jobs), jobs[-1].arrival
    if not work or not span or not milli:
        raise TraceError("--load: found jobs without GPUs, runtimes or arrivals, allowed is a trace that has them")
    factor = work / (load * milli / 1000) / span
    return [replace(job, arrival=job.arrival * factor) for job in jobs]
