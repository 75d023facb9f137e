"""Large gangs on a real Clos network, with and without wishes: how many leaf switches each uses, and what that costs.

847 hosts of 8 GPUs under 119 leaf switches (one per pair of PSW and ASW), and the 319 jobs of the Kalos trace, up to
1,024 GPUs, whose arrivals are drawn together until the cluster is 85 % loaded. Each job is a gang of pods of 8 GPUs.
One run without wishes and without the plugin `closeness`, one with it, one in which every gang prefers one leaf.

A job's time by the model: iterations × (computing + communication × a factor by the slowest level that its pods cross:
1 in one host, 1.25 under one leaf, 2 under one PSW, 3 beyond). Each way runs twice. First jobs end when the trace says:
so all runs have the same load, waiting times can be compared, and the model is applied to the places afterwards. Then
the simulator itself uses the model (`network`): who is placed badly holds its hosts for longer, and others wait.
"""

import csv
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
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
#: The same as speeds of the simulator's levels.
NETWORK = "network clos speeds=node:300Gi,rack:240Gi,block:150Gi,beyond:100Gi"


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


def talks(job: Mapping[str, float]) -> str:
    """Return what a job says of its communication."""
    step = job["iteration_computing_time"] + job["iteration_networking_time"]
    return f"communication={100 * job['iteration_networking_time'] / step:.4f}%" if step else ""


def scenario(wish: str, *, network: bool) -> str:
    """Return the cluster and the trace as a scenario; the time of jobs depends on their places with a `network`."""
    key = "label:topology.kubernetes.io"
    lines = [
        f"node {name} gpu={GPUS} cpu=128 {key}/block={psw} {key}/rack={leaf}" for name, (psw, leaf) in hosts().items()
    ]
    trace = jobs()
    asked = sum(job["gpu_workers"] * job["gpu_per_worker"] * runtime(job) for job in trace)
    span = asked / (LOAD * GPUS * len(hosts()))
    last = trace[-1]["arrival_time"]
    if network:
        lines.append(NETWORK)
    for at, job in enumerate(trace):
        created = job["arrival_time"] * span / last
        lines.append(f"gang j{at:03} members={int(job['gpu_workers'])} gpu={int(job['gpu_per_worker'])} cpu=8 "
                     f"created={created:.0f}s runtime={runtime(job):.0f}s {wish} "
                     f"{talks(job) if network else ''}")  # fmt: skip
    return "\n".join(lines)


@dataclass
class Run:
    """What became of the jobs under one policy."""

    #: By job: the hosts of its pods, the fewest leaves that what was free then allowed, seconds waited and worked.
    where: dict[str, list[str]]
    fewest: dict[str, int]
    waits: dict[str, float]
    worked: dict[str, float]
    took: float


def run(wish: str, policy: Policy, *, network: bool) -> Run:
    """Run the trace."""
    began, of = time.perf_counter(), hosts()
    bound: dict[str, int] = {}
    simulator = Simulator(timeline(read_scenario(scenario(wish, network=network), "clos")), policy)
    where: dict[str, list[str]] = {}
    for moment in simulator.run():
        for step in moment.plan.binds if moment.plan is not None else ():
            assert isinstance(step, Bind)
            where.setdefault(step.gang.rpartition("/")[2], []).append(step.node)
        mine = list(dict.fromkeys(step.gang.rpartition("/")[2] for step in (moment.plan.binds if moment.plan else ())))
        if not mine:
            continue
        free = {node for node in of if not tasks_on(simulator.world, node)}.union(*(where[one] for one in mine))
        for one in mine:
            if len(where[one]) > 1:
                bound[one] = fewest(len(where[one]), Counter(of[node][1] for node in free))
            free.difference_update(where[one])
    lives = {life.name.rpartition("/")[2]: life for life in simulator.lives}
    waits = {name: (life.started or 0.0) - life.created for name, life in lives.items()}
    worked = {name: (life.finished or 0.0) - (life.started or 0.0) for name, life in lives.items()}
    return Run(where, bound, waits, worked, time.perf_counter() - began)


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
    print(f"fewest on empty leaves: {sum(bound) / len(bound):.2f}")
    head = ("leaves", "fewest free", "distance", "model h", "wait", "longest", "job h", "wait", "run")
    print(f"{'':22}" + "".join(f"{word:>16}" for word in head))
    base: tuple[float, float] | None = None
    for name, wish, policy in (("no wish, no closeness", "", PLAIN), ("no wish", "", DEFAULT),
                               ("rack, then block", "topology-preferred=rack", DEFAULT)):  # fmt: skip
        same, timed = run(wish, policy, network=False), run(wish, policy, network=True)
        leaves = mean([len({of[node][1] for node in same.where[one]}) for one in several])
        far = mean([distance(same.where[one], of) for one in several])
        model = mean([runtime(trace[int(one[1:])], FACTORS[crossed(same.where[one], of)]) / 3600 for one in several])
        worked = mean([timed.worked[one] / 3600 for one in several])
        waited, later = mean(same.waits.values()), mean(timed.waits.values())
        base = base or (waited, later)
        row = (
            f"{leaves:.2f}", f"{mean([same.fewest[one] for one in several]):.2f}", f"{far:.2f}", f"{model:.2f}",
            f"{waited:.0f}s {waited / base[0]:.2f}", f"{max(same.waits.values()):.0f}s", f"{worked:.2f}",
            f"{later:.0f}s {later / base[1]:.2f}", f"{same.took + timed.took:.0f}s",
        )  # fmt: skip
        print(f"{name:22}" + "".join(f"{cell:>16}" for cell in row), flush=True)
    print("job h and the last wait: the simulator itself uses the model. Ratios are to the first row")


def mean(values: Iterable[float]) -> float:
    """Return the mean."""
    found = list(values)
    return sum(found) / len(found)


if __name__ == "__main__":
    main()
