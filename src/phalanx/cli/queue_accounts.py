"""What each queue has, may have and asks for, as plain values: for tables, trees and programs alike."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from phalanx.engine.policy import Policy
from phalanx.model.axis import PODS, Bool, Int, add_up
from phalanx.model.gang import Gang
from phalanx.model.quantity import written
from phalanx.model.queue import DEFAULT_QUEUE, UNLIMITED
from phalanx.model.queue_table import QueueTable
from phalanx.model.snapshot import Snapshot
from phalanx.model.task import CHARGED, State, Task
from phalanx.world.gangs import gang_key
from phalanx.world.queues import QueueReport
from phalanx.world.rows import FINISHED
from phalanx.world.views import tasks_of
from phalanx.world.world import World

Amounts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Account:
    """One queue. Amounts are by resource, in smallest units, with those of its children."""

    name: str
    parent: str | None = None
    allocated: Amounts = field(default_factory=dict[str, int])
    #: Allocated and waiting, without what is held.
    requested: Amounts = field(default_factory=dict[str, int])
    share: Amounts = field(default_factory=dict[str, int])
    #: Only what is governed here; UNLIMITED where there is no bound.
    quota: Amounts = field(default_factory=dict[str, int])
    limit: Amounts = field(default_factory=dict[str, int])
    #: Gangs with a pod that waits, held ones too.
    pending: int = 0
    #: Why it is set aside.
    problem: str | None = None

    def document(self) -> dict[str, Any]:
        """Return it as `-o json` shows it."""
        return {
            "queue": self.name,
            "parent": self.parent,
            "allocated": _written(self.allocated),
            "share": _written(self.share),
            "quota": _written(self.quota),
            "limit": _written(self.limit),
            "requested": _written(self.requested),
            "pending": self.pending,
            "problem": self.problem,
        }


@dataclass(frozen=True, slots=True)
class Accounts:
    """Every queue, sorted by name, and what there is to divide among them."""

    queues: tuple[Account, ...]
    total: Amounts
    #: Gangs that are in no queue, by the reason.
    outside: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    #: There is no Queue object: everybody is in one queue without bounds.
    implicit: bool = False


def accounts(world: World, policy: Policy, now: float) -> Accounts:
    """Work out the accounts of all queues as they are now; nothing is decided."""
    snapshot = world.compile(now)
    table = snapshot.queues
    if world.queues.tree.implicit:
        tasks = list(tasks_of(world).values())
        return Accounts(without_queues(tasks, gangs_of(world, tasks)), {}, _outside(snapshot), implicit=True)
    share = np.zeros_like(table.quota) if policy.share is None else policy.share.deserved(snapshot)
    reports = world.queues.report()
    pending = {one.queue.name: one.pending for one in reports if one.queue is not None and one.problem is None}
    found = [_account(table, row, share, pending[queue.name]) for row, queue in enumerate(table.queues)]
    found += [_aside(one) for one in reports if one.problem is not None]
    return Accounts(
        queues=tuple(sorted(found, key=lambda account: (account.name, account.problem or ""))),
        total=_amounts(table, table.total),
        outside=_outside(snapshot),
    )


def gangs_of(world: World, tasks: Iterable[Task]) -> dict[str, Gang]:
    """Return the gangs of our tasks by key, each worked out once: asking per task costs the square of its size."""
    ours = {gang_key(task): task for task in tasks if task.ours and task.state not in FINISHED}
    return {key: gang for key, task in ours.items() if (gang := world.gang_of(task)) is not None}


def without_queues(tasks: Iterable[Task], gangs: Mapping[str, Gang]) -> tuple[Account, ...]:
    """Return what the pods of each queue that is named have. Without Queue objects nothing is governed."""
    allocated: dict[str, dict[str, int]] = {DEFAULT_QUEUE.name: {}}
    waiting: dict[str, set[str]] = {}
    for task in tasks:
        if task.ours and (gang := gangs.get(gang_key(task))) is not None:
            total = allocated.setdefault(gang.queue, {})
            if task.state in CHARGED:
                add_up(total, {name: amount for name, amount in task.shape.charged if name != PODS and amount})
            elif task.state is State.PENDING:
                waiting.setdefault(gang.queue, set()).add(gang_key(task))
    return tuple(
        Account(queue, allocated=total, pending=len(waiting.get(queue, ())))
        for queue, total in sorted(allocated.items())
    )


def _aside(report: QueueReport) -> Account:
    parent = report.queue.parent if report.queue is not None else None
    return Account(report.object.full_name, parent, problem=f"{report.object}: {report.problem}")


def _account(table: QueueTable, row: int, share: Int, pending: int) -> Account:
    queue = table.queues[row]
    # A parent that does not list a resource has what its children are guaranteed; a leaf has no say in it.
    governed = table.listed[row] | ~table.leaf[row]
    return Account(
        name=queue.name,
        parent=queue.parent,
        allocated=_amounts(table, table.allocated[row]),
        requested=_amounts(table, table.requested[row]),
        share=_amounts(table, share[row]),
        quota=_amounts(table, table.quota[row], governed),
        limit=_amounts(table, table.limit[row], governed),
        pending=pending,
    )


def _amounts(table: QueueTable, values: Int, which: Bool | None = None) -> dict[str, int]:
    return {name: int(values[column]) for column, name in enumerate(table.resources) if which is None or which[column]}


def _written(amounts: Amounts) -> dict[str, str | None]:
    """Return canonical quantities; null where there is no bound."""
    return {name: None if amount >= UNLIMITED else written(amount, name) for name, amount in sorted(amounts.items())}


def _outside(snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    reasons: dict[str, list[str]] = {}
    for row in np.flatnonzero(snapshot.gangs.queue < 0).tolist():
        gang = snapshot.gangs.gangs[row]
        reasons.setdefault(gang.hold or "it is in no queue", []).append(gang.name)
    return {reason: tuple(sorted(names)) for reason, names in sorted(reasons.items())}
