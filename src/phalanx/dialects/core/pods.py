"""Pod objects to tasks."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import lru_cache

from phalanx.dialects.core import constraints, objects, pod_objects
from phalanx.dialects.core.indexes import index_of
from phalanx.dialects.core.mounts import mounts
from phalanx.dialects.core.neighbours import neighbours
from phalanx.dialects.core.parts import ONE_OF_THEM, UNREADABLE, Asked
from phalanx.dialects.core.priority_classes import evicts
from phalanx.dialects.core.shapes import shape_of
from phalanx.dialects.dialect import QueueName, Table, Wishes
from phalanx.dialects.mistakes import NAME_ALLOWED, FieldError, Mistakes, is_name
from phalanx.dialects.timestamps import moment
from phalanx.model.device import DeviceWish
from phalanx.model.gang import Membership
from phalanx.model.ours import noted_by
from phalanx.model.quantity import shown, written
from phalanx.model.sharing import RESOURCE
from phalanx.model.task import Hold, Shape, State, Task

_NO_WISHES = Wishes()
#: Kinds whose pods are copies of each other. A file may have the Deployment alone.
_OF_REPLICAS = frozenset({"ReplicaSet", "ReplicationController", "StatefulSet", "Deployment"})
_FINISHED = {"Succeeded": State.SUCCEEDED, "Failed": State.FAILED}
#: Longer than anybody waits; it keeps a typo from becoming an infinite float.
_GRACE_MAX = 2**31


def read_pod(pod: pod_objects.Pod, schedulers: Collection[str], table: Table) -> Task:
    """Return the task. A mistake in a pending pod of ours is raised; any other pod is read as far as it goes.

    What is on a node runs and takes room whatever its object says: refusing it would give its room away.
    """
    meta, spec, status = pod.metadata, pod.spec, pod.status
    state, owners = _state(pod), meta.owner_references or ()
    scheduler = spec.scheduler_name or "default-scheduler"
    ours = scheduler in schedulers
    mistakes = Mistakes(strict=ours and state is State.PENDING)
    namespace = _checked(meta.namespace or "default", "metadata.namespace", mistakes)
    name = _checked(meta.name, "metadata.name", mistakes)
    node = _checked(spec.node_name, "spec.nodeName", mistakes) if spec.node_name else None
    nominated = status.nominated_node_name if status else None
    if not spec.containers:
        mistakes.note("spec.containers", "found none, allowed is at least one")
    created = moment(meta.creation_timestamp, "metadata.creationTimestamp", mistakes) or 0.0
    shape = shape_of(pod, namespace, mistakes, on_node=node is not None)
    near = neighbours(spec, meta.labels, namespace, mistakes)
    # A bad annotation on a pod that runs already takes it out of its gang and not out of the books.
    membership = _membership(pod, namespace, mistakes, table)
    wishes = _wishes(pod, shape.priority, mistakes, table, alone=membership is None)
    queue = _queue(pod, mistakes, table)
    asked = _part(pod, shape, mistakes, table, on_node=node is not None)
    if asked is not None and asked.stands_for:
        shape = _without(shape, asked.stands_for)
    reserves = not ours and dict(shape.requests).get(RESOURCE, 0) > 0
    deleted = moment(meta.deletion_timestamp, "metadata.deletionTimestamp", mistakes)
    return Task(
        uid=meta.uid or f"{namespace}/{name}",
        namespace=namespace,
        name=name,
        shape=shape if wishes.devices is None else _wishing(shape, wishes.devices),
        state=state,
        node=node,
        ours=ours,
        scheduler=scheduler,
        created=created,
        started=_started(pod, state, created, mistakes),
        finished=_finished(status, mistakes) if status and state in _FINISHED.values() else None,
        gone_at=deleted if state is State.RELEASING else None,
        grace=_grace(meta, spec),
        owner=next((owner.uid or "" for owner in owners if owner.controller), None),
        replicas_of=next((one.uid or "" for one in owners if one.controller and one.kind in _OF_REPLICAS), ""),
        index=index_of(pod) if ours else (),
        movable=wishes.movable,
        membership=membership,
        nominated=_checked(nominated, "status.nominatedNodeName", mistakes) if nominated else None,
        labels=meta.labels or {},
        annotations=_noted(meta.annotations, noted_by(schedulers)) if ours else {},
        images=constraints.images(spec) if ours else None,
        mounts=mounts(spec, name, mistakes) if spec.volumes else (),
        **near._asdict(),
        queue=queue.name if queue else None,
        queue_field=queue.field if queue else None,
        preemptible=wishes.preemptible is not False,
        patience=wishes.patience,
        evicts=evicts(spec.preemption_policy, "spec.preemptionPolicy", mistakes),
        expected_runtime=wishes.expected_runtime,
        part=asked.part if asked else None,
        part_field=asked.field if asked else "",
        part_counted=bool(asked and asked.stands_for),
        groups=next((said for ask in table.groups if (said := ask(pod))), ()) if asked or reserves else (),
        hold=mistakes.first or (_hold(pod, state, membership, table) or _apart(asked, wishes) if ours else None),
    )


def _noted(annotations: Mapping[str, str] | None, keys: Collection[str]) -> dict[str, str]:
    return {key: annotations[key] for key in keys if key in annotations} if annotations and keys else {}


def _membership(pod: pod_objects.Pod, namespace: str, mistakes: Mistakes, table: Table) -> Membership | None:
    """Return what a pod says of its gang.

    A pod may describe its gang and refer to an object too: Job controllers set `schedulingGroup` on pods of whose
    annotations they know nothing. Then the pod's description counts, and the object must not object.
    """
    own: Membership | None = None
    referred: Membership | None = None
    for ask in table.memberships:
        said = ask(pod, namespace, mistakes)
        if said is not None and said.owner is None:
            own = own or said
        elif said is not None:
            referred = referred or said
    # What describes a gang, or refers to one, may be refined by rows that know nothing of either.
    own = own and _refined(own, pod, mistakes, table)
    if referred is None:
        others = (ask(pod, namespace, mistakes) for ask in table.otherwise)
        return own or next((said for said in others if said is not None), None)
    if own is None or own.minimum is None:
        return _refined(referred, pod, mistakes, table)
    return replace(
        own, owner=referred.owner, group=referred.group, replica=referred.replica, fields=referred.fields
    )  # fmt: skip


def _refined(said: Membership, pod: pod_objects.Pod, mistakes: Mistakes, table: Table) -> Membership:
    for refine in table.refinements:
        said = refine(said, pod, mistakes)
    return said


def _queue(pod: pod_objects.Pod, mistakes: Mistakes, table: Table) -> QueueName | None:
    for ask in table.queues:
        named = ask(pod, mistakes)
        if named is not None:
            return named
    return None


def _wishes(pod: pod_objects.Pod, priority: int, mistakes: Mistakes, table: Table, *, alone: bool) -> Wishes:
    """Return what a pod says of itself: it may be moved unless a row forbids it, else the first row's word counts."""
    said = [one for ask in table.wishes if (one := ask(pod, alone, priority, mistakes)) is not None]
    if len(said) < 2:
        return said[0] if said else _NO_WISHES
    return Wishes(
        all(one.movable for one in said),
        next((one.expected_runtime for one in said if one.expected_runtime is not None), None),
        next((one.preemptible for one in said if one.preemptible is not None), None),
        next((one.patience for one in said if one.patience is not None), None),
        _joined([one.devices for one in said if one.devices is not None]),
    )


def _joined(wishes: list[DeviceWish]) -> DeviceWish | None:
    """Return the first wish; what must lie together must, whoever says so."""
    if len(wishes) < 2:
        return wishes[0] if wishes else None
    return replace(wishes[0], together=tuple(sorted({layer for one in wishes for layer in one.together})))


def _apart(asked: Asked | None, wishes: Wishes) -> Hold | None:
    """Return why the part that a pod asks for cannot be given out as it wishes."""
    if asked is None or asked.hold is not None:
        return asked and asked.hold
    if wishes.devices is not None and wishes.devices.together and asked.part.devices > 1:
        return Hold(asked.field, "parts of several GPUs are not kept together inside a node by this version")
    return None


@lru_cache(maxsize=8192)
def _wishing(shape: Shape, wish: DeviceWish) -> Shape:
    """Return a shape with its wish. The pods of a template say the same, so it is one shape."""
    return replace(shape, devices=wish)


@lru_cache(maxsize=8192)
def _without(shape: Shape, resources: tuple[str, ...]) -> Shape:
    """Return a shape that does not request these resources."""
    return replace(shape, requests=tuple(pair for pair in shape.requests if pair[0] not in resources))


def _part(pod: pod_objects.Pod, shape: Shape, mistakes: Mistakes, table: Table, *, on_node: bool) -> Asked | None:
    """Return the part of devices that a pod asks for, in the words of the first row that knows some."""
    whole = dict(shape.requests).get(RESOURCE, 0)
    found: Asked | None = None
    for ask in table.parts:
        try:
            asked = ask(pod)
        except FieldError as mistake:
            mistakes.note(mistake.field, mistake.message)
            # It sits somewhere, and nobody knows how much of it is free.
            return Asked(UNREADABLE, mistake.field) if on_node and not whole else None
        if asked is not None and found is None:
            found = asked
        elif asked is not None and found is not None and (asked.stands_for or found.stands_for):
            mistakes.note(found.field, f"contradicts {asked.field}: {ONE_OF_THEM}")
    if found is not None and whole and RESOURCE not in found.stands_for:
        mistakes.note(found.field, f"contradicts the request for {written(whole, RESOURCE)} {RESOURCE}: {ONE_OF_THEM}")
        return None
    return found


def _state(pod: pod_objects.Pod) -> State:
    finished = _FINISHED.get((pod.status.phase if pod.status else None) or "")
    if finished is not None:
        return finished
    if not pod.spec.node_name:
        return State.PENDING
    return State.RUNNING if pod.metadata.deletion_timestamp is None else State.RELEASING


def _checked(name: str, field: str, mistakes: Mistakes) -> str:
    """Return a name that can be shown anywhere."""
    if is_name(name):
        return name
    mistakes.note(field, f"found {shown(name)}, allowed is {NAME_ALLOWED}")
    return shown(name)


def _hold(pod: pod_objects.Pod, state: State, membership: Membership | None, table: Table) -> Hold | None:
    if state is State.PENDING and pod.metadata.deletion_timestamp is not None:
        return Hold("metadata.deletionTimestamp", "it is being deleted")
    own = next((hold for ask in table.holds for hold in ask(pod)), None)
    if membership is None or membership.owner is None:
        return own
    described = [field for ask in table.descriptions for field in ask(pod)]
    # What is wrong elsewhere comes first: a misspelled key is why two descriptions of a gang cannot be compared.
    return own if own is not None and own.field not in described else _two_gangs(pod, table)


def _two_gangs(pod: pod_objects.Pod, table: Table) -> Hold | None:
    """Return the hold of a pod that refers to an object and is in another gang too: nobody can say which one counts."""
    named = [field for ask in table.references for field in ask(pod)]
    named += [field for ask in table.descriptions for field in ask(pod)]
    if len(named) < 2:
        return None
    return Hold(named[0], f"contradicts {named[1]}: a pod is in one gang, and one of them says which")


def _grace(meta: objects.Metadata, spec: pod_objects.PodSpec) -> float:
    for seconds in (meta.deletion_grace_period_seconds, spec.termination_grace_period_seconds):
        if seconds is not None:
            return float(min(max(seconds, 0), _GRACE_MAX))
    return 30.0


def _started(pod: pod_objects.Pod, state: State, created: float, mistakes: Mistakes) -> float | None:
    """Return since when it holds its node: its start, else its binding, else (nobody knows) its creation."""
    if state is State.PENDING:
        return None
    status = pod.status or pod_objects.PodStatus()
    started = moment(status.start_time, "status.startTime", mistakes)
    if started is not None or state not in {State.RUNNING, State.RELEASING}:
        return started
    for index, one in enumerate(status.conditions or ()):
        if one.type == "PodScheduled" and one.status == "True":
            bound = moment(one.last_transition_time, f"status.conditions[{index}].lastTransitionTime", mistakes)
            return created if bound is None else bound
    return created


def _finished(status: pod_objects.PodStatus, mistakes: Mistakes) -> float | None:
    """Return when its last container ended."""
    ends = []
    for index, one in enumerate(status.container_statuses or ()):
        if one.state is not None and one.state.terminated is not None:
            field = f"status.containerStatuses[{index}].state.terminated.finishedAt"
            ends.append(moment(one.state.terminated.finished_at, field, mistakes))
    return max((end for end in ends if end is not None), default=None)
