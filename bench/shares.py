"""What dividing a cluster among queues costs per cycle: the array kernels against the plain recursive version.

The recursive version follows the same rules queue by queue in Python integers; both must answer alike.
Times are the best of a few runs on this machine now: compare the ratios, not the times.
"""

import gc
import random
import time
from collections.abc import Callable

import numpy as np

from phalanx.engine.shares.quota_then_weight import QuotaThenWeight
from phalanx.model.queue import UNLIMITED, Queue, Terms
from phalanx.model.queue_table import QueueTable
from phalanx.model.usage import Memory
from tests.oracles import division_oracle as oracle
from tests.oracles.queue_tables import Use, queue_table

GIB = 2**30
#: What one unit of a queue's terms is, per resource.
UNITS = {"cpu": 1000, "memory": GIB, "nvidia.com/gpu": 1000}
TOTAL = {"cpu": 1_280_000_000, "memory": 10_000_000 * GIB, "nvidia.com/gpu": 80_000_000}


def company(gangs: int, chance: random.Random) -> QueueTable:
    """Return 1,000 queues on 6 levels, and what so many waiting gangs ask for in its leaves."""
    levels: list[list[Queue]] = []
    for depth, count in enumerate((4, 16, 60, 160, 300, 460)):
        above = [queue.name for queue in levels[-1]] if levels else [None]
        names = [f"q{depth}-{number:03}" for number in range(count)]
        levels.append([queue(name, chance.choice(above), count, chance) for name in names])
    queues = [queue for level in levels for queue in level]
    parents = {queue.parent for queue in queues}
    leaves = [queue.name for queue in queues if queue.name not in parents]
    asked = {name: dict.fromkeys(TOTAL, 0) for name in leaves}
    for _ in range(gangs):
        amounts, gpus = asked[chance.choice(leaves)], chance.choice((1, 1, 2, 4, 8, 64, 512))
        amounts["cpu"] += gpus * 12_000
        amounts["memory"] += gpus * 120 * GIB
        amounts["nvidia.com/gpu"] += gpus * 1000
    past = {name: {resource: chance.random() / len(leaves) for resource in TOTAL} for name in leaves}
    return queue_table(queues, {name: Use(asked[name], usage=past[name]) for name in leaves}, TOTAL)


def queue(name: str, parent: str | None, siblings: int, chance: random.Random) -> Queue:
    """Return a queue whose guarantees are about a third of the cluster, level by level."""
    terms = {}
    for resource, unit in UNITS.items():
        fair = TOTAL[resource] // unit // siblings
        quota = chance.randrange(fair * 2 // 3) * unit
        limit = quota * 4 if chance.random() < 0.2 else UNLIMITED
        terms[resource] = Terms(quota, limit, weight=chance.choice((500, 1000, 1000, 2000, 5000)))
    return Queue(name, parent, chance.choice((0, 0, 0, 100)), terms, created=chance.random())


def ranked(count: int, chance: random.Random) -> QueueTable:
    """Return siblings that all have a priority of their own."""
    queues = [Queue(f"q{number:04}", None, number, {"cpu": Terms()}) for number in range(count)]
    uses = {queue.name: Use({"cpu": chance.randrange(1, 2000)}) for queue in queues}
    return queue_table(queues, uses, {"cpu": count * 700})


def best(work: Callable[[], object], runs: int) -> float:
    """Return the seconds of the fastest run."""
    times = []
    for _ in range(runs):
        gc.collect()
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def compare(name: str, kernel: Callable[[], list[list[int]]], recursive: Callable[[], list[list[int]]]) -> None:
    """Print one line: the kernel, the recursion, the ratio."""
    assert kernel() == recursive()
    arrays, plain = best(kernel, 7), best(recursive, 3)
    print(f"{name:<52} {arrays * 1e3:>8.1f} ms {plain * 1e3:>8.1f} ms {plain / arrays:>7.1f}×", flush=True)


def main() -> None:
    """Print the table."""
    table = company(100_000, random.Random(7))
    ladder = ranked(1_000, random.Random(8))
    plain, remembering = QuotaThenWeight(), QuotaThenWeight(1.0, Memory())
    print(f"numpy {np.__version__}; {len(table):,} queues on {table.levels} levels, 100,000 waiting gangs, 3 resources")
    print(f"{'':<52} {'kernel':>11} {'recursive':>11} {'ratio':>8}")
    compare(
        "quota_then_weight",
        lambda: plain.divide(table).tolist(),
        lambda: oracle.shares(oracle.quota_then_weight(table)),
    )
    compare(
        "quota_then_weight with a memory",
        lambda: remembering.divide(table).tolist(),
        lambda: oracle.shares(oracle.quota_then_weight(table, 1.0)),
    )
    compare(
        "1,000 siblings of 1,000 priorities",
        lambda: plain.divide(ladder).tolist(),
        lambda: oracle.shares(oracle.quota_then_weight(ladder)),
    )


if __name__ == "__main__":
    main()
