"""KAI's PodGroup (`scheduling.run.ai/v2alpha2`): a gang with a queue, a priority class and a tree of subgroups."""

from collections.abc import Sequence

from phalanx.dialects.kai import objects as api
from phalanx.dialects.kai.pods import FIXED_FROM, GROUP_KIND, preemptible
from phalanx.dialects.kai.queues import GROUP
from phalanx.dialects.kai.topologies import TOPOLOGY_KIND
from phalanx.dialects.mistakes import FieldError, Mistakes, check_name
from phalanx.dialects.timestamps import moment
from phalanx.model.events import GroupsSeen
from phalanx.model.gang import Group, Subgroup, lacking
from phalanx.model.quantity import shown
from phalanx.model.reference import Reference

GROUP_VERSION = f"{GROUP}/v2alpha2"

#: The priority of a group whose class does not exist, in a cluster without a default class.
_PRIORITY = 50
_DEPTH_MAX = 32


def read_group(group: api.PodGroup) -> GroupsSeen:
    """Return the one group of a PodGroup, or raise the first mistake in it."""
    meta, spec = group.metadata, group.spec
    namespace = meta.namespace or "default"
    check_name(meta.name, "metadata.name")
    check_name(namespace, "metadata.namespace")
    if spec.queue:
        check_name(spec.queue, "spec.queue")
    subgroups = _tree(spec.sub_groups or ())
    groups = _groups(spec.min_sub_group, len(subgroups), "spec.minSubGroup")
    leaves = lacking(subgroups, groups, {})
    wishes = spec.topology_constraint or api.TopologyConstraint()
    found = Group(
        meta.name,
        leaves or spec.min_member or 1,
        topology_required=wishes.required_topology_level or None,
        topology_preferred=wishes.preferred_topology_level or None,
        topology=_topology(wishes, "spec"),
        queue=spec.queue or None,
        queue_field="spec.queue",
        subgroups=subgroups,
        groups=groups,
        priority_class=spec.priority_class_name or None,
        priority_absent=_PRIORITY,
        preemptible=preemptible(spec.preemptibility, "spec.preemptibility"),
        fixed_from=FIXED_FROM,
        created=moment(meta.creation_timestamp, "metadata.creationTimestamp", Mistakes(strict=True)),
        hold=_hold(group),
    )
    return GroupsSeen(
        Reference(GROUP_KIND, f"{namespace}/{meta.name}"), (found,), GROUP_VERSION, meta.uid or "", meta.generation or 0
    )


def _hold(group: api.PodGroup) -> str | None:
    if group.metadata.deletion_timestamp is not None:
        return "metadata.deletionTimestamp: it is being deleted"
    return None


def _topology(wish: api.TopologyConstraint, path: str) -> Reference | None:
    """Return the object that has the levels of a wish; None: it names none, and the levels of the policy count."""
    if not (wish.topology and (wish.required_topology_level or wish.preferred_topology_level)):
        return None
    check_name(wish.topology, f"{path}.topologyConstraint.topology")
    return Reference(TOPOLOGY_KIND, wish.topology)


def _tree(listed: Sequence[api.SubGroup]) -> tuple[Subgroup, ...]:
    """Return the subgroups as a tree, siblings by name."""
    position: dict[str, int] = {}
    for index, one in enumerate(listed):
        field = f"spec.subGroups[{index}].name"
        check_name(one.name, field)
        if one.name in position:
            raise FieldError(field, f"found {shown(one.name)} again, allowed is a name that no other subgroup has")
        position[one.name] = index
        _topology(one.topology_constraint or api.TopologyConstraint(), f"spec.subGroups[{index}]")
    children: dict[str, list[api.SubGroup]] = {}
    for index, one in enumerate(listed):
        if one.parent and one.parent not in position:
            raise FieldError(
                f"spec.subGroups[{index}].parent", f"found {shown(one.parent)}, allowed is another subgroup's name"
            )
        children.setdefault(one.parent or "", []).append(one)
    _check_depth(listed, position)
    for index, one in enumerate(listed):
        _groups(one.min_sub_group, len(children.get(one.name, ())), f"spec.subGroups[{index}].minSubGroup")
    return _siblings("", children)


def _check_depth(listed: Sequence[api.SubGroup], position: dict[str, int]) -> None:
    """Refuse a subgroup that is its own ancestor, or one so deep that nobody means it."""
    depth: dict[str, int] = {"": 0}
    for one in listed:
        path: list[str] = []
        name = one.name
        while name not in depth:
            if name in path:
                circle = " in ".join([*path[path.index(name) :], name])
                raise FieldError(f"spec.subGroups[{position[name]}].parent", f"found {circle}, allowed is a tree")
            path.append(name)
            name = listed[position[name]].parent or ""
        depth.update((known, above) for above, known in enumerate(reversed(path), start=depth[name] + 1))
        if depth[one.name] > _DEPTH_MAX:
            raise FieldError(
                f"spec.subGroups[{position[one.name]}].parent",
                f"found {depth[one.name]} levels, allowed is at most {_DEPTH_MAX}",
            )


def _siblings(parent: str, children: dict[str, list[api.SubGroup]]) -> tuple[Subgroup, ...]:
    return tuple(_subgroup(one, children) for one in sorted(children.get(parent, ()), key=lambda one: one.name))


def _subgroup(one: api.SubGroup, children: dict[str, list[api.SubGroup]]) -> Subgroup:
    wishes = one.topology_constraint or api.TopologyConstraint()
    return Subgroup(
        one.name,
        # A set is whole when its parts are; KAI reads no number on it.
        0 if one.name in children else one.min_member or 1,
        _siblings(one.name, children),
        wishes.required_topology_level or None,
        wishes.preferred_topology_level or None,
        _topology(wishes, f"subgroup {one.name}"),
        groups=one.min_sub_group,
    )


def _groups(said: int | None, there: int, field: str) -> int | None:
    """Return how many of its parts must be whole; None: all."""
    if said is not None and said > there:
        raise FieldError(field, f"found {said}, allowed is at most {there}, the number of its subgroups")
    return said
