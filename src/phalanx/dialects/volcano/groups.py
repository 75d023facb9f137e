"""Volcano's PodGroup (`scheduling.volcano.sh/v1beta1`): a gang with a queue, a priority class and minimums per task."""

from collections.abc import Mapping
from typing import NamedTuple

from phalanx.dialects.core.constraints import label_selector
from phalanx.dialects.mistakes import LABEL_KEY, FieldError, Mistakes, check_name, one_of, under
from phalanx.dialects.timestamps import moment
from phalanx.dialects.volcano import objects as api
from phalanx.dialects.volcano.amounts import read_amounts
from phalanx.dialects.volcano.hyper_nodes import HARD, MODES, NEAREST, SOFT, TREE
from phalanx.dialects.volcano.pods import COUNT_ALLOWED, GROUP, GROUP_KIND, PREEMPTABLE, QUEUE, truth
from phalanx.model.events import GroupsSeen
from phalanx.model.gang import Division, Group, Named, Subgroup
from phalanx.model.quantity import shown
from phalanx.model.reference import Reference

VERSION = f"{GROUP}/v1beta1"
DEFAULT_QUEUE = "default"


class Nearness(NamedTuple):
    """Wishes of a group or a part of it, as the model has them."""

    required: Named = None
    preferred: Named = None
    topology: Reference | None = None


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
    near = network_topology(spec.network_topology, "spec.networkTopology")
    held = _deletion(group)
    found = Group(
        meta.name,
        # Zero lets its pods start one by one.
        spec.min_member or None,
        topology_required=near.required,
        topology_preferred=near.preferred,
        topology=near.topology,
        queue=queue,
        queue_field="spec.queue",
        namespace_key=QUEUE if queue == DEFAULT_QUEUE else "",
        subgroups=_tasks(spec),
        divisions=tuple(
            _division(one, f"spec.subGroupPolicy[{at}]") for at, one in enumerate(spec.sub_group_policy or ())
        ),
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


def network_topology(wish: api.NetworkTopology | None, path: str) -> Nearness:
    """Return how near to each other pods must, and should, be: as near as can be, up to the highest tier allowed."""
    if wish is None:
        return Nearness()
    if wish.mode not in {None, *MODES}:
        raise FieldError(f"{path}.mode", one_of(wish.mode, MODES))
    if wish.highest_tier_allowed is not None and wish.highest_tier_name:
        raise FieldError(
            f"{path}.highestTierName",
            f"found {shown(wish.highest_tier_name)} beside highestTierAllowed, allowed is one of the two",
        )
    if (wish.mode or HARD) == SOFT:
        return Nearness(None, NEAREST, TREE)
    highest = wish.highest_tier_name or None if wish.highest_tier_allowed is None else wish.highest_tier_allowed
    return Nearness(highest, NEAREST, TREE)


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


def _division(policy: api.SubGroupPolicy, path: str) -> Division:
    """Return by which labels pods are divided. As in Volcano, without any key nobody is."""
    near = network_topology(policy.network_topology, f"{path}.networkTopology")
    keys = tuple(policy.match_label_keys or ())
    for at, key in enumerate(keys):
        if not LABEL_KEY.fullmatch(key):
            raise FieldError(f"{path}.matchLabelKeys[{at}]", f"found {shown(key)}, allowed is the key of a label")
    selector = label_selector(policy.label_selector, f"{path}.labelSelector", Mistakes(strict=True))
    part = Subgroup("", policy.sub_group_size or 1, (), near.required, near.preferred, near.topology)
    return Division(policy.name or path, selector, keys, part, policy.min_sub_groups or 0)
