"""The resources that a group asks for before it has pods: as Volcano counts them, for its scheduler and for people."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from phalanx.dialects.core.pod_objects import PodSpec
from phalanx.dialects.core.requests import effective
from phalanx.dialects.mistakes import UNREADABLE, Mistakes
from phalanx.dialects.volcano import job_objects as api
from phalanx.model.quantity import written

_NATIVE = ("cpu", "memory", "ephemeral-storage")


def minimum(spec: api.JobSpec, classes: Mapping[str, int]) -> dict[str, str]:
    """Return what the pods that must start together ask for: those of the highest priority first."""
    tasks = sorted(spec.tasks or (), key=lambda task: -classes.get(str(task.pod.get("priorityClassName")), 0))
    total: Counter[str] = Counter()
    for task, count in _counts(tasks, spec.min_available):
        for name, amount in _usage(task).items():
            total[name] += amount * count
    return {name: written(amount, _unit(name)) for name, amount in sorted(total.items()) if amount}


def _counts(tasks: list[api.Task], needed: int) -> Iterable[tuple[api.Task, int]]:
    """Yield how many pods of each task count: its minimum, then others until there are as many as the Job needs."""
    if needed < sum(task.minimum for task in tasks):
        for task in tasks:
            yield task, min(needed, task.replicas)
            needed -= min(needed, task.replicas)
        return
    for task in tasks:
        yield task, task.minimum
        needed -= task.minimum
    for task in tasks:
        more = min(needed, task.replicas - task.minimum)
        yield task, more
        needed -= more


def _usage(task: api.Task) -> dict[str, int]:
    """Return what a quota counts for one pod."""
    found = {"pods": 1, "count/pods": 1}
    requests, limits = _amounts(task.pod), _amounts(_limits(task.pod))
    for name, amount in requests.items():
        found |= {name: amount, f"requests.{name}": amount}
    return found | {f"limits.{name}": amount for name, amount in limits.items() if name in _NATIVE}


def _amounts(pod: Mapping[str, Any]) -> dict[str, int]:
    try:
        spec = msgspec.convert(pod, PodSpec)
    except UNREADABLE:
        # The API server says what is wrong when the pod is made.
        return {}
    amounts = dict(effective(spec, None, Mistakes(strict=False)).amounts)
    amounts.pop("pods", None)
    return amounts


def _limits(pod: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pod as if it asked for its limits."""

    def asked(container: Any) -> Any:
        resources = container.get("resources") if isinstance(container, dict) else None
        limits = resources.get("limits") if isinstance(resources, dict) else None
        return {**container, "resources": {"requests": limits or {}}} if isinstance(container, dict) else container

    lists = {key: [asked(one) for one in pod.get(key) or ()] for key in ("containers", "initContainers")}
    return {**pod, **lists}


def _unit(name: str) -> str:
    """Return the resource whose spelling an amount has."""
    for prefix in ("requests.", "limits."):
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name
