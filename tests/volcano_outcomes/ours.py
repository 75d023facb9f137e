"""What Phalanx does with a case, by the policy that is imported from the configuration of Volcano's chart."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from phalanx.engine.policy import Policy
from phalanx.loop import Loop
from phalanx.model.task import State
from phalanx.policy.import_volcano import imported
from phalanx.policy.load import parse_policy
from phalanx.sim.cycles import play
from phalanx.sim.manifests import Document
from phalanx.sim.objects import read_objects
from phalanx.world.views import tasks_of
from phalanx.world.world import World
from tests.oracles.volcano_conf import CHART
from tests.volcano_outcomes.cases import Case, Manifest

CYCLES = 4
#: After everything was made.
_LATER = 1_793_500_000.0


@lru_cache
def policy() -> Policy:
    """Return what `phalanx policy import` makes of it."""
    return parse_policy(imported(CHART.encode(), "volcano-scheduler.conf"), "imported")


@dataclass(frozen=True)
class Outcome:
    """What Phalanx made of a case."""

    #: How many pods of each group run in the end; who runs none is left out.
    running: Mapping[str, int]
    #: Per node what is free, in cores, bytes and devices.
    free: Mapping[str, Mapping[str, int]]


def outcome(case: Case) -> Outcome:
    """Place the pods of a case, over some cycles."""
    world = World(policy().label_keys, policy().devices)
    found = read_objects([Document(one, "case") for one in case.objects], policy().scheduler_names)
    assert not found.refused, found.refused
    for event in found.events:
        world.apply(event)
    for _ in play(Loop(world, policy()), _LATER, CYCLES):
        pass
    free = {node["metadata"]["name"]: amounts(node["status"]["allocatable"]) for node in case.nodes}
    placed, groups = Counter[str](), {group[0]["metadata"]["name"]: group for group in case.groups}
    for task in tasks_of(world).values():
        if task.state is State.RUNNING and task.node is not None:
            name = task.name.rpartition("-")[0]
            placed[name] += 1
            free[task.node].subtract(asks(groups[name]))
    return Outcome(dict(sorted(placed.items())), free)


def asks(group: list[Manifest]) -> Counter[str]:
    """Return what each pod of a group asks for."""
    return amounts(group[1]["spec"]["containers"][0]["resources"]["requests"])


def amounts(given: Mapping[str, str]) -> Counter[str]:
    """Return the amounts that cases have: cores, GiB and devices."""
    sizes = {"Gi": 2**30}
    return Counter({key: int(text.removesuffix("Gi")) * sizes.get(text[-2:], 1) for key, text in given.items()})
