"""Volcano's PodGroup (`scheduling.volcano.sh/v1beta1`): a gang with a queue, a priority class and minimums per task."""

from collections.abc import Mapping

from phalanx.dialects.mistakes import FieldError, Mistakes, check_name, one_of, under
from phalanx.dialects.timestamps import moment
from phalanx.dialects.volcano import objects as api
from phalanx.dialects.volcano.amounts import read_amounts
from phalanx.dialects.volcano.pods import COUNT_ALLOWED, GROUP, GROUP_KIND, PREEMPTABLE, QUEUE, truth
from phalanx.model.events import GroupsSeen
from phalanx.model.gang import Group, Subgroup
from phalanx.model.quantity import shown
from phalanx.model.reference import Reference

VERSION = f"{GROUP}/v1beta1"
DEFAULT_QUEUE = "default"
HARD, SOFT = MODES = ("hard", "soft")

_LATER = "not honoured by this version"


def read_group(group: api.PodGroup) -> GroupsSeen:
    """Return the one group of a PodGroup, or raise the first mistake in it."""
    meta, spec = group.metadata, group.spec or api.PodGroupSpec()
    namespace = meta.namespace or "default"
    check_name(meta.name, "metadata.name")
    check_name(namespace, "metadata.namespace")
    queue = spec.queue or DEFAULT_QUEUE
    check_name(queue, "spec.queue")
    if spec.priority_class_name:
        check_name(spec.priority_class_name, "spec.priorityClassName")
    read_amounts(spec.min_resources, "spec.minResources")
    held = _deletion(group) or _required(spec)
    found = Group(
        meta.name,
        # Zero lets its pods start one by one.
        spec.min_member or None,
        queue=queue,
        queue_field="spec.queue",
        namespace_key=QUEUE if queue == DEFAULT_QUEUE else "",
        subgroups=_tasks(spec),
        all_in_leaves=False,
        priority_class=spec.priority_class_name or None,
        priority_absent=0,
        preemptible=truth(meta.annotations, meta.labels, PREEMPTABLE),
        created=moment(meta.creation_timestamp, "metadata.creationTimestamp", Mistakes(strict=True)),
        hold=held,
    )
    status = group.status if isinstance(group.status, Mapping) else {}
    return GroupsSeen(
        Reference(GROUP_KIND, f"{namespace}/{meta.name}"), (found,), VERSION, meta.uid or "", meta.generation or 0,
        status=status,
    )  # fmt: skip


def check_topology(wish: api.NetworkTopology | None, path: str) -> str | None:
    """Return the field of a topology that must be kept; None: there is none, or it is only a preference."""
    if wish is None:
        return None
    if wish.mode not in {None, *MODES}:
        raise FieldError(f"{path}.mode", one_of(wish.mode, MODES))
    if wish.highest_tier_allowed is not None and wish.highest_tier_name:
        raise FieldError(
            f"{path}.highestTierName",
            f"found {shown(wish.highest_tier_name)} beside highestTierAllowed, allowed is one of the two",
        )
    return path if (wish.mode or HARD) == HARD else None


def _tasks(spec: api.PodGroupSpec) -> tuple[Subgroup, ...]:
    """Return the minimums of tasks, which count only while the group's own asks for at least as many pods."""
    minimums: dict[str, int] = spec.min_task_member or {}
    for name, minimum in minimums.items():
        field = under("spec.minTaskMember", name)
        if not name:
            raise FieldError(field, f"found {shown(name)}, allowed is the name of a task")
        if type(minimum) is not int or not 0 <= minimum < 2**31:
            raise FieldError(field, f"found {shown(minimum)}, allowed is {COUNT_ALLOWED}")
    if (spec.min_member or 0) < sum(minimums.values()):
        return ()
    return tuple(Subgroup(name, minimum) for name, minimum in sorted(minimums.items()) if minimum)


def _deletion(group: api.PodGroup) -> str | None:
    deleted = group.metadata.deletion_timestamp is not None
    return "metadata.deletionTimestamp: it is being deleted" if deleted else None


def _required(spec: api.PodGroupSpec) -> str | None:
    """Return the first constraint that is not honoured. All of them are checked before one is named."""
    fields = [check_topology(spec.network_topology, "spec.networkTopology")]
    for index, policy in enumerate(spec.sub_group_policy or ()):
        path = f"spec.subGroupPolicy[{index}]"
        if policy.min_sub_groups:
            fields.append(f"{path}.minSubGroups")
        fields.append(check_topology(policy.network_topology, f"{path}.networkTopology"))
    return next((f"{field}: {_LATER}" for field in fields if field is not None), None)
