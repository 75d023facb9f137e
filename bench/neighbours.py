"""`python -m bench.neighbours`: what it costs that pods look at each other, against the same gang that does not.

And a cluster where half of all pods keep others away: the decision for one more, and the whole cycle after one event.
Times are of the processor, which other work on the machine disturbs least: compare the ratios.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bench.decisions import POLICY, cluster, shape
from phalanx.engine.decide import decide
from phalanx.loop import Loop
from phalanx.model.events import NodeSeen, TaskSeen
from phalanx.model.gang import Membership
from phalanx.model.selectors import LabelSelector, Liking, PodTerm, Requirement, Spread
from phalanx.model.snapshot import Snapshot
from phalanx.model.task import State, Task
from phalanx.model.topology import HOSTNAME
from phalanx.world.world import World


def means(app: str) -> LabelSelector:
    """Return a selector of one app."""
    return LabelSelector((Requirement("app", "In", (app,)),))


def near(key: str, app: str = "gang") -> PodTerm:
    """Return a term about the pods of an app."""
    return PodTerm(key, means(app), frozenset({"default"}))


def zoned(nodes: int) -> World:
    """Return nodes of 8 GPUs in 5 zones, which know their names."""
    world = cluster(nodes)
    for name, node in list(world.nodes.items()):
        labels = {**node.labels, HOSTNAME: name, "zone": f"z{int(name[-5:]) % 5}"}
        world.apply(NodeSeen(replace(node, labels=labels)))
    return world


def gang(nodes: int, size: int, **wishes: Any) -> Snapshot:
    """Return an empty cluster with one waiting gang that has these wishes."""
    world = zoned(nodes)
    for number in range(size):
        said, name = Membership("default/gang", size), f"m{number:05}"
        world.apply(TaskSeen(Task(name, "default", name, shape(), membership=said, labels={"app": "gang"}, **wishes)))
    return world.compile(0.0)


def replicas(nodes: int, size: int, **wishes: Any) -> Snapshot:
    """Return an empty cluster with equal pods in no gang that have these wishes."""
    world = zoned(nodes)
    for number in range(size):
        name = f"p{number:05}"
        world.apply(TaskSeen(Task(name, "default", name, shape(1_000), labels={"app": "gang"}, **wishes)))
    return world.compile(0.0)


def crowded(nodes: int, pods: int, apps: int) -> World:
    """Return a cluster on which half of the pods keep those of their own app off their host."""
    world = zoned(nodes)
    for number in range(pods):
        app, name = f"a{number % (2 * apps)}", f"r{number:05}"
        repels = (near(HOSTNAME, app),) if number % 2 else ()
        where = f"node-{number % nodes:05}"
        task = Task(name, "default", name, shape(1_000), State.RUNNING, where, labels={"app": app}, repels=repels)
        world.apply(TaskSeen(replace(task, started=0.0)))
    return world


def once(work: Callable[[], object]) -> float:
    """Return the seconds of one run."""
    start = time.process_time()
    work()
    return time.process_time() - start


def best(work: Callable[[], object], runs: int) -> float:
    """Return the seconds of the fastest run."""
    return min(once(work) for _ in range(runs))


def gangs() -> None:
    """Print the cost of each wish, and the ratio to a gang without any."""
    print(f"{'a gang of 4,096 on 10,000 nodes':<52} {'decide':>12} {'ratio':>9}")
    wishes: dict[str, dict[str, Any]] = {
        "without wishes": {},
        "anti-affinity by hostname: one each": {"repels": (near(HOSTNAME),)},
        "spread over 5 zones, maxSkew 1": {"spreads": (Spread("zone", 1, means("gang")),)},
        "spread over 5 zones, maxSkew 3": {"spreads": (Spread("zone", 3, means("gang")),)},
        "both: one each, and spread over 5 zones": {
            "repels": (near(HOSTNAME),),
            "spreads": (Spread("zone", 1, means("gang")),),
        },
        "spread over 10,000 hosts, maxSkew 1": {"spreads": (Spread(HOSTNAME, 1, means("gang")),)},
        "affinity to itself by zone: all in one": {"attracts": (near("zone"),)},
    }
    plain = 0.0
    for name, said in wishes.items():
        snapshot = gang(10_000, 4_096, **said)
        assert len(decide(snapshot, POLICY).binds) == 4_096, name
        seconds = best(lambda: decide(snapshot, POLICY), 5)  # noqa: B023 (called at once)
        plain = plain or seconds
        print(f"{name:<52} {seconds * 1e3:>9.1f} ms {seconds / plain:>8.1f}×", flush=True)


def softly() -> None:
    """Print what replicas cost that only wish to be spread: each copy changes how good all nodes are."""
    print(f"\n{'1,000 equal pods in no gang on 5,000 nodes':<52} {'decide':>12} {'ratio':>9}")
    host, zone = (Spread(key, 1, means("gang"), hard=False) for key in (HOSTNAME, "zone"))
    kinds: dict[str, dict[str, Any]] = {
        "without wishes": {},
        "that wish to be spread over hosts": {"spreads": (host,)},
        "that wish to be spread over hosts and zones": {"spreads": (host, zone)},
        "that would rather not be beside each other": {"likes": (Liking(-100, near(HOSTNAME)),)},
    }
    plain = 0.0
    for name, said in kinds.items():
        snapshot = replicas(5_000, 1_000, **said)
        assert len(decide(snapshot, POLICY).binds) == 1_000, name
        seconds = best(lambda: decide(snapshot, POLICY), 2)  # noqa: B023 (called at once)
        plain = plain or seconds
        print(f"{name:<52} {seconds * 1e3:>9.1f} ms {seconds / plain:>8.1f}×", flush=True)


def crowds() -> None:
    """Print what a cluster costs on which half of the pods have anti-affinity."""
    print(f"\n{'5,000 nodes, 20,000 running pods':<52} {'first':>12} {'after one event':>18}")
    for name, apps in (("half with anti-affinity, 100 apps", 100), ("half with anti-affinity, 1,000 apps", 1_000)):
        world = crowded(5_000, 20_000, apps)
        loop = Loop(world, POLICY)
        first = once(lambda: loop.cycle(1.0))  # noqa: B023 (called at once)
        times = []
        for number in range(5):
            fresh = f"new{number}"
            pod = Task(fresh, "default", fresh, shape(1_000), labels={"app": "a1"}, repels=(near(HOSTNAME, "a1"),))
            world.apply(TaskSeen(pod))
            times.append(once(lambda: loop.cycle(2.0)))  # noqa: B023 (called at once)
            assert world.tasks[fresh].node is not None
        print(f"{name:<52} {first * 1e3:>9.0f} ms {min(times) * 1e3:>15.1f} ms", flush=True)


if __name__ == "__main__":
    gangs()
    softly()
    crowds()
