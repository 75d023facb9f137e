"""Pods as KAI's users write them: their PodGroup and subgroup, their queue, and whether they may be preempted."""

from functools import lru_cache

from phalanx.dialects.mistakes import FieldError, Mistakes, check_name, one_of
from phalanx.model.gang import Membership

POD_GROUP = "pod-group-name"
SUBGROUP = "kai.scheduler/subgroup-name"
QUEUE = "kai.scheduler/queue"
PREEMPTIBILITY = "kai.scheduler/preemptibility"
#: Read for pods of KAI's own scheduler name alone: the word is too common.
PROJECT = "project"

SCHEDULER = "kai-scheduler"
DEFAULT_QUEUE = "default-queue"
#: As `Membership.owner` and in messages: Kubernetes has a PodGroup too.
GROUP_KIND = "PodGroup.scheduling.run.ai"
#: From this priority on work is not preempted, unless it says that it may be.
FIXED_FROM = 100

_PREEMPTIBILITY = {"preemptible": True, "non-preemptible": False}


def membership(
    annotations: dict[str, str], labels: dict[str, str], namespace: str, mistakes: Mistakes
) -> Membership | None:
    """Return the PodGroup that a pod refers to, or None when it refers to none (or, noted, in a wrong way)."""
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
    check_name(name, f"metadata.annotations[{POD_GROUP}]")
    if subgroup is not None:
        check_name(subgroup, f"metadata.labels[{SUBGROUP}]")
    full = f"{namespace}/{name}"
    return Membership(full, None, subgroup=subgroup, owner=f"{GROUP_KIND} {full}", group=name)


def queue(labels: dict[str, str], scheduler: str, mistakes: Mistakes) -> str | None:
    """Return the queue that a pod names, or the one that KAI puts it in."""
    own = scheduler == SCHEDULER
    for key in (QUEUE, PROJECT) if own else (QUEUE,):
        name = labels.get(key)
        if name:
            try:
                check_name(name, f"metadata.labels[{key}]")
            except FieldError as mistake:
                mistakes.note(mistake.field, mistake.message)
                return None
            return name
    return DEFAULT_QUEUE if own else None


def preemptible_alone(labels: dict[str, str], scheduler: str, priority: int, mistakes: Mistakes) -> bool:
    """Tell whether a pod in no gang may be preempted."""
    said = None
    try:
        said = preemptible(labels.get(PREEMPTIBILITY), f"metadata.labels[{PREEMPTIBILITY}]")
    except FieldError as mistake:
        mistakes.note(mistake.field, mistake.message)
    if said is not None:
        return said
    return scheduler != SCHEDULER or priority < FIXED_FROM


def preemptible(word: str | None, field: str) -> bool | None:
    """Return what a word says of preemption; None: nothing."""
    if not word:
        return None
    if word not in _PREEMPTIBILITY:
        raise FieldError(field, one_of(word, tuple(_PREEMPTIBILITY)))
    return _PREEMPTIBILITY[word]
