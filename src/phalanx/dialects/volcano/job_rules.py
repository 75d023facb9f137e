"""What Volcano's webhooks make of a Job before anybody acts on it: what they fill in, and what they refuse."""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from phalanx.dialects.mistakes import FieldError, check_name, one_of
from phalanx.dialects.timestamps import duration
from phalanx.dialects.volcano import job_objects as api
from phalanx.dialects.volcano.groups import DEFAULT_QUEUE, network_topology
from phalanx.dialects.volcano.pods import SCHEDULER
from phalanx.model.quantity import shown

MAX_RETRY = 3
PLUGINS = ("svc", "ssh", "env", "tensorflow", "mpi", "pytorch", "ray", "hcclrank")
EVENTS = ("*", "PodFailed", "PodEvicted", "PodPending", "Unknown", "TaskCompleted", "TaskFailed", "JobUpdated")
ACTIONS = (
    "AbortJob", "RestartJob", "RestartTask", "RestartPod", "RestartPartition", "TerminateJob", "CompleteJob",
    "ResumeJob",
)  # fmt: skip
TOPOLOGY_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
ITERATIONS = ("any", "all")

_TASK = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_POD_NAME_MAX = 63
#: Frameworks whose pods find each other by the names that the plugin svc gives.
_NEED_SVC = frozenset({"tensorflow", "mpi", "pytorch", "ray"})


def complete(job: api.Job) -> api.JobSpec:
    """Return the spec with everything filled in, or raise the first mistake in it."""
    check_name(job.metadata.name, "metadata.name")
    spec = job.spec
    tasks = [_completed(task, index) for index, task in enumerate(spec.tasks or ())]
    if not tasks:
        raise FieldError("spec.tasks", "found none, allowed is at least one")
    _check_tasks(job.metadata.name, tasks)
    _check_policies(spec.policies or (), "spec.policies")
    replicas = sum(task.replicas for task in tasks)
    if spec.min_available > replicas:
        raise FieldError(
            "spec.minAvailable", f"found {spec.min_available}, allowed is at most the {replicas} pods of all tasks"
        )
    _check_volumes(spec.volumes or ())
    network_topology(spec.network_topology, "spec.networkTopology")
    _check_order(tasks)
    queue = spec.queue or DEFAULT_QUEUE
    check_name(queue, "spec.queue")
    if spec.priority_class_name:
        check_name(spec.priority_class_name, "spec.priorityClassName")
    return replace(
        spec, tasks=tasks, queue=queue, scheduler_name=spec.scheduler_name or SCHEDULER,
        min_available=spec.min_available or sum(task.minimum for task in tasks),
        max_retry=spec.max_retry or MAX_RETRY, plugins=_plugins(spec.plugins or {}),
    )  # fmt: skip


def _completed(task: api.Task, index: int) -> api.Task:
    least = task.min_available
    if least is None and task.partition_policy is not None:
        # Where none is named, as 1.15.1: zero would leave the task without a minimum.
        least = task.partition_policy.min_partitions * task.partition_policy.partition_size or None
    least = task.replicas if least is None else least
    return replace(task, name=task.name or f"default{index}", min_available=least, max_retry=task.max_retry or 3)


def _check_tasks(job: str, tasks: Sequence[api.Task]) -> None:
    names: set[str] = set()
    for index, task in enumerate(tasks):
        path = f"spec.tasks[{index}]"
        if not _TASK.fullmatch(task.name):
            raise FieldError(
                f"{path}.name", f"found {shown(task.name)}, allowed is at most 63 lower-case letters, digits and '-'"
            )
        if task.name in names:
            raise FieldError(
                f"{path}.name", f"found {shown(task.name)} again, allowed is a name that no other task has"
            )
        names.add(task.name)
        longest = f"{job}-{task.name}-{max(task.replicas - 1, 0)}"
        if len(longest) > _POD_NAME_MAX:
            raise FieldError(
                f"{path}.name", f"its pods would be called {longest}, allowed is at most {_POD_NAME_MAX} characters"
            )
        if task.minimum > task.replicas:
            raise FieldError(
                f"{path}.minAvailable", f"found {task.minimum}, allowed is at most its replicas, {task.replicas}"
            )
        if not task.pod:
            raise FieldError(f"{path}.template.spec", "missing")
        if task.topology_policy and task.topology_policy not in TOPOLOGY_POLICIES:
            raise FieldError(f"{path}.topologyPolicy", one_of(task.topology_policy, TOPOLOGY_POLICIES))
        _check_policies(task.policies or (), f"{path}.policies")
        _check_partitions(task, path)


def _check_partitions(task: api.Task, path: str) -> None:
    parts = task.partition_policy
    if parts is None:
        return
    network_topology(parts.network_topology, f"{path}.partitionPolicy.networkTopology")
    size = parts.partition_size
    for name, found, count in (
        ("replicas", task.replicas, parts.total_partitions),
        ("minAvailable", task.minimum, parts.min_partitions),
    ):
        if count and found != count * size:
            raise FieldError(f"{path}.{name}", f"found {found}, allowed is {count * size}, as partitionPolicy says")


def _check_policies(policies: Sequence[api.Policy], path: str) -> None:
    events: set[str] = set()
    codes: set[int] = set()
    for index, policy in enumerate(policies):
        at = f"{path}[{index}]"
        named = list(dict.fromkeys([*(policy.events or ()), *([policy.event] if policy.event else ())]))
        if bool(named) == (policy.exit_code is not None):
            found = "both" if named else "neither"
            raise FieldError(at, f"found {found}, allowed is exactly one of event, exitCode")
        for event in named:
            if event not in EVENTS:
                raise FieldError(f"{at}.event", one_of(event, EVENTS))
            if event in events:
                raise FieldError(f"{at}.event", f"found {shown(event)} again, allowed is each event once")
        _check_timeout(policy.timeout, f"{at}.timeout")
        if policy.action not in ACTIONS:
            raise FieldError(f"{at}.action", one_of(policy.action, ACTIONS))
        events.update(named)
        if policy.exit_code is not None:
            _check_code(policy.exit_code, codes, at)
            codes.add(policy.exit_code)
    if "*" in events and len(events) > 1:
        raise FieldError(path, "found * beside other events, allowed is * alone")


def _check_code(code: int, codes: set[int], at: str) -> None:
    if code == 0:
        raise FieldError(f"{at}.exitCode", "found 0, allowed is another than 0")
    if code in codes:
        raise FieldError(f"{at}.exitCode", f"found {code} again, allowed is each exit code once")


def _check_timeout(text: str | None, at: str) -> None:
    try:
        duration(text or "0s")
    except ValueError as error:
        raise FieldError(at, str(error)) from None


def _check_volumes(volumes: Sequence[api.Volume]) -> None:
    paths: set[str] = set()
    for index, volume in enumerate(volumes):
        at = f"spec.volumes[{index}]"
        if not volume.mount_path:
            raise FieldError(f"{at}.mountPath", "missing")
        if volume.mount_path in paths:
            raise FieldError(f"{at}.mountPath", f"found {shown(volume.mount_path)} again, allowed is each path once")
        paths.add(volume.mount_path)
        if not volume.volume_claim_name and volume.volume_claim is None:
            raise FieldError(at, "found neither, allowed is volumeClaimName or volumeClaim")


def _check_order(tasks: Sequence[api.Task]) -> None:
    """Refuse tasks that wait for each other, or for one that is not there."""
    waits = {task.name: list((task.depends_on or api.DependsOn()).name or ()) for task in tasks}
    for index, task in enumerate(tasks):
        at = f"spec.tasks[{index}].dependsOn"
        for name in waits[task.name]:
            if name not in waits:
                raise FieldError(f"{at}.name", one_of(name, tuple(waits)))
        said = task.depends_on.iteration if task.depends_on else None
        if said and said not in ITERATIONS:
            raise FieldError(f"{at}.iteration", one_of(said, ITERATIONS))
    left = dict(waits)
    while free := [name for name, on in left.items() if not any(one in left for one in on)]:
        for name in free:
            del left[name]
    if left:
        index = next(index for index, task in enumerate(tasks) if task.name in left)
        raise FieldError(
            f"spec.tasks[{index}].dependsOn", f"found a circle of {', '.join(sorted(left))}, allowed is an order"
        )


def _plugins(given: dict[str, list[str] | None]) -> dict[str, list[str] | None]:
    for name in given:
        if name not in PLUGINS:
            raise FieldError(f"spec.plugins.{name}", f"unknown plugin, allowed is {', '.join(PLUGINS)}")
    found = dict(given)
    if not _NEED_SVC.isdisjoint(given):
        found.setdefault("svc", [])
    if "mpi" in given:
        found.setdefault("ssh", [])
    return found
