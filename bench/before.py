"""`python -m bench.before PATH`: every row of the decision benchmarks, by this checkout and by another one at PATH.

Each row is run by both in turn, each time in a process of its own, several times: machines are shared, so the best
CPU time of each counts. Clusters are built by the benchmarks of each checkout. `python -m bench.backlog --before`
does the same for full clusters.
"""

import argparse
import os
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

#: How often each checkout has its turn, and how often, and for how many seconds, it decides each time at least.
ROUNDS = 3
TIMES = 3
SECONDS = 0.5

DIFFERENT = {"different": True}
#: By title: the benchmark, the function that builds the cluster, its arguments, and the actions after allocate.
ROWS: dict[str, tuple[str, str, tuple[int, ...], dict[str, bool], tuple[str, ...]]] = {
    "a gang of 8 on 1,000 nodes": ("decisions", "one_gang", (1_000, 8), {}, ()),
    "a gang of 4,096 on 10,000 nodes": ("decisions", "one_gang", (10_000, 4_096), {}, ()),
    "a gang of 4,096 on 50,000 nodes": ("decisions", "one_gang", (50_000, 4_096), {}, ()),
    "1,000 different shapes on 10,000 nodes": ("decisions", "plain_pods", (10_000, 1_000), DIFFERENT, ()),
    "10,000 equal pods in no gang, 5,000 nodes": ("decisions", "plain_pods", (5_000, 10_000), {"different": False}, ()),
    "2,000 different pods in no gang, 5,000 nodes": (
        "decisions",
        "plain_pods",
        (5_000, 2_000),
        {"different": True},
        (),
    ),
    "100,000 gangs in 1,000 queues on 6 levels": ("queue_order", "company", (), {}, ()),
    "reclaim: 2,000 claims on 500 nodes": ("making_room", "many_small", (500,), {}, ("reclaim",)),
    "reclaim by a gang of 1 x 8 GPUs, 10 nodes": ("making_room", "one_gang", (10,), {}, ("reclaim",)),
    "reclaim by a gang of 3 x 8 GPUs, 30 nodes": ("making_room", "one_gang", (30,), {}, ("reclaim",)),
    "reclaim by a gang of 10 x 8 GPUs, 100 nodes": ("making_room", "one_gang", (100,), {}, ("reclaim",)),
    "reclaim by a gang of 30 x 8 GPUs, 300 nodes": ("making_room", "one_gang", (300,), {}, ("reclaim",)),
    "reclaim by a gang of 100 x 8 GPUs, 1,000 nodes": ("making_room", "one_gang", (1_000,), {}, ("reclaim",)),
    "consolidate for 100 jobs, 1,000 nodes": ("making_room", "fragmented", (1_000,), {}, ("consolidate",)),
}


def seconds(title: str) -> float:
    """Return the CPU seconds of the quickest decision of a row, by the checkout that is first in the path."""
    name, build, arguments, wish, actions = ROWS[title]
    bench: Any = import_module(f"bench.{name}")
    found = getattr(bench, build)(*arguments, **wish)
    if actions:
        world = import_module("phalanx.world.world").World()
        world.look_for_victims(wanted=True)
        for event in found:
            world.apply(event)
        found, policy = world.compile(10_000.0), bench.policy(*actions)
    else:
        policy = bench.POLICY
    # The name of the module changed.
    decide = (bench if hasattr(bench, "decide") else import_module("bench.decisions")).decide
    took: list[float] = []
    while len(took) < TIMES or sum(took) < SECONDS:
        start = time.process_time()
        decide(found, policy)
        took.append(time.process_time() - start)
    return min(took)


def measured(title: str, checkout: Path) -> float:
    """Run one row in a process of its own."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(checkout / "src"), str(checkout)])}
    out = subprocess.run(  # noqa: S603
        [sys.executable, __file__, "--row", title], env=env, cwd=checkout, check=True, capture_output=True, text=True
    )
    return float(out.stdout)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("before", type=Path, nargs="?", help="another checkout")
    parser.add_argument("--row", choices=ROWS)
    parser.add_argument("--only", default="", help="rows that have this in their title")
    wish = parser.parse_args()
    if wish.row:
        # The folder of this file comes first in the path, and it has the benchmarks of this checkout.
        sys.path.pop(0)
        print(seconds(wish.row))
        return
    if wish.before is None:
        parser.error("name the other checkout")
    here = Path(__file__).parent.parent
    print("| decision | before, ms | now, ms | now to before |\n|---|---|---|---|")
    for title in ROWS:
        if wish.only in title:
            turns = [(measured(title, wish.before.resolve()), measured(title, here)) for _ in range(ROUNDS)]
            before, now = (min(column) * 1000 for column in zip(*turns, strict=True))
            print(f"| {title} | {before:.1f} | {now:.1f} | {now / before:.2f} |", flush=True)


if __name__ == "__main__":
    main()
