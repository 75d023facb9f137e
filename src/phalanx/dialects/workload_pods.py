"""Pods of Kubernetes' own gangs: which group they refer to. What the group wants is said by its object alone."""

from functools import lru_cache

from phalanx.dialects import objects
from phalanx.dialects.mistakes import NAME_ALLOWED, FieldError, Mistakes, is_name
from phalanx.model.gang import Membership
from phalanx.model.quantity import shown

#: 5 minutes, as in kube-scheduler: so long a gang is tried from its place in the queue before it queues again.
START_TIMEOUT = 300.0


def membership(spec: objects.PodSpec, namespace: str, mistakes: Mistakes) -> Membership | None:
    """Return the group that a pod refers to, or None when it refers to none (or, noted, in a wrong way)."""
    group, ref = spec.scheduling_group, spec.workload_ref
    try:
        if group is not None:
            return _in_pod_group(namespace, group.pod_group_name)
        if ref is not None:
            return _in_workload(namespace, ref.name, ref.pod_group, ref.pod_group_replica_key)
    except FieldError as mistake:
        mistakes.note(mistake.field, mistake.message)
    return None


@lru_cache(maxsize=8192)
def _in_pod_group(namespace: str, name: str | None) -> Membership:
    """Read a `schedulingGroup`. The pods of a gang have the same one, so it is done once."""
    group = _checked(name, "spec.schedulingGroup.podGroupName")
    full = f"{namespace}/{group}"
    return Membership(full, None, start_timeout=START_TIMEOUT, owner=f"PodGroup {full}", group=group)


@lru_cache(maxsize=8192)
def _in_workload(namespace: str, name: str | None, group: str | None, replica: str | None) -> Membership:
    """Read a `workloadRef`. The minimum of a group holds for each replica key by itself."""
    workload = f"{namespace}/{_checked(name, 'spec.workloadRef.name')}"
    parts = [workload, _checked(group, "spec.workloadRef.podGroup")]
    if replica is not None:
        parts.append(_checked(replica, "spec.workloadRef.podGroupReplicaKey"))
    return Membership(
        "/".join(parts), None, start_timeout=START_TIMEOUT, owner=f"Workload {workload}", group=group, replica=replica
    )


def _checked(name: str | None, field: str) -> str:
    if name is None:
        raise FieldError(field, "missing")
    if not is_name(name):
        raise FieldError(field, f"found {shown(name)}, allowed is {NAME_ALLOWED}")
    return name
