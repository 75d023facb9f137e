"""Takings: a plan told again as who was evicted for whom, and what he got."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from phalanx.model.plan import Bind, Evict, Nominate, Plan
from phalanx.model.task import State, Task
from phalanx.world.world import World
from tests.oracles import exhaustive


@dataclass
class Taking:
    """What was taken for one gang, and what it got."""

    action: str
    gang: str
    victims: list[Task] = field(default_factory=list[Task])
    places: list[tuple[Task, str]] = field(default_factory=list[tuple[Task, str]])

    def told(self) -> list["Taking"]:
        """Return it, if anything was taken or given."""
        return [self] if self.victims or self.places else []


def retold(world: World, plan: Plan) -> Iterator[Taking | tuple[Task, str]]:
    """Tell a plan again, in order: tasks that were bound, and takings with all their victims and places."""
    now = Taking("", "")
    for step in plan.steps:
        if isinstance(step, Evict):
            if now.places or (now.action, now.gang) != (step.action, step.beneficiary or ""):
                yield from now.told()
                now = Taking(step.action, step.beneficiary or "")
            now.victims.append(world.tasks[step.uid])
        elif isinstance(step, Nominate):
            if now.gang != step.gang:
                yield from now.told()
                # What others left behind is enough for it.
                now = Taking("", step.gang)
            if now.victims and len(now.places) == _together(world, plan, step.gang):
                yield from now.told()
                # Growth: what was cleared for the minimum is more than that needs.
                now = Taking("", step.gang)
            now.places.append((world.tasks[step.uid], step.node))
        elif isinstance(step, Bind):
            yield from now.told()
            now = Taking("", "")
            yield world.tasks[step.uid], step.node
    yield from now.told()


def _together(world: World, plan: Plan, gang: str) -> int:
    """Return how many tasks of a gang are decided at once: what lacks to its minimum, then one by one."""
    own = exhaustive.members(world, gang)
    bound = {step.uid for step in plan.steps if isinstance(step, Bind)}
    there = sum(task.uid in bound or task.state in {State.RUNNING, State.BINDING} for task in own)
    minimum = (own[0].membership.minimum if own[0].membership else None) or 1
    return max(minimum - there, 1)


def takings(world: World, plan: Plan) -> list[Taking]:
    """Return the takings of a plan that cost somebody his place."""
    return [one for one in retold(world, plan) if isinstance(one, Taking) and one.victims]
