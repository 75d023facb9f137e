"""What tests of making room share: policies with actions that evict, worlds, shares as data."""

from collections.abc import Sequence

from phalanx.engine.plugins.ageing import Ageing
from phalanx.engine.policy import Policy, Weighted
from phalanx.model.duration import Seconds
from phalanx.model.events import Event
from phalanx.model.task import Task
from phalanx.policy.load import parse_policy
from phalanx.world.world import World
from tests.oracles.exhaustive import Amounts, Leaving, units

NOW = 10.0
RECLAIM, TAKING = "{name: reclaim}", "{name: reclaim, arguments: {moving: false}}"
PREEMPT, CONSOLIDATE, STALE = "{name: preempt}", "{name: consolidate}", "{name: evict_stale}"

_TEXT = """
extends: default
actions:
  - {name: allocate}
  - {name: consolidate, arguments: {moves: MOVES}}
  - {name: reclaim}
  - {name: preempt}
  - {name: evict_stale}
search: {steps: STEPS}
"""


def making_room(moves: int = 16, steps: int = 20_000) -> Policy:
    """Return the default policy with all that evicts."""
    return parse_policy(_TEXT.replace("MOVES", str(moves)).replace("STEPS", str(steps)), "room.yaml")


ROOM = making_room()


def policy_of(*actions: str, aged: bool = False) -> Policy:
    """Return a policy with these actions after allocate; `aged`: everybody has waited long enough to go first."""
    text = f"extends: default\nactions: [{', '.join(['{name: allocate}', *actions])}]\n"
    policy = parse_policy(text, "room.yaml")
    if not aged:
        return policy
    at_once = Weighted(Ageing(Seconds(1.0)))
    plugins = tuple(at_once if one.plugin.name == "ageing" else one for one in policy.plugins)
    return Policy(policy.name, policy.actions, plugins, share=policy.share)


def world_of(events: Sequence[Event]) -> World:
    """Return the world after these events."""
    world = World()
    for event in events:
        world.apply(event)
    return world


def shares(world: World, policy: Policy) -> dict[str, Amounts]:
    """Return what each queue is entitled to: data for the rules, with an oracle of its own."""
    snapshot = world.compile(NOW)
    assert policy.share is not None
    rows, table = policy.share.deserved(snapshot), snapshot.queues
    return {
        queue.name: dict(zip(table.resources, rows[row].tolist(), strict=True))
        for row, queue in enumerate(table.queues)
    }


def units_of(world: World, victims: Sequence[Task]) -> list[Leaving]:
    """Return the units that these victims make up."""
    gone = {task.uid for task in victims}
    return [unit for unit in units(world) if {task.uid for task in unit.tasks} <= gone]
