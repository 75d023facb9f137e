"""Gangs from what their members say: who belongs together, what the gang is, and who counts already."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from phalanx.model.gang import Gang, Group, Membership, Named, Subgroup
from phalanx.model.keys import MAXIMUM, MINIMUM, PREFIX, annotation
from phalanx.model.reference import Reference
from phalanx.model.task import OURS, REPLICAS_OF, Hold, Shape, State, Task
from phalanx.model.volume import TaskVolumes
from phalanx.world.divisions import subgroups_of
from phalanx.world.ranks import NO_SEGMENT, ranked, segments_of

#: Members of these states count towards the minimum. A terminating one will be gone.
THERE = frozenset({State.BINDING, State.RUNNING})
#: What members of one gang must agree on, besides the minimum of their subgroup.
SAID_BY_GANG = (
    "maximum", "start_timeout", "preemptible", "topology_required", "topology_preferred", "segment_size",
    "segment_topology", "topology_exclusive", "topology_exclusive_against", "replica_of", "topology_spread", "patience",
)  # fmt: skip
SAID_BY_SUBGROUP = (
    "subgroup_minimum", "subgroup_topology_required", "subgroup_topology_preferred", "subgroup_segment_size",
    "subgroup_segment_topology", "subgroup_topology_exclusive", "subgroup_topology_spread",
)  # fmt: skip
SAID_BY_POD = ("expected_runtime", "queue")
#: How many pods a message names before it says "and n more".
NAMED_MAX = 3


@dataclass(frozen=True, slots=True)
class Piece:
    """One gang with its pending tasks, worked out once and kept until one of its members changes."""

    gang: Gang
    #: By (creation, name): the order in which members are taken.
    tasks: tuple[Task, ...]
    shapes: tuple[Shape, ...]
    running: int
    running_in: dict[str, int]
    present: int
    #: Of the tasks that mount claims, by place among the tasks.
    volumes: Mapping[int, TaskVolumes]
    #: The place of each task in the order of ranks, and its segment; empty for a gang that wishes nothing of topology.
    ranks: tuple[int, ...]
    segments: tuple[int, ...]
    #: By subgroup ("": none): the nodes of members that are on nodes, with the segment of each; only of a gang with a
    #: wish.
    located: dict[str, tuple[tuple[str, int], ...]]

    @property
    def irregular(self) -> bool:
        """Tell whether the choice of its tasks needs a look at each of them."""
        return bool(self.gang.hold or self.gang.subgroups or any(task.hold for task in self.tasks))

    @property
    def holds(self) -> tuple[Hold | None, ...]:
        """Return each pending task's hold."""
        return tuple(task.hold for task in self.tasks)


def gang_key(task: Task) -> str:
    """Return the key of the gang a task belongs to: `Pod/…` for a plain pod, so that no uid meets another's gang.

    Gangs of one name that annotations and objects of different kinds describe are different gangs.
    """
    said = task.membership
    if said is None:
        return f"Pod/{task.uid}"
    described = said.owner is not None and said.minimum is None
    return f"{said.owner.kind if described and said.owner else 'gang'}/{said.gang}"


def assemble(key: str, members: Sequence[Task], queue: str, group: Group | None = None) -> Gang:
    """Return the gang that these unfinished members make up, held if they contradict each other.

    `queue`: where it is unless its group says so. `group`: what an object says of the gang, its priority looked up
    (`groups.look_up`); None: the members say it themselves.
    """
    first = members[0]
    by_age = sorted(members, key=lambda task: (task.created, task.name))
    said = by_age[-1].membership
    if said is None:
        return Gang(
            key, first.full_name, queue=queue, priority=first.shape.priority, created=first.created,
            preemptible=first.preemptible, expected_runtime=first.expected_runtime, patience=first.patience,
            evicts=first.evicts,
        )  # fmt: skip
    required, preferred = (group.topology_required, group.topology_preferred) if group else (None, None)
    return Gang(
        key,
        said.gang,
        minimum=(said.minimum if group is None else group.minimum) or 1,
        maximum=said.maximum,
        subgroups=(subgroups_of(members, group) if group else ()) or _subgroups(by_age),
        groups=group.groups if group else None,
        queue=(group.queue if group and not group.namespace_key else None) or queue,
        priority=_priority(members, group),
        created=group.created if group and group.created is not None else by_age[0].created,
        start_timeout=said.start_timeout,
        preemptible=_preemptible(said, members, group),
        topology_required=_either(said.topology_required, required, said.topology_exclusive),
        topology_preferred=_either(said.topology_preferred, preferred, said.topology_spread),
        topology=_topology(said, group),
        spread=said.topology_spread,
        segments=said.segments,
        expected_runtime=by_age[-1].expected_runtime,
        patience=said.patience,
        evicts=all(task.evicts for task in members),
        disrupted_singly=group is None or group.disrupted_singly,
        hold=_disagreement(by_age, group) or (None if group else _unclear(by_age)),
    )


def _either(*said: Named) -> Named:
    """Return what is said first."""
    return next((one for one in said if one is not None), None)


def _topology(said: Membership, group: Group | None) -> Reference | None:
    """Return whose levels count: those of who says where the gang should be."""
    own = group is None or said.topology_required is not None or said.topology_preferred is not None
    return said.topology if own else group.topology if group else None


def _preemptible(said: Membership, members: Sequence[Task], group: Group | None) -> bool:
    """Its group's word counts, then its members': one that must not be evicted protects those it works with."""
    if group is None:
        return said.preemptible
    if group.preemptible is not None:
        return group.preemptible
    return all(task.membership is None or task.membership.preemptible for task in members)


def _priority(members: Sequence[Task], group: Group | None) -> int:
    """Its group's, else its lowest: one unimportant member must not lift others over more important gangs."""
    if group is not None and group.priority is not None:
        return group.priority
    return min(task.shape.priority for task in members)


def _subgroups(members: Iterable[Task]) -> tuple[Subgroup, ...]:
    """Return the flat subgroups that members name, sorted by name."""
    found: dict[str, Subgroup] = {}
    for task in members:
        said = task.membership
        if said is not None and said.subgroup is not None:
            found[said.subgroup] = Subgroup(
                said.subgroup, said.subgroup_minimum or 0,
                topology_required=said.subgroup_topology_required or said.subgroup_topology_exclusive,
                topology_preferred=said.subgroup_topology_preferred or said.subgroup_topology_spread,
                segments=said.subgroup_segments, spread=said.subgroup_topology_spread,
            )  # fmt: skip
    return tuple(found[name] for name in sorted(found))


def _unclear(members: Sequence[Task]) -> str | None:
    return _missing_minimum(members) or _unreachable(members)


def _missing_minimum(members: Sequence[Task]) -> str | None:
    """The newest pod's word holds: a template that was scaled writes the new minimum on new pods only."""
    newest = members[-1]
    if newest.membership is not None and newest.membership.minimum is None:
        # A wrong key of ours is probably the one that is missing.
        if newest.hold is not None and newest.hold.field.startswith(annotation(PREFIX).removesuffix("]")):
            return f"{newest.hold.field}: {newest.hold.message}, on pod {newest.full_name}"
        return f"{annotation(MINIMUM)}: required with a gang, missing on pod {newest.full_name}"
    return None


def _unreachable(members: Sequence[Task]) -> str | None:
    """Minimums that no gang of this maximum can have."""
    said = members[-1].membership
    if said is None or said.maximum is None:
        return None
    parts = sum(subgroup.minimum for subgroup in _subgroups(members))
    needed = max(parts, said.minimum or 0)
    if needed <= said.maximum:
        return None
    source = "the subgroup minimums add up to" if parts == needed else f"{MINIMUM} is"
    return f"{annotation(MAXIMUM)}: {said.maximum}, but {source} {needed}"


def _disagreement(members: Sequence[Task], group: Group | None) -> str | None:
    """Return what members contradict each other in, naming the pods; they may differ in the minimum alone."""
    for field in SAID_BY_GANG:
        if field == "preemptible" and group is not None:
            continue
        text = _contradiction(field, [(getattr(task.membership, field), task) for task in members])
        if text is not None:
            return text
    for field in SAID_BY_POD:
        if field == "queue" and group is not None and group.queue is not None:
            continue
        text = _contradiction(field, [(getattr(task, field), task) for task in members])
        if text is not None:
            return text
    for subgroup in _subgroups(members):
        own = [task for task in members if task.membership and task.membership.subgroup == subgroup.name]
        for field in SAID_BY_SUBGROUP:
            text = _contradiction(field, [(getattr(task.membership, field), task) for task in own])
            if text is not None:
                return text
    return None


def _contradiction(field: str, said: Sequence[tuple[object, Task]]) -> str | None:
    """Return a sentence if not all say the same."""
    if len({repr(value) for value, _ in said}) <= 1:
        return None
    return f"members disagree on {PREFIX}{field.replace('_', '-')}: {who_says(said)}"


def who_says(said: Sequence[tuple[object, Task]]) -> str:
    """Return each value with the pods that have it."""
    kinds = {repr(value): value for value, _ in said}
    parts = []
    for _, value in sorted(kinds.items()):
        pods = [task.name for found, task in said if found == value]
        more = f" and {len(pods) - NAMED_MAX} more" if len(pods) > NAMED_MAX else ""
        parts.append(f"{value if value is not None else 'nothing'} on {', '.join(pods[:NAMED_MAX])}{more}")
    return "; ".join(parts)


def credit(members: Iterable[Task]) -> tuple[int, dict[str, int]]:
    """Return how many members count towards the minimum already, in all and per subgroup.

    A finished member counts only while one that ran beside it still runs: yesterday's run of a CronJob does
    not satisfy today's.
    """
    members = list(members)
    there = [task for task in members if task.state in THERE]
    done = [task for task in members if task.state is State.SUCCEEDED and any(_beside(task, one) for one in there)]
    inside: dict[str, int] = {}
    for task in (*there, *done):
        said: Membership | None = task.membership
        if said is not None and said.subgroup is not None:
            inside[said.subgroup] = inside.get(said.subgroup, 0) + 1
    return len(there) + len(done), inside


def piece_of(
    gang: Gang, members: Sequence[Task], moved: Sequence[Task], shape_of: Callable[[Task], Shape],
    volumes_of: Callable[[Task], TaskVolumes],
) -> Piece | None:  # fmt: skip
    """Return what waits of a gang, given all its members; None when nothing does.

    `moved`: members as they ran before they were asked to go to another place. They are on their way there.
    """
    pending = [task for task in members if task.state is State.PENDING]
    if not pending:
        return None
    tasks = tuple(sorted(pending, key=lambda task: (task.created, task.name, task.uid)))
    there = [*members, *moved]
    running, inside = credit(there)
    shapes = tuple(shape_of(task) for task in tasks)
    volumes = {index: volumes_of(task) for index, task in enumerate(tasks) if task.mounts}
    present = sum(task.state in THERE for task in there)
    if not gang.wishes:
        return Piece(gang, tasks, shapes, running, inside, present, volumes, (), (), {})
    segments = segments_of(gang, members)
    place = {task.uid: at for at, task in enumerate(ranked(tasks))}
    return Piece(
        gang, tasks, shapes, running, inside, present, volumes, tuple(place[task.uid] for task in tasks),
        tuple(segments.get(task.uid, NO_SEGMENT) for task in tasks), _located(members, segments),
    )  # fmt: skip


def _located(members: Iterable[Task], segments: Mapping[str, int]) -> dict[str, tuple[tuple[str, int], ...]]:
    found: dict[str, list[tuple[str, int]]] = {}
    for task in members:
        if task.state in THERE and task.node is not None:
            part = (task.membership.subgroup if task.membership else None) or ""
            found.setdefault(part, []).append((task.node, segments.get(task.uid, NO_SEGMENT)))
    return {name: tuple(sorted(nodes)) for name, nodes in sorted(found.items())}


def _beside(finished: Task, running: Task) -> bool:
    """Tell whether the running task had started before the other one ended."""
    ended = finished.finished if finished.finished is not None else finished.started
    began = running.started if running.started is not None else running.created
    return began <= (ended if ended is not None else finished.created)


def labels_read(task: Task, keys: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """Return the labels of a task that somebody reads."""
    read = [(key, value) for key, value in task.labels.items() if key in keys]
    if task.ours and OURS in keys:
        read.append((OURS, ""))
    if task.replicas_of and REPLICAS_OF in keys:
        read.append((REPLICAS_OF, task.replicas_of))
    return tuple(sorted(read))
