"""How close gangs are in the topology tree, for `phalanx plan`: as values, and in lines."""

from collections.abc import Mapping, Sequence
from typing import Any

from phalanx.cli.output import counted, safe
from phalanx.engine.policy import Policy
from phalanx.model.closeness import Closeness
from phalanx.model.gang import Gang
from phalanx.model.task import Task
from phalanx.world.neighbourhood import Neighbourhood, members_with_places, neighbourhood
from phalanx.world.world import World

#: So many gangs are named in the text; the document has all of them.
_GANGS_MAX = 20


def gangs_document(world: World, policy: Policy, tasks: Sequence[Task], gangs: Mapping[str, Gang]) -> dict[str, Any]:
    """Return the levels of the tree with what is odd about them, and each gang of several pods that is on nodes."""
    around = neighbourhood(world, policy.levels)
    found = [(gangs[key], mine, around.closeness(task.node for task in mine)) for key, mine in _several(tasks)]
    return {
        "topology": {
            "levels": [{"name": level.name, "label": level.key} for level in around.tree.levels],
            "remarks": around.remarks,
        },
        "gangs": [
            {
                "gang": gang.name, "pods": close.tasks, "nodes": close.nodes, "level": close.level,
                "domains": close.domains, "distance": close.distance, "split": around.split(gang, mine),
            }
            for gang, mine, close in found
        ],
    }  # fmt: skip


def gang_lines(world: World, policy: Policy, tasks: Sequence[Task], gangs: Mapping[str, Gang]) -> list[str]:
    """Return a line per gang of several pods with a wish, and one for whatever is odd; nothing without any level."""
    around = neighbourhood(world, policy.levels)
    said = [f"topology: {safe(remark)}" for remark in around.remarks]
    if len(around.tree.levels) == 1:
        return said
    close = [(gangs[key], mine) for key, mine in _several(tasks) if gangs[key].wishes]
    for gang, mine in close[:_GANGS_MAX]:
        said.append(f"{safe(gang.name)}: {_line(around, mine)}")
        split = around.split(gang, mine)
        if split is not None:
            said.append(f"topology: {safe(split)}")
    if len(close) > _GANGS_MAX:
        said.append(f"and {counted(len(close) - _GANGS_MAX, 'gang')} more")
    return said


def _line(around: Neighbourhood, mine: Sequence[Task]) -> str:
    found: Closeness = around.closeness(task.node for task in mine)
    domains = counted(found.domains, found.level)
    return f"{counted(found.tasks, 'pod')} in {domains}, mean distance {found.distance:.2f}"


def _several(tasks: Sequence[Task]) -> list[tuple[str, list[Task]]]:
    return sorted((key, mine) for key, mine in members_with_places(tasks).items() if len(mine) > 1)
