"""Large gangs on a real Clos network, with and without wishes: how many leaf switches each uses, and what that costs.

847 hosts of 8 GPUs under 119 leaf switches (one per pair of PSW and ASW), and the 319 jobs of the Kalos trace, up to
1,024 GPUs, whose arrivals are drawn together until the cluster is 85 % loaded. Each job is a gang of pods of 8 GPUs.
One run without wishes and without the plugin `closeness`, one with it, one in which every gang prefers one leaf.

A job's time by the model: iterations × (computing + communication × a factor by the slowest level that its pods cross:
1 in one host, 1.25 under one leaf, 2 under one PSW, 3 beyond). The ends of jobs in the run do not depend on it: so both
runs have the same load, and waiting times can be compared.
"""

import csv
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from phalanx.engine.policy import Policy
from phalanx.model.plan import Bind
from phalanx.policy.load import load_policy
from phalanx.sim.scenario import read_scenario
from phalanx.sim.simulator import Simulator
from phalanx.sim.timeline import timeline
from phalanx.world.views import tasks_on

DATA = Path(__file__).parents[2] / "shared" / "data"
#: A PSW is a block, a leaf is a rack.
DEFAULT = load_policy("default")
PLAIN = replace(DEFAULT, plugins=tuple(one for one in DEFAULT.plugins if one.plugin.name != "closeness"))
GPUS = 8
LOAD = 0.85
#: By the slowest level that is crossed.
FACTORS = {"host": 1.0, "leaf": 1.25, "psw": 2.0, "beyond": 3.0}


def hosts() -> dict[str, tuple[str, str]]:
    """Return the PSW and the leaf of each host."""
    with (DATA / "lingjun" / "topo.csv").open() as file:
        rows = list(csv.DictReader(file))
    return {f"h{at:04}": (one["PSW"], f"{one['PSW']}-{one['ASW']}") for at, one in enumerate(rows)}


def jobs() -> list[dict[str, float]]:
    """Return the jobs of the trace."""
    with (DATA / "acme" / "converted_kalos_trace.csv").open() as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def runtime(job: Mapping[str, float], factor: float = 1.0) -> float:
    """Return how long a job takes if communication takes so many times as long."""
    return job["num_iteration"] * (job["iteration_computing_time"] + factor * job["iteration_networking_time"])


def scenario(wish: str) -> str:
    """Return the cluster and the trace as a scenario."""
    key = "label:topology.kubernetes.io"
    lines = [
        f"node {name} gpu={GPUS} cpu=128 {key}/block={psw} {key}/rack={leaf}" for name, (psw, leaf) in hosts().items()
    ]
    trace = jobs()
    asked = sum(job["gpu_workers"] * job["gpu_per_worker"] * runtime(job) for job in trace)
    span = asked / (LOAD * GPUS * len(hosts()))
    last = trace[-1]["arrival_time"]
    for at, job in enumerate(trace):
        created = job["arrival_time"] * span / last
        lines.append(f"gang j{at:03} members={int(job['gpu_workers'])} gpu={int(job['gpu_per_worker'])} cpu=8 "
                     f"created={created:.0f}s runtime={runtime(job):.0f}s {wish}")  # fmt: skip
    return "\n".join(lines)


def run(wish: str, policy: Policy) -> tuple[dict[str, list[str]], dict[str, int], dict[str, float], float]:
    """Return where each job's pods went, the fewest leaves then, how long it waited, and how long the run took."""
    began, of = time.perf_counter(), hosts()
    bound: dict[str, int] = {}
    simulator = Simulator(timeline(read_scenario(scenario(wish), "clos")), policy)
    where: dict[str, list[str]] = {}
    for moment in simulator.run():
        for step in moment.plan.binds if moment.plan is not None else ():
            assert isinstance(step, Bind)
            where.setdefault(step.gang.rpartition("/")[2], []).append(step.node)
        mine = list(dict.fromkeys(step.gang.rpartition("/")[2] for step in (moment.plan.binds if moment.plan else ())))
        free = {node for node in of if not tasks_on(simulator.world, node)}.union(*(where[one] for one in mine))
        for one in mine:
            if len(where[one]) > 1:
                bound[one] = fewest(len(where[one]), Counter(of[node][1] for node in free))
            free.difference_update(where[one])
    waits = {life.name.rpartition("/")[2]: (life.started or 0.0) - life.created for life in simulator.lives}
    return where, bound, waits, time.perf_counter() - began


def distance(nodes: list[str], of: Mapping[str, tuple[str, str]]) -> float:
    """Return the mean over all pairs of the levels to climb: 0 on one host, 1 under a leaf, 2 under a PSW, else 3."""
    pairs = len(nodes) * (len(nodes) - 1) / 2
    near = [Counter(nodes), Counter(of[node][1] for node in nodes), Counter(of[node][0] for node in nodes)]
    same = sum(count * (count - 1) / 2 for level in near for count in level.values())
    return 3 - same / pairs if pairs else 0.0


def crossed(nodes: list[str], of: Mapping[str, tuple[str, str]]) -> str:
    """Return the slowest level that pods on these nodes cross."""
    if len(set(nodes)) == 1:
        return "host"
    return "leaf" if len({of[node][1] for node in nodes}) == 1 else (
        "psw" if len({of[node][0] for node in nodes}) == 1 else "beyond")  # fmt: skip


def fewest(size: int, free: Mapping[str, int]) -> int:
    """Return how few leaves could hold so many hosts, given how many hosts of each are free."""
    for number, hosts_of_leaf in enumerate(sorted(free.values(), reverse=True), 1):
        size -= hosts_of_leaf
        if size <= 0:
            return number
    raise ValueError("more hosts than there are")


def main() -> None:
    """Run both and print them side by side."""
    if not DATA.is_dir():
        sys.exit("shared/data is not beside the project: nothing to run on")
    of, trace = hosts(), jobs()
    several = [f"j{at:03}" for at, job in enumerate(trace) if job["gpu_workers"] > 1]
    empty = Counter(leaf for _, leaf in of.values())
    bound = [fewest(int(trace[int(name[1:])]["gpu_workers"]), empty) for name in several]
    print(f"{len(of)} hosts, {len(empty)} leaves, {len(trace)} jobs, {len(several)} of several pods")
    print(f"{'':24}{'leaves':>8}{'distance':>10}{'model h':>9}{'wait mean':>11}{'wait max':>10}{'run':>7}")
    print(f"{'fewest on empty leaves':24}{sum(bound) / len(bound):8.2f}")
    for name, wish, policy in (("no wish, no closeness", "", PLAIN), ("no wish", "", DEFAULT),
                               ("rack, then block", "topology-preferred=rack", DEFAULT)):  # fmt: skip
        where, then, waits, took = run(wish, policy)
        leaves = [len({of[node][1] for node in where[one]}) for one in several]
        far = [distance(where[one], of) for one in several]
        model = [runtime(trace[int(one[1:])], FACTORS[crossed(where[one], of)]) / 3600 for one in several]
        print(f"{name:24}{sum(leaves) / len(leaves):8.2f}{sum(far) / len(far):10.2f}{sum(model) / len(model):9.2f}"
              f"{sum(waits.values()) / len(waits):10.0f}s{max(waits.values()):9.0f}s{took:6.0f}s"
              f"   fewest on what was free: {sum(then[one] for one in several) / len(several):.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
