"""Causes: what has happened to the pods of a Job that a policy may answer, read from how things are now.

Nothing is remembered that is not there to be read again: a pod that has failed stays one until its Job has answered, by
a new version, a mark or another phase. So a controller that was killed in between answers all the same, and once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from phalanx.controllers.volcano.seen import FAILED, PENDING, RUNNING, SUCCEEDED, Pod, View
from phalanx.controllers.volcano.status import Status
from phalanx.dialects.timestamps import duration
from phalanx.dialects.volcano import job_objects as api

POD_FAILED, POD_EVICTED, POD_PENDING = "PodFailed", "PodEvicted", "PodPending"
TASK_COMPLETED, TASK_FAILED, UNKNOWN = "TaskCompleted", "TaskFailed", "Unknown"
ANY = "*"


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that has happened."""

    event: str
    pod: Pod | None = None
    exit_code: int | None = None
    #: Since when, where the pod says so.
    since: float | None = None

    @property
    def key(self) -> str:
        """Return what it is remembered by."""
        return f"{self.event} {self.pod.uid or self.pod.name if self.pod else ''}"

    def __str__(self) -> str:
        code = f" with exit code {self.exit_code}" if self.exit_code else ""
        return f"{self.event} of {self.pod.name}{code}" if self.pod else self.event


@dataclass(frozen=True, slots=True)
class Due:
    """What a policy asks for."""

    action: str
    cause: Cause


def causes(view: View, spec: api.JobSpec, status: Status, missing: Iterable[Pod] = ()) -> Iterator[Cause]:
    """Yield what has happened, task by task. `missing`: pods that went while nobody looked."""
    gone = [pod for pod in (*view.gone, *missing) if pod.version >= status.version and not pod.marked]
    for task in spec.tasks or ():
        own = sorted((pod for pod in view.pods.values() if pod.task == task.name), key=lambda pod: pod.index)
        fresh = [pod for pod in own if pod.version >= status.version and not pod.marked and pod.index < task.replicas]
        for pod in fresh:
            yield from _of_pod(pod)
        yield from (Cause(POD_EVICTED, pod) for pod in gone if pod.task == task.name and pod.index < task.replicas)
        yield from _of_task(task, own, fresh)
    if view.group is not None and view.group.phase == UNKNOWN:
        yield Cause(UNKNOWN)


def _of_pod(pod: Pod) -> Iterator[Cause]:
    if pod.leaving:
        yield Cause(POD_EVICTED, pod)
    elif pod.phase == FAILED:
        yield Cause(POD_FAILED, pod, pod.exit_code, pod.ended)
    elif pod.phase == PENDING:
        yield Cause(POD_PENDING, pod, since=pod.created)


def _of_task(task: api.Task, own: Sequence[Pod], fresh: Sequence[Pod]) -> Iterator[Cause]:
    if not task.replicas or not fresh:
        return
    if sum(pod.phase == SUCCEEDED for pod in own) >= task.replicas:
        yield Cause(TASK_COMPLETED, fresh[-1])
    alive = [pod for pod in own if pod.phase in {PENDING, RUNNING}]
    limit = task.max_retry or 3
    if alive and limit > 0 and sum(pod.restarts for pod in alive) >= limit:
        yield Cause(TASK_FAILED, max(fresh, key=lambda pod: pod.restarts))


def vanished(view: View, spec: api.JobSpec, status: Status) -> list[Pod]:
    """Return the pods that the status counts and that are not there any more, without a name that is sure.

    For a controller that has just begun: what went away before it came, nobody has told it.
    """
    found: list[Pod] = []
    for task in spec.tasks or ():
        counts = status.task_status_count.get(task.name)
        recorded = min(sum(counts.phase.values()), task.replicas) if counts else 0
        there = {pod.index for pod in view.pods.values() if pod.task == task.name}
        absent = [index for index in range(task.replicas) if index not in there]
        short = recorded - (task.replicas - len(absent))
        name = view.document["metadata"]["name"]
        found += [
            Pod(f"{name}-{task.name}-{index}", task.name, index, status.version) for index in absent[: max(short, 0)]
        ]
    return found


def answered(
    found: Iterable[Cause], spec: api.JobSpec, since: Mapping[str, float], now: float
) -> Iterator[tuple[Cause, api.Policy, float]]:
    """Yield the causes for which there is a policy, with it and when it is due."""
    of_task = {task.name: task.policies or () for task in spec.tasks or ()}
    for cause in found:
        policies = [*(of_task.get(cause.pod.task, ()) if cause.pod else ()), *(spec.policies or ())]
        policy = next((one for one in policies if _fits(one, cause)), None)
        if policy is not None:
            began = cause.since if cause.since is not None else since.get(cause.key, now)
            yield cause, policy, began + (duration(policy.timeout) if policy.timeout else 0.0)


def _fits(policy: api.Policy, cause: Cause) -> bool:
    events = {*(policy.events or ()), policy.event} - {None}
    if events & {cause.event, ANY}:
        # A pod that waits is no news before its time is over.
        return cause.event != POD_PENDING or policy.timeout is not None
    return policy.exit_code is not None and policy.exit_code == cause.exit_code
