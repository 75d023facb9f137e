"""What a Job lacks and what it has too much of: its objects, its group, its pods."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from phalanx.controllers.volcano.minimum import minimum
from phalanx.controllers.volcano.seen import RUNNING, SUCCEEDED, Pod, View
from phalanx.controllers.volcano.status import PARTITION, POD, RESTARTING, TARGETED, TASK, Status, target_of
from phalanx.controllers.volcano.steps import ChangeGroup, Create, DeletePod, Discard, Object, Write
from phalanx.dialects.volcano import job_objects as api
from phalanx.dialects.volcano.jobs import Expansion

_PLUGIN, _VOLUME = "plugin-", "volume-pvc-"
#: It makes nothing and Volcano does not list it.
_UNLISTED = "hcclrank"
#: What follows the Job when it changes.
_FOLLOWS = ("priorityClassName", "minMember", "minResources", "minTaskMember", "subGroupPolicy")


def objects(made: Expansion, status: Status, table: Mapping[str, str] | None) -> tuple[list[Write], Status, Any]:
    """Return what must be there before the pods, the status that says so, and the table of names as it should be."""
    writes: list[Write] = []
    have = dict(status.controlled_resources)
    fresh = [plugin for plugin in made.spec.plugins or {} if _PLUGIN + plugin not in have and plugin != _UNLISTED]
    for plugin, one in made.beside():
        exact = one["kind"] == "ConfigMap"
        if plugin in fresh or (exact and table != one["data"]):
            writes.append(Create(one, exact))
        if exact:
            table = one["data"]
    have |= {_PLUGIN + plugin: plugin for plugin in fresh}
    writes += [Create(one) for index, one in made.claims() if _VOLUME + made.claim(index) not in have]
    for index, volume in enumerate(made.spec.volumes or ()):
        name = volume.volume_claim_name or made.claim(index)
        have[_VOLUME + name] = name
    return writes, replace(status, controlled_resources=have), table


def leftovers(made: Expansion, status: Status) -> tuple[list[Write], Status]:
    """Return what takes away all that plugins have made, and the status without it."""
    have = status.controlled_resources
    writes: list[Write] = [Discard(one) for plugin, one in made.beside() if _PLUGIN + plugin in have]
    kept = {key: name for key, name in have.items() if not key.startswith(_PLUGIN)}
    return writes, replace(status, controlled_resources=kept)


def group(view: View, made: Expansion) -> list[Write]:
    """Return what makes the group, or brings it in line with the Job."""
    wanted = made.pod_group()
    wanted["spec"]["minResources"] = minimum(made.spec, view.classes)
    if view.group is None:
        return [Create(wanted)]
    stands, patch = view.group.spec, {}
    for key in _FOLLOWS:
        fresh, old = wanted["spec"].get(key), stands.get(key)
        if (fresh or None) != (old or None):
            # By the rules of a merge patch null takes a key away.
            patch[key] = {**dict.fromkeys(old or {}), **fresh} if isinstance(fresh, dict) else fresh
    change: Object = {"spec": patch} if patch else {}
    if not view.group.admitted and made.spec.scheduler_name in view.lets_in:
        change["status"] = {"phase": "Inqueue"}
    return [ChangeGroup(view.group, change)] if change else []


def going(view: View, spec: api.JobSpec, status: Status) -> list[Pod]:
    """Return the pods that must not stay, and were not told to go yet."""
    replicas = {task.name: task.replicas for task in spec.tasks or ()}
    target = target_of(status)
    # A whole restart takes those away too that have ended, unless it is the last one.
    all_old = status.phase == RESTARTING and status.state.reason == "RestartJob" and not exhausted(status, spec)

    def must_go(pod: Pod) -> bool:
        if pod.marked or pod.index >= replicas.get(pod.task, 0):
            return True
        if pod.version < status.version and (all_old or not pod.finished):
            return True
        return target is not None and pod.retries < status.retry_count and _in(pod, *target)

    return [pod for _, pod in sorted(view.pods.items()) if not pod.leaving and must_go(pod)]


def deletions(pods: list[Pod], status: Status) -> list[Write]:
    """Return what takes these away. Of those of a restart of a part nothing but a mark tells that it is no failure."""
    mark = status.phase == RESTARTING and status.state.reason in TARGETED
    return [DeletePod(pod, mark=mark and not pod.marked) for pod in pods]


def pods(view: View, made: Expansion) -> list[Write]:
    """Return what makes the pods that are not there."""
    return [Create(one) for one in _absent(view, made)]


def exhausted(status: Status, spec: api.JobSpec) -> bool:
    """Tell whether the Job was restarted as often as it may be."""
    return status.retry_count >= spec.max_retry


def _in(pod: Pod, kind: str, name: str) -> bool:
    match kind:
        case _ if kind == TASK:
            return pod.task == name
        case _ if kind == POD:
            return pod.name == name
        case _:
            assert kind == PARTITION
            return f"{pod.task}/{pod.partition}" == name


def _absent(view: View, made: Expansion) -> Iterator[Object]:
    for task in made.spec.tasks or ():
        names = [f"{made.name}-{task.name}-{index}" for index in range(task.replicas)]
        absent = [index for index, name in enumerate(names) if name not in view.pods]
        if absent and _may_start(view, made, task):
            yield from (made.pod(task, index) for index in absent)


def _may_start(view: View, made: Expansion, task: api.Task) -> bool:
    """Tell whether the tasks that it waits for are far enough."""
    waits = task.depends_on
    if waits is None or not waits.name:
        return True
    ready = [_is_ready(view, made, name) for name in waits.name]
    return any(ready) if waits.iteration == "any" and len(ready) > 1 else all(ready)


def _is_ready(view: View, made: Expansion, name: str) -> bool:
    task = next(one for one in made.spec.tasks or () if one.name == name)
    found = [view.pods.get(f"{made.name}-{name}-{index}") for index in range(task.replicas)]
    if None in found:
        return False
    run = sum(1 for pod in found if pod and (pod.phase == SUCCEEDED or (pod.phase == RUNNING and pod.ready)))
    return run >= task.minimum
