"""The phases of a Job: what an action leads to, and what follows from how its pods are."""

from typing import NamedTuple

from msgspec.structs import replace

from phalanx.controllers.volcano.making import exhausted, going
from phalanx.controllers.volcano.seen import FAILED, PENDING, RUNNING, SUCCEEDED, Pod, View
from phalanx.controllers.volcano.status import (
    ABORTED,
    ABORTING,
    COMPLETED,
    COMPLETING,
    PARTITION,
    POD,
    RESTARTING,
    TARGETED,
    TERMINATED,
    TERMINATING,
    Status,
    counted,
    in_phase,
)
from phalanx.dialects.volcano import job_objects as api

RESUME = "ResumeJob"
_LEADS_TO = {"RestartJob": RESTARTING, "AbortJob": ABORTING, "TerminateJob": TERMINATING, "CompleteJob": COMPLETING}
#: Where a Job goes once none of its pods is left.
STOPPING = {ABORTING: ABORTED, COMPLETING: COMPLETED, TERMINATING: TERMINATED}


class Now(NamedTuple):
    """One look at a Job."""

    view: View
    spec: api.JobSpec
    status: Status
    time: float
    created: float

    def recounted(self, status: Status) -> Status:
        """Return a status with the pods as they will be once it is carried out."""
        gone = frozenset(pod.name for pod in going(self.view, self.spec, status))
        return counted(status, self.spec, self.view.pods.values(), gone)

    def phase(self, status: Status, phase: str, reason: str = "", message: str = "") -> Status:
        """Return a status in another phase."""
        return in_phase(status, phase, self.time, self.created, reason, message)


def act(now: Now, action: str, why: str, pod: Pod | None = None) -> Status | None:
    """Return the status that an action leads to; None: nothing in this phase."""
    status, phase = now.status, now.status.phase
    retried = replace(status, retry_count=status.retry_count + 1)
    if phase in {PENDING, RUNNING} and action in TARGETED:
        name = _target(action, pod)
        if name is None:
            return None
        return now.recounted(now.phase(retried, RESTARTING, action, f"{TARGETED[action]} {name}: {why}"))
    if phase in {PENDING, RUNNING} and action in _LEADS_TO:
        next_, status = _LEADS_TO[action], retried if action == "RestartJob" else status
    elif phase in {ABORTING, ABORTED} and action == RESUME:
        next_, status = RESTARTING, retried
    else:
        return None
    # Whatever belongs to an older version is on its way out.
    newer = replace(status, version=status.version + 1)
    return now.recounted(now.phase(newer, next_, action, f"job: {why}"))


def _target(action: str, pod: Pod | None) -> str | None:
    if pod is None:
        return None
    if TARGETED[action] == PARTITION:
        return f"{pod.task}/{pod.partition}" if pod.partition is not None else None
    return pod.name if TARGETED[action] == POD else pod.task


def from_pods(now: Now, status: Status) -> Status:
    """Return a status, its pods counted, in the phase that follows from them."""
    spec = now.spec
    total = sum(task.replicas for task in spec.tasks or ())
    if status.phase == PENDING:
        if spec.min_available <= status.running + status.ended:
            return now.phase(status, RUNNING)
        return status
    if not total:
        # Scaled down to nothing, it stays what it is.
        return status
    ended = _result(spec, status, total)
    if ended is not None:
        phase, message = ended
        reason = "" if phase == COMPLETED else "NotEnoughSucceeded"
        return finished(now, status, phase, reason, message)
    if status.pending > total - spec.min_available:
        return now.phase(status, PENDING, status.state.reason, status.state.message)
    return status


def finished(now: Now, status: Status, phase: str, reason: str, message: str) -> Status:
    """Return a status that is the last. What still runs is of an older version by it, and goes."""
    newer = replace(status, version=status.version + 1)
    return now.recounted(now.phase(newer, phase, reason, message))


def _result(spec: api.JobSpec, status: Status, total: int) -> tuple[str, str] | None:
    wanted = spec.min_success
    if wanted is not None and status.succeeded >= wanted:
        return COMPLETED, ""
    if status.ended != total:
        return None
    if spec.min_available >= sum(task.minimum for task in spec.tasks or ()):
        for task in spec.tasks or ():
            counts = status.task_status_count.get(task.name)
            well = counts.phase.get(SUCCEEDED, 0) if counts else 0
            if counts and well < task.minimum:
                return FAILED, f"{well} of {task.replicas} pods of task {task.name} succeeded, {task.minimum} needed"
    least = spec.min_available if wanted is None else wanted
    if status.succeeded >= least:
        return COMPLETED, ""
    return FAILED, f"{status.succeeded} of {total} pods succeeded, {least} needed"


def from_restart(now: Now, status: Status) -> Status:
    """Return a status, its pods counted, as a restart goes on."""
    if exhausted(status, now.spec):
        return finished(now, status, FAILED, "MaxRetry", f"restarted {status.retry_count} times, as often as it may be")
    total = sum(task.replicas for task in now.spec.tasks or ())
    if total - status.terminating >= now.spec.min_available:
        return now.phase(status, PENDING, status.state.reason, status.state.message)
    return status
