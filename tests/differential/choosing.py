"""Which node each of the two would take, by their scores: one case, played against both."""

from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from phalanx.engine.placement.copies import copies
from phalanx.engine.placement.find import find
from phalanx.testing.objects import Manifest, create_all
from tests.differential.arena import Arena, Scored, name_of
from tests.differential.case import case_of
from tests.differential.comparing import Family
from tests.differential.extender import SCORED
from tests.differential.ours import Ours

#: plugin of ours -> node -> score as kube-scheduler counts: weight times hundredths.
Scores: TypeAlias = dict[str, dict[str, float]]


@dataclass
class Choices:
    """What came of some cases."""

    clusters: int = 0
    #: Pods of which kube-scheduler had to choose: with one node left it scores nothing.
    pods: int = 0
    #: Of these, pods for which Phalanx takes one of kube-scheduler's best.
    best: int = 0
    #: What was said of each of the others.
    told: list[str] = field(default_factory=list)

    def add(self, other: "Choices") -> None:
        """Take in more."""
        self.clusters += other.clusters
        self.pods += other.pods
        self.best += other.best
        self.told += other.told


def choose(arena: Arena, name: str, family: Family, seed: int) -> Choices:
    """Play one case."""
    case = case_of(name, seed, family)
    try:
        arena.stand(case)
        theirs = arena.score([_scored(pod) for pod in case.asked])
        # Phalanx sees all of them wait, and places none.
        create_all(arena.kubeconfig, case.asked)
        ours = Ours.look(arena.kubeconfig)
        found = Choices(1)
        for pod in case.asked:
            _compare(found, case.title, pod, theirs[name_of(pod)], ours)
        return found
    finally:
        arena.clear()


def _scored(pod: Manifest) -> Manifest:
    return pod | {"metadata": pod["metadata"] | {"labels": pod["metadata"]["labels"] | SCORED}}


def _compare(found: Choices, title: str, pod: Manifest, theirs: Scored, ours: Ours) -> None:
    if not theirs.best:
        return
    found.pods += 1
    taken, scores = _taken(ours, name_of(pod))
    if taken in theirs.best:
        found.best += 1
        return
    lines = [f"{title}, {name_of(pod)}: Phalanx takes {taken}, kube-scheduler one of {sorted(theirs.best)}"]
    one = min(theirs.best)
    for who, of in (("kube-scheduler", theirs.scores), ("Phalanx", scores)):
        lines.append(f"  {who}: " + ", ".join(f"{key} {said.get(taken)}:{said.get(one)}" for key, said in of.items()))
    found.told.append("\n".join([*lines, f"  {pod['spec']}"]))


def _taken(ours: Ours, name: str) -> tuple[str, Scores]:
    """Return the node that Phalanx takes, and its scores of all that have room."""
    session, names = ours.session, ours.session.snapshot.nodes.names
    request = ours.request(name)
    nodes = np.flatnonzero(copies(session, ours.policy, request) > 0)
    scores: Scores = {}
    for plugin, weight in ours.policy.scores:
        scored = plugin.score(session, replace(request, candidates=nodes), nodes, np.zeros(len(nodes), np.int64))
        if scored is not None:
            values = (weight * 100 * scored).tolist()
            scores[plugin.name] = {names[node]: round(value, 2) for node, value in zip(nodes, values, strict=True)}
    return names[int(find(session, ours.policy, request)[0])], scores
