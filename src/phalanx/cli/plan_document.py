"""The result of `phalanx plan` as one document: the public contract of `-o json` and `-o yaml`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from phalanx.cli.closeness_report import gangs_document
from phalanx.cli.queue_accounts import Accounts, accounts, gangs_of, without_queues
from phalanx.engine.policy import Policy
from phalanx.model.events import Refused
from phalanx.model.gang import Gang
from phalanx.model.plan import Plan, devices_json
from phalanx.model.task import State, Task
from phalanx.world.gangs import gang_key
from phalanx.world.views import moved_to, tasks_of
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
    policy: Policy

    def accounts(self) -> Accounts | None:
        """Return the accounts of the queues after the last cycle; None without any Queue object."""
        if self.world.queues.tree.implicit:
            return None
        return accounts(self.world, self.policy, self.plans[-1].now)


def timestamp(now: float) -> str:
    """Return a moment as Kubernetes writes it."""
    text = datetime.fromtimestamp(min(now, _LAST), UTC).isoformat(timespec="auto" if now % 1 else "seconds")
    return text.replace("+00:00", "Z")


def document(planned: Planned) -> dict[str, Any]:
    """Return everything as plain values; every key is always there."""
    world = planned.world
    tasks, gangs = known(planned)
    return {
        "cycles": [
            {"cycle": number, "now": timestamp(plan.now), "steps": plan.json()}
            for number, plan in enumerate(planned.plans, start=1)
        ],
        "pods": [_pod(world, task, gangs.get(gang_key(task)) if task.ours else None) for task in tasks],
        "queues": _queues(planned.accounts(), tasks, gangs),
        **gangs_document(world, planned.policy, tasks, gangs),
        "refused": [
            {"object": str(one.object), "field": one.field or None, "message": one.message, "source": source}
            for one, source in planned.refused
        ],
    }


def known(planned: Planned) -> tuple[list[Task], Mapping[str, Gang]]:
    """Return the unfinished tasks after the last cycle, by name, and their gangs by key."""
    tasks = sorted((task for task in tasks_of(planned.world).values() if task.state in _STATES), key=_by_name)
    return tasks, gangs_of(planned.world, tasks)


def _by_name(task: Task) -> tuple[str, str, str]:
    return task.namespace, task.name, task.uid


def _pod(world: World, task: Task, gang: Gang | None) -> dict[str, Any]:
    return {
        "pod": task.full_name, "uid": task.uid,
        "gang": gang.name if gang else None, "queue": gang.queue if gang else None,
        "state": _STATES[task.state], "node": task.node,
        "nominated": moved_to(world, task.uid) or task.nominated,
        "devices": devices_json(task.groups if task.part is not None and task.node is not None else ()),
    }  # fmt: skip


def _queues(found: Accounts | None, tasks: Sequence[Task], gangs: Mapping[str, Gang]) -> list[dict[str, Any]]:
    rows = without_queues(tasks, gangs) if found is None else found.queues
    return [account.document() for account in rows]
