"""Shapes of pods. Pods of one template differ in their names alone, so their shape is worked out once."""

import msgspec

from phalanx.dialects.core import constraints, pod_objects
from phalanx.dialects.core.requests import effective, guaranteed, infeasible
from phalanx.dialects.mistakes import Mistakes
from phalanx.model.task import Shape

#: How many different pods are remembered, and how large a description may be.
_SHAPES_MAX = 16_384
_BYTES_MAX = 8_192

_encoder = msgspec.msgpack.Encoder()
_shapes: dict[bytes, Shape] = {}


def shape_of(pod: pod_objects.Pod, namespace: str, mistakes: Mistakes, *, on_node: bool) -> Shape:
    """Return what the scheduler may look at. Labels are left to those who know which are read."""
    # Until its kubelet has spoken a pod has nothing but its spec to go by, and stays the shape that it was.
    status = pod.status if on_node and pod.status is not None and _speaks(pod.status) else None
    key = _key(pod.spec, status, namespace)
    known = _shapes.get(key) if key else None
    if known is not None:
        return known
    shape = _shape(pod.spec, status, namespace, mistakes)
    if key and mistakes.first is None:
        if len(_shapes) >= _SHAPES_MAX:
            _shapes.clear()
        _shapes[key] = shape
    return shape


def _shape(
    spec: pod_objects.PodSpec, status: pod_objects.PodStatus | None, namespace: str, mistakes: Mistakes
) -> Shape:
    request = effective(spec, status, mistakes)
    return Shape(
        requests=request.amounts,
        scored=request.scored,
        priority=spec.priority or 0,
        namespace=namespace,
        tolerations=constraints.tolerations(spec.tolerations, mistakes),
        node_selector=constraints.node_selector(spec.node_selector),
        node_terms=constraints.node_terms(spec.affinity, mistakes),
        preferences=constraints.preferences(spec.affinity, mistakes),
        host_ports=constraints.host_ports(spec, mistakes),
        features=constraints.features(spec),
        pinned=guaranteed(spec),
    )


def _speaks(status: pod_objects.PodStatus) -> bool:
    """Tell whether a status says anything of what the pod has."""
    listed = status.resources or status.allocated_resources or status.container_statuses
    return bool(listed or status.init_container_statuses or infeasible(status))


def _key(spec: pod_objects.PodSpec, status: pod_objects.PodStatus | None, namespace: str) -> bytes | None:
    """Return everything that a shape is made of, as bytes; None for what is too large or cannot be written."""
    resized = None
    if status is not None:
        resized = [
            status.resources,
            status.allocated_resources,
            infeasible(status),
            *[
                (one.name, one.resources, one.allocated_resources)
                for listed in (status.container_statuses, status.init_container_statuses)
                for one in listed or ()
            ],
        ]
    parts = (
        namespace, spec.priority, spec.containers, spec.init_containers, spec.overhead, spec.resources,
        spec.tolerations, spec.node_selector, spec.affinity, spec.host_network, spec.host_users, resized,
    )  # fmt: skip
    try:
        key = _encoder.encode(parts)
    except (UnicodeError, OverflowError, TypeError, RecursionError):
        return None
    return key if len(key) <= _BYTES_MAX else None
