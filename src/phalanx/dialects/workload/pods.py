"""Pods of Kubernetes' own gangs: which group they refer to. What the group wants is said by its object alone."""

from functools import lru_cache

from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.mistakes import NAME_ALLOWED, FieldError, Mistakes, is_name
from phalanx.model.gang import Membership, PodFields
from phalanx.model.quantity import shown
from phalanx.model.reference import Reference

#: 5 minutes, as in kube-scheduler: so long a gang is tried from its place in the queue before it queues again.
START_TIMEOUT = 300.0


_IN_POD_GROUP = PodFields(object="spec.schedulingGroup.podGroupName", group="spec.schedulingGroup.podGroupName")
_IN_WORKLOAD = PodFields(object="spec.workloadRef.name", group="spec.workloadRef.podGroup")


def references(pod: Pod) -> list[str]:
    """Return the fields by which a pod refers to groups; more than one contradict each other."""
    found = ["spec.schedulingGroup"] if pod.spec.scheduling_group is not None else []
    if pod.spec.workload_ref is not None:
        found.append("spec.workloadRef")
    return found


def membership(pod: Pod, namespace: str, mistakes: Mistakes) -> Membership | None:
    """Return the group that a pod refers to, or None when it refers to none (or, noted, in a wrong way)."""
    group, ref = pod.spec.scheduling_group, pod.spec.workload_ref
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
    group = _checked(name, _IN_POD_GROUP.group)
    full = f"{namespace}/{group}"
    return Membership(
        full, None, start_timeout=START_TIMEOUT, owner=Reference("PodGroup", full), group=group, fields=_IN_POD_GROUP
    )


@lru_cache(maxsize=8192)
def _in_workload(namespace: str, name: str | None, group: str | None, replica: str | None) -> Membership:
    """Read a `workloadRef`. The minimum of a group holds for each replica key by itself."""
    workload = f"{namespace}/{_checked(name, _IN_WORKLOAD.object)}"
    parts = [workload, _checked(group, _IN_WORKLOAD.group)]
    if replica is not None:
        parts.append(_checked(replica, "spec.workloadRef.podGroupReplicaKey"))
    return Membership(
        "/".join(parts), None, start_timeout=START_TIMEOUT, owner=Reference("Workload", workload), group=group,
        replica=replica, fields=_IN_WORKLOAD,
    )  # fmt: skip


def _checked(name: str | None, field: str) -> str:
    if name is None:
        raise FieldError(field, "missing")
    if not is_name(name):
        raise FieldError(field, f"found {shown(name)}, allowed is {NAME_ALLOWED}")
    return name
