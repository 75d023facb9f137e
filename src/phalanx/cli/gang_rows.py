"""What there is to tell of each gang, as plain values: for the table and for programs alike."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from phalanx.cli.plan_document import timestamp
from phalanx.cli.queue_accounts import gangs_of
from phalanx.model.gang import Gang
from phalanx.model.task import State, Task
from phalanx.world.gangs import gang_key
from phalanx.world.rows import FINISHED
from phalanx.world.views import tasks_of
from phalanx.world.world import World


class Said(NamedTuple):
    """What a pod's status says."""

    running: bool = False
    #: Reason and message of its condition PodScheduled, where that is False.
    waiting: tuple[str, str] | None = None


#: Of a pod, by uid.
Ask = Callable[[str], Said]


@dataclass(slots=True)
class GangRow:
    """One gang: its members by what they do, where they are, and why they wait."""

    gang: Gang
    namespace: str
    #: On a node, its containers running; on a node; without one; terminating; ended.
    running: int = 0
    bound: int = 0
    pending: int = 0
    leaving: int = 0
    finished: int = 0
    nodes: Counter[str] = field(default_factory=Counter[str])
    nominated: Counter[str] = field(default_factory=Counter[str])
    #: Since when it waits, or else since when the first of its members has its place.
    since: float = 0.0
    #: Of its waiting pods, what most were told.
    reason: str | None = None
    message: str | None = None

    @property
    def counts(self) -> dict[str, int]:
        """Return how many members there are of each sort."""
        return {
            "running": self.running, "bound": self.bound, "pending": self.pending,
            "leaving": self.leaving, "finished": self.finished,
        }  # fmt: skip

    def document(self, now: float) -> dict[str, Any]:
        """Return it as `-o json` shows it."""
        gang = self.gang
        return {
            "gang": gang.name, "namespace": self.namespace, "queue": gang.queue, "priority": gang.priority,
            "minimum": gang.minimum, "maximum": gang.maximum, "members": self.counts,
            "nodes": dict(sorted(self.nodes.items())), "nominated": dict(sorted(self.nominated.items())),
            "state": "waiting" if self.pending else "placed",
            "since": timestamp(int(self.since)), "seconds": max(int(now - self.since), 0),
            "reason": self.reason, "message": self.message,
        }  # fmt: skip


def gang_rows(world: World, ask: Ask, namespace: str | None) -> list[GangRow]:
    """Return a row for each gang that has not ended, by namespace and name."""
    tasks = [task for task in tasks_of(world).values() if task.ours and namespace in {None, task.namespace}]
    gangs, members = gangs_of(world, tasks), dict[str, list[Task]]()
    for task in tasks:
        members.setdefault(gang_key(task), []).append(task)
    rows = [_row(gang, members[key], ask) for key, gang in gangs.items()]
    return sorted(rows, key=lambda row: (row.namespace, row.gang.name, row.gang.key))


def _row(gang: Gang, members: Iterable[Task], ask: Ask) -> GangRow:
    row, starts, told = GangRow(gang, next(iter(members)).namespace), list[float](), Counter[tuple[str, str]]()
    for task in members:
        if task.state in FINISHED:
            row.finished += 1
        elif task.state is State.PENDING:
            row.pending += 1
            if task.nominated is not None:
                row.nominated[task.nominated] += 1
            if waiting := ask(task.uid).waiting:
                told[waiting] += 1
        elif task.state is State.RELEASING:
            row.leaving += 1
        else:
            running = ask(task.uid).running
            row.running, row.bound = row.running + running, row.bound + (not running)
            row.nodes[task.node or ""] += 1
            starts.append(task.created if task.started is None else task.started)
    row.since = gang.created if row.pending or not starts else min(starts)
    if told:
        row.reason, row.message = max(told, key=lambda one: (told[one], one))
    elif row.pending and gang.hold is not None:
        row.reason, row.message = "Held", gang.hold
    return row
