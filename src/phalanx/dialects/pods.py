"""Pod objects to tasks."""

from collections.abc import Collection
from dataclasses import replace

from phalanx.dialects import constraints, holds, kai_pods, native, objects, workload_pods
from phalanx.dialects.mistakes import NAME_ALLOWED, Mistakes, is_name
from phalanx.dialects.priority_classes import evicts
from phalanx.dialects.shapes import shape_of
from phalanx.dialects.timestamps import moment
from phalanx.model.gang import Membership
from phalanx.model.quantity import shown
from phalanx.model.task import Hold, State, Task

_FINISHED = {"Succeeded": State.SUCCEEDED, "Failed": State.FAILED}
#: Longer than anybody waits; it keeps a typo from becoming an infinite float.
_GRACE_MAX = 2**31
#: The cluster autoscaler's word for a pod that must not be put elsewhere.
_SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"


def read_pod(pod: objects.Pod, schedulers: Collection[str]) -> Task:
    """Return the task. A mistake in a pending pod of ours is raised; any other pod is read as far as it goes.

    What is on a node runs and takes room whatever its object says: refusing it would give its room away.
    """
    meta, spec, status = pod.metadata, pod.spec, pod.status
    state = _state(pod)
    scheduler = spec.scheduler_name or "default-scheduler"
    ours = scheduler in schedulers
    mistakes = Mistakes(strict=ours and state is State.PENDING)
    namespace = _checked(meta.namespace or "default", "metadata.namespace", mistakes)
    name = _checked(meta.name, "metadata.name", mistakes)
    node = _checked(spec.node_name, "spec.nodeName", mistakes) if spec.node_name else None
    nominated = status.nominated_node_name if status else None
    if not spec.containers:
        mistakes.note("spec.containers", "found none, allowed is at least one")
    annotations, labels = meta.annotations or {}, meta.labels or {}
    created = moment(meta.creation_timestamp, "metadata.creationTimestamp", mistakes) or 0.0
    shape = shape_of(pod, namespace, mistakes, on_node=node is not None)
    # A bad annotation on a pod that runs already takes it out of its gang and not out of the books.
    membership = _membership(pod, namespace, mistakes)
    # The members of a gang say it in their membership.
    preemptible, patience = _alone(pod, shape.priority, mistakes) if membership is None else (True, None)
    deleted = moment(meta.deletion_timestamp, "metadata.deletionTimestamp", mistakes)
    return Task(
        uid=meta.uid or f"{namespace}/{name}",
        namespace=namespace,
        name=name,
        shape=shape,
        state=state,
        node=node,
        ours=ours,
        scheduler=scheduler,
        created=created,
        started=_started(pod, state, created, mistakes),
        finished=_finished(status, mistakes) if status and state in _FINISHED.values() else None,
        gone_at=deleted if state is State.RELEASING else None,
        grace=_grace(meta, spec),
        owner=next((owner.uid or "" for owner in meta.owner_references or () if owner.controller), None),
        movable=native.movable(annotations, mistakes) and annotations.get(_SAFE_TO_EVICT) != "false",
        membership=membership,
        nominated=_checked(nominated, "status.nominatedNodeName", mistakes) if nominated else None,
        labels=labels,
        repels=constraints.repels(spec.affinity, namespace, mistakes) if spec.affinity else (),
        queue=native.queue(labels, mistakes) or kai_pods.queue(labels, scheduler, mistakes),
        preemptible=preemptible,
        patience=patience,
        evicts=evicts(spec.preemption_policy, "spec.preemptionPolicy", mistakes),
        expected_runtime=native.expected_runtime(annotations, mistakes),
        hold=mistakes.first or (_hold(pod, state) if ours else None),
    )


def _membership(pod: objects.Pod, namespace: str, mistakes: Mistakes) -> Membership | None:
    """Return what a pod says of its gang.

    A pod may have annotations and a reference: Job controllers set `schedulingGroup` on pods of whose annotations
    they know nothing. Then the annotations describe the gang, and the object that it refers to must not object.
    """
    annotations, labels = pod.metadata.annotations or {}, pod.metadata.labels or {}
    referred = workload_pods.membership(pod.spec, namespace, mistakes)
    if referred is None:
        referred = kai_pods.membership(annotations, labels, namespace, mistakes)
    own = native.membership(annotations, namespace, mistakes)
    if referred is None:
        return own
    if own is None or own.minimum is None:
        return native.refine(referred, annotations, mistakes)
    return replace(own, owner=referred.owner, group=referred.group, replica=referred.replica)


def _alone(pod: objects.Pod, priority: int, mistakes: Mistakes) -> tuple[bool, float | None]:
    """Return what a pod in no gang says of itself: whether it may be preempted, and its patience."""
    annotations, scheduler = pod.metadata.annotations or {}, pod.spec.scheduler_name or ""
    preemptible = native.preemptible_alone(annotations, mistakes)
    if preemptible is None:
        preemptible = kai_pods.preemptible_alone(pod.metadata.labels or {}, scheduler, priority, mistakes)
    return preemptible, native.patience_alone(annotations, mistakes)


def _state(pod: objects.Pod) -> State:
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


def _hold(pod: objects.Pod, state: State) -> Hold | None:
    if state is State.PENDING and pod.metadata.deletion_timestamp is not None:
        return Hold("metadata.deletionTimestamp", "it is being deleted")
    return holds.hold(pod)


def _grace(meta: objects.Metadata, spec: objects.PodSpec) -> float:
    for seconds in (meta.deletion_grace_period_seconds, spec.termination_grace_period_seconds):
        if seconds is not None:
            return float(min(max(seconds, 0), _GRACE_MAX))
    return 30.0


def _started(pod: objects.Pod, state: State, created: float, mistakes: Mistakes) -> float | None:
    """Return since when it holds its node: its start, else its binding, else (nobody knows) its creation."""
    if state is State.PENDING:
        return None
    status = pod.status or objects.PodStatus()
    started = moment(status.start_time, "status.startTime", mistakes)
    if started is not None or state not in {State.RUNNING, State.RELEASING}:
        return started
    for index, one in enumerate(status.conditions or ()):
        if one.type == "PodScheduled" and one.status == "True":
            bound = moment(one.last_transition_time, f"status.conditions[{index}].lastTransitionTime", mistakes)
            return created if bound is None else bound
    return created


def _finished(status: objects.PodStatus, mistakes: Mistakes) -> float | None:
    """Return when its last container ended."""
    ends = []
    for index, one in enumerate(status.container_statuses or ()):
        if one.state is not None and one.state.terminated is not None:
            field = f"status.containerStatuses[{index}].state.terminated.finishedAt"
            ends.append(moment(one.state.terminated.finished_at, field, mistakes))
    return max((end for end in ends if end is not None), default=None)
