"""Pods as KAI's users write them: their PodGroup and subgroup, their queue, and whether they may be preempted."""

from functools import lru_cache

from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.dialect import QueueName
from phalanx.dialects.mistakes import FieldError, Mistakes, check_name, one_of
from phalanx.model.gang import Membership, PodFields
from phalanx.model.keys import annotation, label
from phalanx.model.reference import Reference

POD_GROUP = "pod-group-name"
SUBGROUP = "kai.scheduler/subgroup-name"
QUEUE = "kai.scheduler/queue"
PREEMPTIBILITY = "kai.scheduler/preemptibility"
#: Read for pods of KAI's own scheduler name alone: the word is too common.
PROJECT = "project"

SCHEDULER = "kai-scheduler"
DEFAULT_QUEUE = "default-queue"
#: As in a `Reference`: Kubernetes has a PodGroup too.
GROUP_KIND = "PodGroup.scheduling.run.ai"
#: From this priority on work is not preempted, unless it says that it may be.
FIXED_FROM = 100

FIELDS = PodFields(object=annotation(POD_GROUP), group=annotation(POD_GROUP), subgroup=label(SUBGROUP))

_PREEMPTIBILITY = {"preemptible": True, "non-preemptible": False}


def references(pod: Pod) -> list[str]:
    """Return the fields by which a pod refers to a group."""
    return [annotation(POD_GROUP)] if POD_GROUP in (pod.metadata.annotations or ()) else []


def membership(pod: Pod, namespace: str, mistakes: Mistakes) -> Membership | None:
    """Return the PodGroup that a pod refers to, or None when it refers to none (or, noted, in a wrong way)."""
    annotations, labels = pod.metadata.annotations or {}, pod.metadata.labels or {}
    if POD_GROUP not in annotations:
        return None
    try:
        return _membership(namespace, annotations[POD_GROUP], labels.get(SUBGROUP))
    except FieldError as mistake:
        mistakes.note(mistake.field, mistake.message)
        return None


@lru_cache(maxsize=8192)
def _membership(namespace: str, name: str, subgroup: str | None) -> Membership:
    """Read a reference. The pods of a gang have the same one, so it is done once."""
    check_name(name, FIELDS.group)
    if subgroup is not None:
        check_name(subgroup, FIELDS.subgroup)
    full = f"{namespace}/{name}"
    owner = Reference(GROUP_KIND, full)
    return Membership(full, None, subgroup=subgroup, owner=owner, group=name, fields=FIELDS)


def queue(pod: Pod, mistakes: Mistakes) -> QueueName | None:
    """Return the queue that a pod names, or the one that KAI puts it in."""
    labels, own = pod.metadata.labels or {}, pod.spec.scheduler_name == SCHEDULER
    for key in (QUEUE, PROJECT) if own else (QUEUE,):
        name = labels.get(key)
        if name:
            try:
                check_name(name, label(key))
            except FieldError as mistake:
                mistakes.note(mistake.field, mistake.message)
                return None
            return QueueName(name, label(key))
    return QueueName(DEFAULT_QUEUE, None) if own else None


def preemptible_alone(pod: Pod, priority: int, mistakes: Mistakes) -> bool | None:
    """Tell whether a pod in no gang may be preempted; None: nothing says so."""
    said = None
    try:
        said = preemptible((pod.metadata.labels or {}).get(PREEMPTIBILITY), label(PREEMPTIBILITY))
    except FieldError as mistake:
        mistakes.note(mistake.field, mistake.message)
    if said is None and pod.spec.scheduler_name == SCHEDULER:
        return priority < FIXED_FROM
    return said


def preemptible(word: str | None, field: str) -> bool | None:
    """Return what a word says of preemption; None: nothing."""
    if not word:
        return None
    if word not in _PREEMPTIBILITY:
        raise FieldError(field, one_of(word, tuple(_PREEMPTIBILITY)))
    return _PREEMPTIBILITY[word]
