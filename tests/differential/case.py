"""A case: a cluster as it stands, and pods about whom both schedulers are asked. From one seed, always the same.

Clusters are small and full of near misses: few values for every field, so that pods and nodes often meet by a hair.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias

from phalanx.testing.objects import Manifest

#: Whose pods are asked about; of nobody else's is anything decided.
SCHEDULER = "asked"
#: Pods that kube-scheduler looks after as well, and Phalanx takes for another scheduler's.
NEIGHBOUR = "neighbour"
NAMESPACES: dict[str, dict[str, str]] = {
    "default": {},
    "team-a": {"team": "a", "tier": "web"},
    "team-b": {"team": "b", "tier": "web"},
}
#: Priority class -> its number, and whether others may be evicted for it.
PRIORITIES = {"low": (-10, "PreemptLowerPriority"), "high": (1000, "PreemptLowerPriority"), "polite": (500, "Never")}

#: How many pods are asked in one cluster.
ASKED = 40
ZONES = ("a", "b", "c")

#: The spec of a pod, and its labels, to be altered in place.
Alter: TypeAlias = Callable[[Random, Manifest], None]


@dataclass
class Case:
    """A cluster and who is asked."""

    family: str
    seed: int
    #: What stands, in the order in which it is made: one batch is seen before the next.
    batches: list[list[Manifest]] = field(default_factory=list)
    asked: list[Manifest] = field(default_factory=list)

    @property
    def title(self) -> str:
        return f"{self.family} seed {self.seed}"


def case_of(family: str, seed: int, make: Callable[[Random, Case], None]) -> Case:
    """Return the case of a family with this seed."""
    case = Case(family, seed)
    make(Random(f"{family} {seed}"), case)  # noqa: S311 (a case is to be had again)
    return case


def nodes(random: Random, count: int | None = None, alter: Alter | None = None) -> list[Manifest]:
    """Return nodes with room for some pods, in zones and racks; now and then one lies in no zone."""
    made = []
    for number in range(count or random.randint(4, 9)):
        name = f"n{number}"
        labels = {
            "kubernetes.io/hostname": name,
            "disk": random.choice(("ssd", "hdd")),
            "size": str(random.randint(1, 4)),
        }
        if random.random() < 0.9:
            labels["topology.kubernetes.io/zone"] = random.choice(ZONES)
        if random.random() < 0.8:
            labels["rack"] = f"r{random.randint(1, 4)}"
        amounts = {"cpu": str(random.choice((2, 4, 8))), "memory": f"{random.choice((4, 8, 16))}Gi", "pods": "110"}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "a pretend node"}
        node: Manifest = {
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": {},
            "status": {"capacity": amounts, "allocatable": dict(amounts), "conditions": [ready]},
        }  # fmt: skip
        if alter is not None:
            alter(random, node)
        node["status"]["capacity"] = dict(node["status"]["allocatable"])
        made.append(node)
    return made


def pod(name: str, namespace: str = "default", labels: dict[str, str] | None = None, **spec: Any) -> Manifest:
    """Return a pod that is asked about, with one container that asks for nothing."""
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
        "spec": {
            "schedulerName": SCHEDULER, "terminationGracePeriodSeconds": 0, "enableServiceLinks": False,
            "containers": [{"name": "main", "image": "image"}], **spec,
        },
    }  # fmt: skip


def pods(
    random: Random, prefix: str, count: int, alter: Alter, namespaces: Iterable[str] = ("default",)
) -> list[Manifest]:
    """Return pods, each altered by chance."""
    made = []
    for number in range(count):
        one = pod(f"{prefix}{number}", random.choice(tuple(namespaces)))
        alter(random, one)
        made.append(one)
    return made


def placed(random: Random, standing: list[Manifest], made: list[Manifest]) -> list[Manifest]:
    """Put pods on nodes by chance, as somebody else's: nobody asks whether they may be there."""
    for one in made:
        one["spec"] |= {"nodeName": random.choice(standing)["metadata"]["name"], "schedulerName": "somebody"}
    return made


def some(random: Random, choices: Iterable[Any], most: int, least: int = 0) -> list[Any]:
    """Return a few of these, each at most once."""
    listed = list(choices)
    return random.sample(listed, random.randint(least, min(most, len(listed))))
