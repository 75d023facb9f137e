"""The status of a Job: what is written there, and how its pods are counted."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from phalanx.controllers.volcano.seen import FAILED, PENDING, RUNNING, SUCCEEDED, Pod
from phalanx.dialects.volcano import job_objects as api

ABORTING, ABORTED, RESTARTING = "Aborting", "Aborted", "Restarting"
COMPLETING, COMPLETED, TERMINATING, TERMINATED = "Completing", "Completed", "Terminating", "Terminated"
#: From these nothing leads on.
OVER = frozenset({COMPLETED, TERMINATED, FAILED})

TASK, POD, PARTITION = "task", "pod", "partition"
#: What a restart of a part takes away.
TARGETED = {"RestartTask": TASK, "RestartPod": POD, "RestartPartition": PARTITION}


class State(Struct, rename="camel", omit_defaults=True):
    """The phase. The reason is what was done last, the message to whom and why."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class TaskState(Struct, omit_defaults=True):
    """The pods of a task by phase."""

    phase: dict[str, int] = {}


class Condition(Struct, rename="camel", omit_defaults=True):
    """A phase and when it began."""

    status: str
    last_transition_time: str | None = None


class Status(Struct, rename="camel", omit_defaults=True):
    """The status."""

    state: State = msgspec.field(default_factory=State)
    min_available: int = 0
    task_status_count: dict[str, TaskState] = {}
    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0
    unknown: int = 0
    version: int = 0
    retry_count: int = 0
    running_duration: str | None = None
    controlled_resources: dict[str, str] = {}
    conditions: list[Condition] = []

    @property
    def phase(self) -> str:
        """Return the phase; one that nobody has written yet is pending."""
        return self.state.phase or PENDING

    @property
    def ended(self) -> int:
        """Return how many pods have ended by themselves."""
        return self.succeeded + self.failed


def read_status(document: Mapping[str, Any]) -> Status:
    """Return the status of a Job. What nobody can read counts as not written."""
    try:
        return msgspec.convert(document.get("status") or {}, Status)
    except msgspec.ValidationError:
        return Status()


def written(status: Status) -> dict[str, Any]:
    """Return the status as the API server takes it."""
    found: dict[str, Any] = msgspec.to_builtins(status)
    return found


def in_phase(status: Status, phase: str, now: float, created: float, reason: str = "", message: str = "") -> Status:
    """Return the status with a phase that begins now. Of earlier times of the same phase the condition goes."""
    when = stamp(now)
    before = [one for one in status.conditions if one.status != phase]
    status = replace(
        status,
        state=State(phase, reason, message, when),
        conditions=[*before, Condition(phase, when)],
    )
    lasted = duration(now - created) if phase in OVER | {ABORTED} else None
    return replace(status, running_duration=lasted)


def counted(status: Status, spec: api.JobSpec, pods: Iterable[Pod], going: frozenset[str]) -> Status:
    """Return the status with the pods counted. `going`: names of those that are taken away."""
    totals = dict.fromkeys((PENDING, RUNNING, SUCCEEDED, FAILED, "Unknown"), 0)
    tasks: dict[str, dict[str, int]] = {}
    replicas = {task.name: task.replicas for task in spec.tasks or ()}
    terminating = 0
    for pod in pods:
        if pod.index >= replicas.get(pod.task, 0):
            continue
        if pod.leaving or pod.name in going:
            terminating += 1
            continue
        totals[pod.phase] += 1
        of_task = tasks.setdefault(pod.task, {})
        of_task[pod.phase] = of_task.get(pod.phase, 0) + 1
    return replace(
        status, min_available=spec.min_available, terminating=terminating, pending=totals[PENDING],
        running=totals[RUNNING], succeeded=totals[SUCCEEDED], failed=totals[FAILED], unknown=totals["Unknown"],
        task_status_count={name: TaskState(tasks[name]) for name in sorted(tasks)},
    )  # fmt: skip


def target_of(status: Status) -> tuple[str, str] | None:
    """Return what a restart takes away that is under way: `task worker`; None: no restart of a part is."""
    if status.phase != RESTARTING or status.state.reason not in TARGETED:
        return None
    kind, _, name = status.state.message.partition(":")[0].partition(" ")
    return kind, name


def stamp(seconds: float) -> str:
    """Return a time as the API server writes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def duration(seconds: float) -> str:
    """Return a length of time as Go writes it, in whole seconds."""
    whole = max(int(seconds), 0)
    hours, minutes = whole // 3600, whole // 60 % 60
    return (f"{hours}h" if hours else "") + (f"{minutes}m" if hours or minutes else "") + f"{whole % 60}s"
