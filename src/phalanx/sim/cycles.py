"""The pretend cluster between the cycles of a plan: binds land, evicted pods leave, controllers make them again.

Nothing finishes by itself and nothing fails: this is what the scheduler would do, not what the world does to it.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

from phalanx.loop import Loop
from phalanx.model.events import TaskGone, TaskSeen
from phalanx.model.outcome import Bound, Result
from phalanx.model.plan import Bind, Evict, Plan
from phalanx.model.task import State, Task
from phalanx.world.views import tasks_of
from phalanx.world.world import World

#: From one cycle to the next.
PERIOD = 60.0


def first_now(world: World) -> float:
    """Return the latest creation or start among the pods: the same files give the same plan on any day."""
    return max((max(task.created, task.started or 0.0) for task in tasks_of(world).values()), default=0.0)


def begin(world: World, now: float | None) -> float:
    """Return the time of the first cycle. Waiting pods that nobody has submitted yet have no time: they come last."""
    now = first_now(world) if now is None else now
    undated = [task for task in tasks_of(world).values() if task.state is State.PENDING and not task.created]
    # Where nothing has a time, nobody is before anybody.
    for task in undated if now else ():
        world.apply(TaskSeen(replace(task, created=math.nextafter(now, math.inf))))
    return now


def play(loop: Loop, now: float, cycles: int, *, live: bool = False) -> Iterator[Plan]:
    """Yield the plan of each cycle; the world goes on to the next one in between.

    `live`: the first cycle is a real cluster's: a pod that should have gone and is still there does take its room.
    """
    for cycle in range(cycles):
        # At first only what should have gone before now: a pod that is due this very moment is still there.
        if cycle or not live:
            release(loop.world, now + PERIOD if cycle else math.nextafter(now, -math.inf))
        now += PERIOD if cycle else 0.0
        plan = loop.cycle(now).plan
        carry_out(loop.world, plan)
        yield plan


def carry_out(world: World, plan: Plan) -> None:
    """Let every step of a plan succeed. Nominations are in the world already."""
    for step in plan.steps:
        if isinstance(step, Bind):
            world.confirm(Bound(step.uid, step.node, Result.OK, plan.now))
        elif isinstance(step, Evict):
            task = tasks_of(world)[step.uid]
            world.apply(TaskSeen(replace(task, state=State.RELEASING, gone_at=plan.now + task.grace)))


def release(world: World, now: float) -> None:
    """Let go of the pods whose grace has passed. Those with a controller come back, waiting."""
    passed = [task for task in tasks_of(world).values() if task.state is State.RELEASING and _gone(task, now)]
    for task in passed:
        world.apply(TaskSeen(_again(task)) if task.controlled else TaskGone(task.uid))


def _gone(task: Task, now: float) -> bool:
    return task.gone_at is not None and task.gone_at <= now


def _again(task: Task) -> Task:
    """Return the pod that a controller makes in the place of one that left: same name, uid and creation."""
    return replace(
        task, state=State.PENDING, node=None, nominated=None, started=None, finished=None, gone_at=None, groups=()
    )
