"""Waves: no gang stays split. Members bind together; what is refused is placed anew; past a deadline all step back.

A wave is open while a gang has members on nodes but fewer than its minimum, and one that should have started with
them did not: its bind was refused, a kubelet turned it away, or a scheduler was killed in between. The books alone
tell, so a new leader finds the waves that the old one left open. A gang whose minimum was raised while it runs is
not split: what came later is waited for, and nobody steps back.
"""

import math
from dataclasses import dataclass, field

from phalanx.model.gang import leaves
from phalanx.model.task import State, Task
from phalanx.world.gangs import THERE, credit
from phalanx.world.world import World

#: A bind was seen to be answered after 34 seconds; well beyond that, a missing member is not on its way.
DEADLINE = 120.0
LEFT_BEHIND = frozenset({State.PENDING, State.FAILED})


@dataclass(slots=True)
class Waves:
    """Knows which gangs are split, and since when."""

    deadline: float = DEADLINE
    open: dict[str, float] = field(default_factory=dict[str, float])

    def review(self, world: World, now: float) -> None:
        """Look at the gangs that changed: open a wave where one is split now, close it where none is."""
        for key in world.drain_touched():
            if split(world, key):
                self.open.setdefault(key, now + self.deadline)
            else:
                self.open.pop(key, None)

    def overdue(self, world: World, now: float) -> list[tuple[str, list[Task]]]:
        """Return the gangs whose time is over, each with its members on nodes, which must step back."""
        found = []
        for key in sorted(key for key, until in self.open.items() if until <= now):
            there = [task for task in members(world, key) if task.state is State.RUNNING]
            binding = any(task.state is State.BINDING for task in members(world, key))
            if there and not binding and split(world, key):
                found.append((key, there))
                # Told once; if an eviction is refused, the next review opens the wave again.
                self.open[key] = now + self.deadline
        return found


def members(world: World, key: str) -> list[Task]:
    """Return the members of a gang, sorted."""
    return sorted((world.tasks[uid] for uid in world.members.get(key, {})), key=lambda task: task.uid)


def split(world: World, key: str) -> bool:
    """Tell whether some but too few of a gang are on nodes."""
    everyone = members(world, key)
    there = [task for task in everyone if task.state in THERE]
    if not there:
        return False
    gang = world.gang_of(there[0])
    if gang is None or gang.hold is not None:
        return False
    begun = min(task.started if task.started is not None else math.inf for task in there)
    if not any(task.state in LEFT_BEHIND and task.created <= begun for task in everyone):
        return False
    running, inside = credit(everyone)
    short = [part.name for part in leaves(gang.subgroups) if inside.get(part.name, 0) < part.minimum]
    return running < gang.minimum or bool(short)
