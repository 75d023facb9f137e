"""Effective requests: what a pod takes of a node, by the formula that Kubernetes calls part of its API.

Containers run together and add up; init containers run before them, one at a time; sidecars (init containers
that restart always) run beside all that come after them. Amounts set for the whole pod replace the sum, and the
overhead of its runtime is added. Each quantity is rounded up by itself to the resource's smallest unit.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from phalanx.dialects.core import objects, pod_objects
from phalanx.dialects.mistakes import RESOURCE_ALLOWED, Mistakes, is_resource, under
from phalanx.model.axis import AMOUNT_MAX, CPU, MEMORY, PODS, add_up
from phalanx.model.quantity import QuantityError, request, shown

#: What a container that names none of it counts as in scores, never in the books.
SCORED = {CPU: 100, MEMORY: 200 * 2**20}


@dataclass(frozen=True, slots=True)
class Request:
    """What a pod takes, and what it counts as in scores (cpu, memory)."""

    amounts: tuple[tuple[str, int], ...]
    scored: tuple[int, int]


def effective(spec: pod_objects.PodSpec, status: pod_objects.PodStatus | None, mistakes: Mistakes) -> Request:
    """Return what a pod takes. `status` is that of a pod on a node, which may be resized in place."""
    containers = _Containers.of(spec, status, mistakes)
    total = containers.total({})
    level = _level(spec, status, total, mistakes)
    overhead = _amounts(spec.overhead, "spec.overhead", mistakes)
    amounts = _whole(total, level, overhead)
    named = amounts if level else {}
    scored = _whole(containers.total({name: SCORED[name] for name in SCORED if name not in named}), level, overhead)
    for name, amount in amounts.items():
        if amount > AMOUNT_MAX:
            mistakes.note("spec.containers", f"found {amount} of {shown(name)} in all, allowed is at most 2^53")
    rounded = {name: min(amount, AMOUNT_MAX) for name, amount in amounts.items() if amount} | {PODS: 1}
    return Request(
        tuple(sorted(rounded.items())),
        (min(scored.get(CPU, 0), AMOUNT_MAX), min(scored.get(MEMORY, 0), AMOUNT_MAX)),
    )


@dataclass(frozen=True, slots=True)
class _Containers:
    """Amounts per container, zeros kept: a container that asks for zero is not one that names none."""

    apps: list[dict[str, int]]
    #: Init containers in order, with whether each is a sidecar.
    inits: list[tuple[bool, dict[str, int]]]

    @classmethod
    def of(cls, spec: pod_objects.PodSpec, status: pod_objects.PodStatus | None, mistakes: Mistakes) -> "_Containers":
        resize = _Resize.of(status)
        apps = [
            resize.of_container(one, f"spec.containers[{index}].resources", mistakes)
            for index, one in enumerate(spec.containers or ())
        ]
        inits = []
        for index, one in enumerate(spec.init_containers or ()):
            path, sidecar = f"spec.initContainers[{index}].resources", is_sidecar(one)
            # An ordinary init container is never resized; its status says nothing.
            amounts = (resize if sidecar else _NO_RESIZE).of_container(one, path, mistakes)
            inits.append((sidecar, amounts))
        return cls(apps, inits)

    def total(self, missing: Mapping[str, int]) -> dict[str, int]:
        """Return the most that runs at once, each container that names no amount counted as `missing`."""
        total: dict[str, int] = {}
        for app in self.apps:
            add_up(total, {**missing, **app})
        #: Sidecars so far. All of them together are in the total, so they need no peak of their own.
        beside: dict[str, int] = {}
        peak: dict[str, int] = {}
        for sidecar, init in self.inits:
            use = {**missing, **init}
            if sidecar:
                add_up(total, use)
                add_up(beside, use)
            else:
                add_up(use, beside)
                _raise_to(peak, use)
        _raise_to(total, peak)
        return total


@dataclass(frozen=True, slots=True)
class _Resize:
    """In-place resize as in Kubernetes 1.36: a container is charged the most of what it asks for, has and was given."""

    statuses: Mapping[str | None, tuple[str, pod_objects.ContainerStatus]]
    #: The kubelet said that what the spec asks for can never be: it does not count.
    infeasible: bool = False

    @classmethod
    def of(cls, status: pod_objects.PodStatus | None) -> "_Resize":
        if status is None:
            return _NO_RESIZE
        found: dict[str | None, tuple[str, pod_objects.ContainerStatus]] = {}
        for kind, those in (("init", status.init_container_statuses), ("", status.container_statuses)):
            list_name = f"status.{kind}ContainerStatuses" if kind else "status.containerStatuses"
            for index, one in enumerate(those or ()):
                if one.resources is not None:
                    found[one.name] = (f"{list_name}[{index}]", one)
        return cls(found, infeasible(status))

    def of_container(self, container: pod_objects.Container, path: str, mistakes: Mistakes) -> dict[str, int]:
        spec = _defaulted(container.resources, path, mistakes)
        found = self.statuses.get(container.name)
        if found is None:
            return spec
        where, status = found
        amounts = {} if self.infeasible else spec
        requests = status.resources.requests if status.resources else None
        _raise_to(amounts, _amounts(requests, f"{where}.resources.requests", mistakes))
        _raise_to(amounts, _amounts(status.allocated_resources, f"{where}.allocatedResources", mistakes))
        return amounts


_NO_RESIZE = _Resize({})


def infeasible(status: pod_objects.PodStatus) -> bool:
    """Tell whether the kubelet refused the resize that the spec asks for."""
    pending = next((one for one in status.conditions or () if one.type == "PodResizePending"), None)
    return pending is not None and pending.reason == "Infeasible"


def is_sidecar(init: pod_objects.Container) -> bool:
    """Tell an init container that keeps running from one that ends."""
    return init.restart_policy == "Always"


def _level(
    spec: pod_objects.PodSpec, status: pod_objects.PodStatus | None, total: Mapping[str, int], mistakes: Mistakes
) -> dict[str, int]:
    """Return the amounts set for the pod as a whole, which replace what its containers add up to.

    Where only limits are set, the API server fills in the requests, and files may not have been there.
    """
    if spec.resources is None:
        return {}
    level = _for_pods(_amounts(spec.resources.requests, "spec.resources.requests", mistakes))
    limits = _for_pods(_amounts(spec.resources.limits, "spec.resources.limits", mistakes))
    if limits:
        level = {name: total[name] for name in (CPU, MEMORY) if name in total} | level
        level = limits | level
    if level and status is not None and (status.resources is not None or status.allocated_resources is not None):
        amounts = {} if infeasible(status) else level
        requests = status.resources.requests if status.resources else None
        _raise_to(amounts, _for_pods(_amounts(requests, "status.resources.requests", mistakes)))
        _raise_to(amounts, _for_pods(_amounts(status.allocated_resources, "status.allocatedResources", mistakes)))
        return amounts
    return level


def _for_pods(amounts: Mapping[str, int]) -> dict[str, int]:
    """Keep the resources that can be set for a pod as a whole."""
    return {name: amount for name, amount in amounts.items() if name in SCORED or name.startswith("hugepages-")}


def _whole(total: dict[str, int], level: Mapping[str, int], overhead: Mapping[str, int]) -> dict[str, int]:
    whole = total | dict(level)
    add_up(whole, overhead)
    return whole


def _defaulted(resources: objects.Resources | None, path: str, mistakes: Mistakes) -> dict[str, int]:
    """Return a container's requests; a resource with only a limit asks for its limit."""
    if resources is None:
        return {}
    requests = _amounts(resources.requests, f"{path}.requests", mistakes)
    if not resources.limits:
        return requests
    unset = {name: value for name, value in resources.limits.items() if name not in requests}
    return _amounts(unset, f"{path}.limits", mistakes) | requests


def _amounts(quantities: objects.Amounts, path: str, mistakes: Mistakes) -> dict[str, int]:
    """Read quantities. One that cannot be read counts as the most there is: its pod takes room we cannot know."""
    amounts: dict[str, int] = {}
    for name, value in (quantities or {}).items():
        if name == PODS or not is_resource(name):
            mistakes.note(under(path, name), f"found {shown(name)}, allowed is {RESOURCE_ALLOWED}")
            continue
        try:
            amounts[name] = request(value, name)
        except QuantityError as error:
            mistakes.note(under(path, name), str(error))
            amounts[name] = AMOUNT_MAX
    return amounts


def _raise_to(amounts: dict[str, int], others: Mapping[str, int]) -> None:
    """Set each amount to the greater of the two."""
    for name, amount in others.items():
        amounts[name] = max(amounts.get(name, 0), amount)


def guaranteed(spec: pod_objects.PodSpec) -> bool:
    """Tell whether every container is limited in cpu and memory to what it requests: then it may have cpus alone.

    What cannot be read is refused elsewhere.
    """
    for one in [*(spec.containers or ()), *(spec.init_containers or ())]:
        limits = (one.resources.limits if one.resources else None) or {}
        requests = (one.resources.requests if one.resources else None) or {}
        for name in (CPU, MEMORY):
            if name not in limits or (name in requests and not _equal(requests[name], limits[name], name)):
                return False
    return bool(spec.containers)


def _equal(one: object, other: object, name: str) -> bool:
    try:
        return one == other or request(one, name) == request(other, name)
    except QuantityError:
        return False
