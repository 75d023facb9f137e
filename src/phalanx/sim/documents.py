"""Scenario lines as Kubernetes objects, exactly as the API server would show them.

They enter through the dialects like everything else, so a scenario cannot say what a manifest could not.
"""

from datetime import UTC, datetime
from typing import Any

from phalanx.model.axis import GPU, is_extended
from phalanx.model.keys import CORDONED_DEVICES, DEVICE_LINKS
from phalanx.sim.lines import BudgetLine, NodeLine, PodLine, QueueLine
from phalanx.sim.neighbour_words import affinity, constraints

PODS_PER_NODE = "110"


def node_document(node: NodeLine) -> dict[str, Any]:
    """Return a Node."""
    said = {CORDONED_DEVICES: node.cordoned_gpus, DEVICE_LINKS: node.gpu_links}
    annotations = {key: f"{GPU}={indices}" for key, indices in said.items() if indices}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": node.name,
            "uid": f"node:{node.name}",
            "labels": {"kubernetes.io/hostname": node.name, **_gpu_labels(node), **node.label},
            **({"annotations": annotations} if annotations else {}),
        },
        "spec": {
            "unschedulable": node.cordoned,
            "taints": [{"key": key, "value": value, "effect": effect} for key, value, effect in node.taint],
        },
        "status": {
            "allocatable": {"pods": PODS_PER_NODE, **node.amounts},
            "conditions": [{"type": "Ready", "status": "False" if node.not_ready else "True"}],
        },
    }


def _gpu_labels(node: NodeLine) -> dict[str, str]:
    """Return the labels that GPU feature discovery would put on the node."""
    said = {f"{GPU}.product": node.gpu_model, f"{GPU}.memory": node.gpu_memory}
    return {key: value for key, value in said.items() if value is not None}


def queue_document(queue: QueueLine) -> dict[str, Any]:
    """Return a Queue."""
    resources: dict[str, dict[str, object]] = {}
    for term, amounts in (("quota", queue.quota), ("limit", queue.limit), ("weight", queue.weight)):
        for resource, amount in amounts.items():
            resources.setdefault(resource, {})[term] = amount
    spec = {
        "parent": queue.parent,
        "priority": queue.priority,
        "resources": resources or None,
        "borrowing": queue.borrowing,
        "consolidation": queue.consolidation,
        "preemptMinRuntime": _duration(queue.preempt_min_runtime),
        "reclaimMinRuntime": _duration(queue.reclaim_min_runtime),
        "namespaces": queue.namespaces and list(queue.namespaces),
        "placement": queue.placement,
    }
    return {
        "apiVersion": "scheduling.phalanx.dev/v1alpha1",
        "kind": "Queue",
        "metadata": {
            "name": queue.name,
            "uid": f"queue:{queue.name}",
            "creationTimestamp": timestamp(queue.created),
        },
        "spec": {field: value for field, value in spec.items() if value is not None},
    }


def budget_document(budget: BudgetLine) -> dict[str, Any]:
    """Return a PodDisruptionBudget, as one that nobody has counted yet."""
    spec: dict[str, Any] = {"selector": {"matchLabels": dict(budget.label)}}
    if budget.min_available is not None:
        spec["minAvailable"] = budget.min_available
    else:
        spec["maxUnavailable"] = budget.max_unavailable
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": budget.name, "namespace": budget.namespace, "uid": f"budget:{budget.name}"},
        "spec": spec,
    }


def pod_document(pod: PodLine, name: str, created: float, scheduler: str) -> dict[str, Any]:
    """Return one Pod of a line: running when the line says where, pending otherwise."""
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": pod.namespace,
        "uid": f"{pod.namespace}:{name}:1",
        "creationTimestamp": timestamp(created),
        "labels": {**pod.label, **({"phalanx.dev/queue": pod.queue} if pod.queue else {})},
        "annotations": {f"phalanx.dev/{key}": value for key, value in _annotations(pod).items()},
    }
    if pod.members is not None or pod.controlled:
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": pod.name, "uid": f"job:{pod.name}"}
        metadata["ownerReferences"] = [{**owner, "controller": True}]
    status = {"phase": "Pending"} if pod.on is None else {"phase": "Running", "startTime": timestamp(created)}
    spec = _spec(pod, scheduler)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def _annotations(pod: PodLine) -> dict[str, str]:
    """Return what the pod says of its gang, how long it will work, and how it may be treated."""
    texts: dict[str, object] = {
        "expected-runtime": pod.runtime and _duration(pod.runtime.seconds),
        "patience": _duration(pod.patience),
        "preemptible": _truth(pod.preemptible),
        "movable": _truth(pod.movable),
        "gpu-model": pod.gpu_model,
        "gpu-memory-minimum": pod.gpu_memory_minimum,
        "gpu-together": pod.gpu_together,
        "gpu-fraction": pod.gpu_fraction,
        "gpu-memory": pod.gpu_memory,
        "gpu-devices": pod.gpu_devices,
        "gpu-group": pod.gpu_group,
    }
    if pod.members is not None:
        texts |= {
            "gang": pod.name,
            "minimum": pod.minimum,
            "maximum": pod.maximum,
            "subgroup": pod.subgroup,
            "subgroup-minimum": pod.subgroup_minimum,
            "start-timeout": _duration(pod.start_timeout),
            "topology-required": pod.topology_required,
            "topology-preferred": pod.topology_preferred,
            "subgroup-topology-required": pod.subgroup_topology_required,
            "subgroup-topology-preferred": pod.subgroup_topology_preferred,
            "segment-size": pod.segment_size,
            "segment-topology": pod.segment_topology,
            "subgroup-segment-size": pod.subgroup_segment_size,
            "subgroup-segment-topology": pod.subgroup_segment_topology,
            "topology-exclusive": pod.topology_exclusive,
            "topology-exclusive-against": pod.topology_exclusive_against,
            "subgroup-topology-exclusive": pod.subgroup_topology_exclusive,
            "replica-of": pod.replica_of,
            "topology-spread": pod.topology_spread,
            "subgroup-topology-spread": pod.subgroup_topology_spread,
        }
    return {key: str(text) for key, text in texts.items() if text is not None}


def _truth(value: bool | None) -> str | None:
    return None if value is None else str(value).lower()


def _duration(seconds: float | None) -> str | None:
    return None if seconds is None else f"{seconds:.9g}s"


def _spec(pod: PodLine, scheduler: str) -> dict[str, Any]:
    # Kubernetes wants the limit of an extended resource to equal its request.
    limits = {name: amount for name, amount in pod.amounts.items() if is_extended(name)}
    container: dict[str, Any] = {"name": "main", "resources": {"requests": dict(pod.amounts), "limits": limits}}
    if pod.port is not None:
        container["ports"] = [{"containerPort": pod.port, "hostPort": pod.port}]
    spec: dict[str, Any] = {
        "schedulerName": pod.scheduler or scheduler,
        "priority": pod.priority,
        "containers": [container],
        "nodeSelector": dict(pod.select),
        "tolerations": [_toleration(*parts) for parts in pod.tolerate],
    }
    if pod.repels or pod.attracts or pod.likes or pod.dislikes:
        spec["affinity"] = affinity(pod.label, pod.repels, pod.attracts, pod.likes, pod.dislikes)
    if pod.spread or pod.spread_softly:
        spec["topologySpreadConstraints"] = constraints(pod.label, pod.spread, pod.spread_softly)
    if pod.preempts is False:
        spec["preemptionPolicy"] = "Never"
    return spec if pod.on is None else {**spec, "nodeName": pod.on}


def _toleration(key: str, value: str | None, effect: str) -> dict[str, str]:
    """Return a toleration; the key `*` tolerates every taint."""
    named = {} if key == "*" else {"key": key}
    rule = {"operator": "Exists"} if value is None else {"operator": "Equal", "value": value}
    return {**named, **rule, **({"effect": effect} if effect else {})}


def timestamp(seconds: float) -> str:
    """Return a moment of virtual time, which starts in 1970, as Kubernetes writes times."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
