"""The result of `phalanx plan` as one document: the public contract of `-o json` and `-o yaml`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from phalanx.model.axis import PODS, add_up
from phalanx.model.events import Refused
from phalanx.model.gang import Gang
from phalanx.model.plan import Plan
from phalanx.model.quantity import written
from phalanx.model.queue import DEFAULT_QUEUE
from phalanx.model.task import CHARGED, State, Task
from phalanx.world.gangs import gang_key
from phalanx.world.world import World

#: The last second that a date can hold.
_LAST = 253_402_300_799.0
_STATES = {State.PENDING: "pending", State.RUNNING: "running", State.BINDING: "running", State.RELEASING: "releasing"}


@dataclass(frozen=True, slots=True)
class Planned:
    """What `phalanx plan` found out: the plans of all cycles, and the world after the last."""

    plans: Sequence[Plan]
    world: World
    #: Objects that were set aside, with the file that has them.
    refused: Sequence[tuple[Refused, str]]


def timestamp(now: float) -> str:
    """Return a moment as Kubernetes writes it."""
    text = datetime.fromtimestamp(min(now, _LAST), UTC).isoformat(timespec="auto" if now % 1 else "seconds")
    return text.replace("+00:00", "Z")


def document(planned: Planned) -> dict[str, Any]:
    """Return everything as plain values; every key is always there."""
    world = planned.world
    tasks = sorted((task for task in world.tasks.values() if task.state in _STATES), key=_by_name)
    gangs = _gangs(world, tasks)
    return {
        "cycles": [
            {"cycle": number, "now": timestamp(plan.now), "steps": plan.json()}
            for number, plan in enumerate(planned.plans, start=1)
        ],
        "pods": [_pod(task, gangs.get(gang_key(task)) if task.ours else None) for task in tasks],
        "queues": _queues(tasks, gangs),
        "refused": [
            {"object": one.object, "field": one.field or None, "message": one.message, "source": source}
            for one, source in planned.refused
        ],
    }


def _by_name(task: Task) -> tuple[str, str, str]:
    return task.namespace, task.name, task.uid


def _gangs(world: World, tasks: Sequence[Task]) -> dict[str, Gang]:
    """Return the gangs of our tasks by key, each worked out once: asking per task costs the square of its size."""
    ours = {gang_key(task): task for task in tasks if task.ours}
    return {key: gang for key, task in ours.items() if (gang := world.gang_of(task)) is not None}


def _pod(task: Task, gang: Gang | None) -> dict[str, Any]:
    return {
        "pod": task.full_name, "uid": task.uid,
        "gang": gang.name if gang else None, "queue": gang.queue if gang else None,
        "state": _STATES[task.state], "node": task.node, "nominated": task.nominated, "devices": {},
    }  # fmt: skip


def _queues(tasks: Sequence[Task], gangs: dict[str, Gang]) -> list[dict[str, Any]]:
    """Return what the pods of each queue have on nodes. Without Queue objects none has a share, quota or limit."""
    allocated: dict[str, dict[str, int]] = {DEFAULT_QUEUE.name: {}}
    for task in tasks:
        if task.ours and (gang := gangs.get(gang_key(task))) is not None:
            total = allocated.setdefault(gang.queue, {})
            if task.state in CHARGED:
                add_up(total, {name: amount for name, amount in task.shape.requests if name != PODS and amount})
    return [
        {
            "queue": queue, "parent": None,
            "allocated": {name: written(amount, name) for name, amount in sorted(total.items())},
            "share": {}, "quota": {}, "limit": {},
        }
        for queue, total in sorted(allocated.items())
    ]  # fmt: skip
