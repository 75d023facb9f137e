"""Who says what about whom: one case, played against both, and where they differ."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

import msgspec

from phalanx.engine.policy import Policy
from phalanx.testing.objects import Manifest
from tests.differential.arena import Arena, name_of
from tests.differential.case import Case, case_of
from tests.differential.ours import POD_BY_POD, Ours
from tests.differential.stricter import explained

Family: TypeAlias = Callable[[Random, Case], None]
_SECOND = "-again"


@dataclass(frozen=True)
class Difference:
    """A pod of which the two say different things."""

    case: str
    pod: Manifest
    #: Nodes on which only Phalanx, or only kube-scheduler, would put it; and who refuses the latter.
    generous: frozenset[str]
    strict: frozenset[str]
    refusing: frozenset[str]

    @property
    def explained(self) -> bool:
        """Tell whether the docs say why."""
        return not self.generous and explained(self.refusing)

    def __str__(self) -> str:
        spec = msgspec.json.encode(self.pod["spec"]).decode()
        return (
            f"{self.case}, {name_of(self.pod)}: only Phalanx {sorted(self.generous)}, only kube-scheduler "
            f"{sorted(self.strict)} {sorted(self.refusing)}\n  labels {self.pod['metadata']['labels']} spec {spec}"
        )


@dataclass
class Tally:
    """What came of some cases."""

    clusters: int = 0
    pods: int = 0
    #: Pods that kube-scheduler would put somewhere, and pods of which it refuses some node.
    placeable: int = 0
    refused: int = 0
    differences: list[Difference] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        """Take in more."""
        self.clusters += other.clusters
        self.pods += other.pods
        self.placeable += other.placeable
        self.refused += other.refused
        self.differences += other.differences

    @property
    def generous(self) -> int:
        """Return of how many pods Phalanx allows what kube-scheduler refuses."""
        return sum(bool(one.generous) for one in self.differences)

    @property
    def stricter(self) -> int:
        """Return how many pods Phalanx refuses a node for a reason that the docs give."""
        return sum(one.explained for one in self.differences)

    @property
    def told(self) -> list[str]:
        """Return each fault for a person."""
        return [str(one) for one in self.faults]

    @property
    def faults(self) -> list[Difference]:
        """Return what nobody explains."""
        return [one for one in self.differences if not one.explained]


def compare(arena: Arena, name: str, family: Family, seed: int, policy: Policy = POD_BY_POD) -> Tally:
    """Play one case. Who differs is asked a second time: kube-scheduler may not have heard of all objects before."""
    case = case_of(name, seed, family)
    try:
        arena.stand(case)
        theirs = arena.ask(case.asked)
        ours = Ours.look(arena.kubeconfig, policy)
        mine = {name_of(pod): ours.nodes(name_of(pod)) for pod in case.asked}
        differ = [pod for pod in case.asked if theirs[name_of(pod)] != mine[name_of(pod)]]
        if differ:
            theirs |= _again(arena, differ)
        differences = []
        for pod in differ:
            nodes, allowed = frozenset(theirs[name_of(pod)]), mine[name_of(pod)]
            if nodes != allowed:
                refusing = ours.refusing(name_of(pod), nodes - allowed) if nodes - allowed else frozenset()
                differences.append(Difference(case.title, pod, allowed - nodes, nodes - allowed, refusing))
        every = set(ours.session.snapshot.nodes.names)
        placeable, refused = (sum(map(is_so, theirs.values())) for is_so in (bool, lambda nodes: nodes != every))
        return Tally(1, len(case.asked), placeable, refused, differences)
    finally:
        arena.clear()


def _again(arena: Arena, pods: list[Manifest]) -> dict[str, set[str]]:
    renamed = [pod | {"metadata": pod["metadata"] | {"name": pod["metadata"]["name"] + _SECOND}} for pod in pods]
    return {name.removesuffix(_SECOND): nodes for name, nodes in arena.ask(renamed).items()}
