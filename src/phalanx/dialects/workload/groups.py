"""Kubernetes' own gangs: the Workload objects of 1.35, the PodGroup objects of 1.36 and 1.37.

Each release serves an API of its own and none of the others. In 1.35 the pods refer to a Workload and one of its
groups; from 1.36 on they refer to a PodGroup, and a Workload is no more than a template that controllers copy.
"""

from dataclasses import replace
from typing import Any

from phalanx.dialects.core import objects
from phalanx.dialects.mistakes import LABEL_KEY, FieldError, check_name, one_of
from phalanx.dialects.workload import objects as api
from phalanx.model.events import GroupsSeen
from phalanx.model.gang import Condition, Group
from phalanx.model.quantity import shown
from phalanx.model.reference import Reference

GROUP = "scheduling.k8s.io"
COMPOSITE = "CompositePodGroup"
#: The version in which Workloads have groups themselves, and no status.
WITH_GROUPS = f"{GROUP}/v1alpha1"
#: The versions with PodGroups, and the condition of their status that tells how their scheduling goes.
CONDITIONS = {
    f"{GROUP}/v1alpha2": "PodGroupScheduled",
    f"{GROUP}/v1alpha3": "PodGroupInitiallyScheduled",
    f"{GROUP}/v1beta1": "PodGroupInitiallyScheduled",
}

_PARENT = "spec.parentCompositePodGroupName"
_COUNT_ALLOWED = f"a whole number from 1 to {2**31 - 1}"


def read_workload(workload: api.Workload) -> GroupsSeen:
    """Return the groups of a v1alpha1 Workload, or raise the first mistake in it."""
    groups: dict[str, Group] = {}
    for index, one in enumerate(workload.spec.pod_groups or ()):
        path = f"spec.podGroups[{index}]"
        check_name(one.name, f"{path}.name")
        if one.name in groups:
            raise FieldError(
                f"{path}.name", f"found {shown(one.name)} again, allowed is a name that no other group has"
            )
        groups[one.name] = Group(one.name, _minimum(one.policy, f"{path}.policy"), hold=_deletion(workload.metadata))
    if not groups:
        raise FieldError("spec.podGroups", "found none, allowed is at least one")
    return _seen("Workload", workload.metadata, WITH_GROUPS, tuple(groups.values()))


def read_templates(workload: api.Templates, api_version: str) -> GroupsSeen:
    """Return that a later Workload has no groups of its own: only the PodGroups made of it count."""
    return _seen("Workload", workload.metadata, api_version, ())


def read_group(group: api.PodGroup, api_version: str) -> GroupsSeen:
    """Return the group of a PodGroup, or raise the first mistake in it."""
    meta, spec = group.metadata, group.spec
    topology = _topology(spec.scheduling_constraints)
    found = Group(
        meta.name,
        _minimum(spec.scheduling_policy, "spec.schedulingPolicy"),
        priority=_priority(spec, api_version),
        # kube-scheduler 1.37 refuses a group of mixed priorities; 1.36 looks at the group's alone.
        priority_binds=api_version != f"{GROUP}/v1alpha2",
        disrupted_singly=_disrupted_singly(spec.disruption_mode, api_version),
        topology_required=topology,
        hold=_deletion(meta),
        parent=_parent(spec.parent_composite_pod_group_name, meta),
        parent_field=_PARENT,
    )
    seen = _seen("PodGroup", meta, api_version, (found,))
    return replace(seen, condition=_condition(group.status, CONDITIONS[api_version]))


def read_composite(group: api.CompositePodGroup, api_version: str) -> GroupsSeen:
    """Return the group of groups that a CompositePodGroup is, or raise the first mistake in it."""
    meta, spec = group.metadata, group.spec
    topology = _topology(spec.scheduling_constraints)
    found = Group(
        meta.name,
        1,
        priority=spec.priority,
        disrupted_singly=_disrupted_singly(spec.disruption_mode, api_version),
        topology_required=topology,
        groups=_groups(spec.scheduling_policy),
        all_in_leaves=False,
        hold=_deletion(meta),
        composite=True,
        parent=_parent(spec.parent_composite_pod_group_name, meta),
        parent_field=_PARENT,
    )
    return _seen(COMPOSITE, meta, api_version, (found,))


def _parent(name: str | None, meta: objects.Versioned) -> Reference | None:
    """Return the group that a group is part of."""
    if name is None:
        return None
    check_name(name, _PARENT)
    return Reference(COMPOSITE, f"{meta.namespace or 'default'}/{name}")


def _groups(policy: api.CompositePolicy | None) -> int:
    """Return how many groups must start together; a basic one asks for none."""
    given, path = policy or api.CompositePolicy(), "spec.schedulingPolicy"
    if (given.basic is None) == (given.gang is None):
        found = "neither" if given.basic is None else "both"
        raise FieldError(path, f"found {found}, allowed is exactly one of basic, gang")
    if given.gang is None:
        return 0
    count = given.gang.min_group_count
    if count is None or count < 1:
        raise FieldError(f"{path}.gang.minGroupCount", f"found {shown(count)}, allowed is {_COUNT_ALLOWED}")
    return count


def _seen(kind: str, meta: objects.Versioned, api_version: str, groups: tuple[Group, ...]) -> GroupsSeen:
    namespace = meta.namespace or "default"
    check_name(meta.name, "metadata.name")
    check_name(namespace, "metadata.namespace")
    return GroupsSeen(
        Reference(kind, f"{namespace}/{meta.name}"), groups, api_version, meta.uid or "", meta.generation or 0
    )


def _deletion(meta: objects.Versioned) -> str | None:
    # A finalizer keeps a PodGroup until its last pod is gone; whoever deleted it wants no more of them to start.
    return None if meta.deletion_timestamp is None else "metadata.deletionTimestamp: it is being deleted"


def _minimum(policy: api.Policy | None, path: str) -> int | None:
    """Return the minimum of a gang, or None of a basic group."""
    given = policy or api.Policy()
    if (given.basic is None) == (given.gang is None):
        found = "neither" if given.basic is None else "both"
        raise FieldError(path, f"found {found}, allowed is exactly one of basic, gang")
    if given.gang is None:
        return None
    minimum = given.gang.min_count
    if minimum is None or minimum < 1:
        raise FieldError(f"{path}.gang.minCount", f"found {shown(minimum)}, allowed is {_COUNT_ALLOWED}")
    return minimum


def _priority(spec: api.PodGroupSpec, api_version: str) -> int | None:
    """Return the priority of the group, or None when nobody has given it one."""
    # A 1.36 server fills in 0 where no class is named; that must not demote pods which have one.
    if api_version == f"{GROUP}/v1alpha2" and not spec.priority_class_name and not spec.priority:
        return None
    return spec.priority


def _topology(constraints: api.Constraints | None) -> str | None:
    """Return the node label that all pods must share, if any."""
    path, listed = "spec.schedulingConstraints.topology", constraints.topology or () if constraints else ()
    if len(listed) > 1:
        raise FieldError(path, f"found {len(listed)} keys, allowed is one")
    for one in listed:
        if one.key is None or not LABEL_KEY.fullmatch(one.key):
            raise FieldError(f"{path}[0].key", f"found {shown(one.key)}, allowed is the key of a node label")
        return one.key
    return None


def _disrupted_singly(mode: Any, api_version: str) -> bool:
    """Tell whether pods may be evicted one by one."""
    if mode is None:
        return True
    if api_version == f"{GROUP}/v1alpha2":
        words = ("Pod", "PodGroup")
        if mode not in words:
            raise FieldError("spec.disruptionMode", one_of(mode, words))
        return bool(mode == "Pod")
    keys = [key for key, value in mode.items() if value is not None] if isinstance(mode, dict) else [mode]
    if keys not in (["single"], ["all"]):
        found = ", ".join(shown(key) for key in keys[:3]) or "neither"
        raise FieldError("spec.disruptionMode", f"found {found}, allowed is exactly one of single, all")
    return keys == ["single"]


def _condition(status: api.PodGroupStatus | None, type_: str) -> Condition | None:
    for one in (status.conditions or ()) if status else ():
        if one.type == type_:
            return Condition(
                one.status or "", one.reason or "", one.message or "", one.last_transition_time or "",
                one.observed_generation or 0,
            )  # fmt: skip
    return None
