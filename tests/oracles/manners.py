"""What every plan that evicts must keep, whoever it is for; worked out from the world's objects, not by the engine."""

import math
from collections import Counter
from collections.abc import Iterator

from phalanx.model.budget import Budget
from phalanx.model.plan import Bind, Evict, Nominate, Plan
from phalanx.model.queue import Queue
from phalanx.model.task import State, Task
from phalanx.world.world import World
from tests.oracles.exhaustive import THERE, core_of, gang_name, members, put, space


def faults(world: World, plan: Plan) -> list[str]:
    """Return every promise that a plan breaks, in words. `world`: as it was before the plan."""
    evicted = [step for step in plan.steps if isinstance(step, Evict)]
    found = [*_twice(evicted), *_overfull(world, plan), *_over_budget(world, evicted), *_split(world, evicted)]
    for step in evicted:
        found += [f"{step.task}: {why}" for why in _must_stay(world, plan, step)]
    return found


def _twice(evicted: list[Evict]) -> list[str]:
    return [f"{task} leaves twice" for task, times in Counter(step.task for step in evicted).items() if times > 1]


def _overfull(world: World, plan: Plan) -> list[str]:
    """All that is bound or nominated fits once everybody has left who must."""
    left = space(world)
    for step in plan.steps:
        if isinstance(step, Bind | Nominate | Evict):
            put(left[step.node], world.tasks[step.uid], 1 if isinstance(step, Evict) else -1)
    return [
        f"{node} lacks {-amount} {name}" for node, has in left.items() for name, amount in has.items() if amount < 0
    ]


def covered(world: World, budget: Budget) -> list[Task]:
    """Return the unfinished tasks that a disruption budget speaks of."""
    over = {State.SUCCEEDED, State.FAILED}
    return [
        task
        for task in world.tasks.values()
        if budget.selector is not None
        and task.namespace == budget.namespace
        and task.state not in over
        and budget.selector.matches(task.labels)
    ]


def allowance(world: World, budget: Budget) -> int:
    """Count how many of a budget's tasks may still be asked to leave."""
    tasks = covered(world, budget)
    runs = sum(task.state is State.RUNNING for task in tasks)
    if budget.allowed is not None:
        return max(budget.allowed if budget.healthy is None else min(budget.allowed, runs - budget.healthy), 0)
    portion = budget.minimum or budget.maximum
    if portion is None:
        return 0
    number = math.ceil(len(tasks) * portion.amount / 100) if portion.percent else portion.amount
    return max(runs - (number if budget.minimum else max(len(tasks) - number, 0)), 0)


def _over_budget(world: World, evicted: list[Evict]) -> Iterator[str]:
    """Disruption budgets hold over the whole plan, and nobody leaves who is under two of them."""
    gone = Counter[str]()
    for budget in world.budgets.seen.values():
        under = {task.uid for task in covered(world, budget)}
        inside = [step for step in evicted if step.uid in under]
        gone.update(step.task for step in inside)
        if len(inside) > allowance(world, budget):
            yield f"budget {budget.name} allows {allowance(world, budget)}, and {len(inside)} leave"
    yield from (f"{task} is under {times} budgets" for task, times in gone.items() if times > 1)


def _split(world: World, evicted: list[Evict]) -> Iterator[str]:
    """A gang that loses somebody keeps its minimum and that of every subgroup, or loses everybody."""
    gone = {step.uid for step in evicted}
    for gang in sorted({gang_name(world.tasks[uid]) for uid in gone}):
        own = members(world, gang)
        stay = [task for task in own if task.state in THERE and task.uid not in gone]
        done = [task for task in own if task.state is State.SUCCEEDED]
        if stay and (lacking := _lacking(own, [*stay, *done])):
            yield f"{gang} is split: {lacking}"


def _lacking(own: list[Task], there: list[Task]) -> str:
    """Say which minimum is not met, or nothing."""
    said = own[0].membership
    if len(there) < ((said.minimum or 1) if said else 1):
        return f"{len(there)} stay"
    minimums = {
        task.membership.subgroup: task.membership.subgroup_minimum or 0
        for task in own
        if task.membership and task.membership.subgroup
    }
    stays = Counter(task.membership.subgroup for task in there if task.membership)
    return ", ".join(f"{stays[name]} of {name}" for name, least in minimums.items() if stays[name] < least)


def _must_stay(world: World, plan: Plan, step: Evict) -> Iterator[str]:
    """Say why one who leaves should not have been asked to."""
    task = world.tasks[step.uid]
    said = task.membership
    if not task.ours or task.state not in THERE:
        yield "it is not ours to evict"
    if step.action == "evict_stale":
        return
    if not (said.preemptible if said else task.preemptible):
        yield "it is not preemptible"
    served = [one for one in plan.steps if isinstance(one, Bind | Nominate) and one.gang == step.beneficiary]
    if not served:
        yield f"{step.beneficiary} gets nothing for it"
    if any(not world.tasks[one.uid].evicts for one in served):
        yield f"{step.beneficiary} must evict nobody"
    leaves = {one.uid for one in plan.steps if isinstance(one, Evict)}
    if any(
        isinstance(one, Bind | Nominate) and one.gang == gang_name(task) and one.uid not in leaves for one in plan.steps
    ):
        yield "its gang gets places in the same plan"
    if step.action == "consolidate" and not any(
        isinstance(one, Nominate) and one.uid == step.uid for one in plan.steps
    ):
        yield "it is moved nowhere"
    if step.action == "consolidate" and not (task.controlled and task.movable and _may_move(world, task)):
        yield "it must not be moved"
    wants = served[0] if served else None
    if wants is not None and plan.now < _protected_until(world, step.action, task, world.tasks[wants.uid]):
        yield "it has not run for its minimum runtime"


def _may_move(world: World, task: Task) -> bool:
    return all(queue.consolidation for queue in path(world, task.queue))


def path(world: World, leaf: str | None) -> list[Queue]:
    """Return a queue and all above it, the topmost last."""
    queues = {seen.queue.name: seen.queue for seen in world.queues.seen.values()}
    found: list[Queue] = []
    while leaf is not None and leaf in queues:
        found.append(queues[leaf])
        leaf = queues[leaf].parent
    return found


def _protected_until(world: World, action: str, task: Task, wants: Task) -> float:
    """Return until when the minimum of a task's gang is safe from an action; what is beyond it never is."""
    core = core_of([one for one in members(world, gang_name(task)) if one.state in THERE])
    if task not in core:
        return -math.inf
    theirs = path(world, task.queue)
    if action == "reclaim":
        # The level where the ways part decides, and what it does not say those above it do.
        shared = {queue.name for queue in path(world, wants.queue)}
        level = sum(queue.name not in shared for queue in theirs) - 1
        runtimes = [one for queue in theirs[level:] if (one := queue.reclaim_min_runtime) is not None]
    else:
        runtimes = [one for queue in theirs if (one := queue.preempt_min_runtime) is not None]
    return max(one.started or one.created for one in core) + (runtimes[0] if runtimes else 0.0)
