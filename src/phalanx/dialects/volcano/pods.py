"""Pods as Volcano's users and controllers write them: their PodGroup and task, their queue, and who may evict them."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from phalanx.dialects.core.pod_objects import Pod
from phalanx.dialects.dialect import QueueName
from phalanx.dialects.mistakes import FieldError, Mistakes, check_name, one_of
from phalanx.dialects.volcano.hyper_nodes import HARD, MODES, NEAREST, TREE
from phalanx.model.gang import Membership, PodFields
from phalanx.model.keys import annotation, label
from phalanx.model.quantity import shown
from phalanx.model.reference import Reference

SCHEDULER = "volcano"
GROUP = "scheduling.volcano.sh"
#: As in a `Reference`: Kubernetes and KAI have a PodGroup too.
GROUP_KIND = f"PodGroup.{GROUP}"

#: Volcano's scheduler reads the first; people write the second too.
GROUP_NAMES = ("scheduling.k8s.io/group-name", f"{GROUP}/group-name")
GROUP_MINIMUM = f"{GROUP}/group-min-member"
QUEUE = f"{GROUP}/queue-name"
TASK = "volcano.sh/task-spec"
PREEMPTABLE = "volcano.sh/preemptable"
TOPOLOGY_MODE = "volcano.sh/network-topology-mode"
TOPOLOGY_TIER = "volcano.sh/network-topology-highest-tier"

COUNT_ALLOWED = f"a whole number from 0 to {2**31 - 1}"
#: The words that Go takes for a truth.
_TRUTHS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def references(pod: Pod) -> list[str]:
    """Return the field by which a pod refers to a PodGroup."""
    key = _group_key(pod)
    return [] if key is None else [annotation(key)]


def membership(pod: Pod, namespace: str, mistakes: Mistakes) -> Membership | None:
    """Return the PodGroup that a pod refers to, or None when it refers to none (or, noted, in a wrong way)."""
    key = _group_key(pod)
    if key is None:
        return None
    annotations, labels = pod.metadata.annotations or {}, pod.metadata.labels or {}
    task = annotations.get(TASK) or labels.get(TASK) or None
    try:
        return _membership(namespace, key, annotations[key], task, _preemptible(pod) is not False)
    except FieldError as mistake:
        mistakes.note(mistake.field, mistake.message)
        return None


def otherwise(pod: Pod, namespace: str, mistakes: Mistakes) -> Membership | None:
    """Return the group that Volcano's controller makes for a pod which names none: that of its owner.

    It asks for one pod, or for as many as the annotation says. A pod without an owner is alone anyhow.
    """
    annotations = pod.metadata.annotations or {}
    said = annotations.get(GROUP_MINIMUM)
    owner = next((one.uid for one in pod.metadata.owner_references or () if one.controller and one.uid), None)
    if pod.spec.scheduler_name != SCHEDULER or (owner is None and said is None):
        return None
    try:
        minimum = _count(said, annotation(GROUP_MINIMUM)) if said is not None else 1
        found = _of_owner(
            namespace, owner or pod.metadata.uid or pod.metadata.name, minimum, _preemptible(pod) is not False
        )
        return _near(found, annotations) if TOPOLOGY_MODE in annotations or TOPOLOGY_TIER in annotations else found
    except FieldError as mistake:
        mistakes.note(mistake.field, mistake.message)
        return None


def queue(pod: Pod, mistakes: Mistakes) -> QueueName | None:
    """Return the queue that a pod names. Its PodGroup's counts before it."""
    name = (pod.metadata.annotations or {}).get(QUEUE)
    if not name:
        return None
    try:
        check_name(name, annotation(QUEUE))
    except FieldError as mistake:
        mistakes.note(mistake.field, mistake.message)
        return None
    return QueueName(name, annotation(QUEUE))


def preemptible_alone(pod: Pod, mistakes: Mistakes) -> bool | None:
    """Tell whether a pod in no gang may be evicted for others; None: nothing says so."""
    try:
        return _preemptible(pod)
    except FieldError as mistake:
        mistakes.note(mistake.field, mistake.message)
        return None


def truth(annotations: dict[str, str] | None, labels: dict[str, str] | None, key: str) -> bool | None:
    """Return what an annotation, or else a label, says; None: neither is there."""
    for place, said in ((annotation(key), annotations), (label(key), labels)):
        word = (said or {}).get(key)
        if word is not None:
            if word not in _TRUTHS:
                raise FieldError(place, one_of(word, ("true", "false")))
            return _TRUTHS[word]
    return None


def _preemptible(pod: Pod) -> bool | None:
    return truth(pod.metadata.annotations, pod.metadata.labels, PREEMPTABLE)


def _group_key(pod: Pod) -> str | None:
    annotations = pod.metadata.annotations
    return next((key for key in GROUP_NAMES if annotations.get(key)), None) if annotations else None


@lru_cache(maxsize=8192)
def _membership(namespace: str, key: str, name: str, task: str | None, preemptible: bool) -> Membership:
    """Read a reference. The pods of a task have the same one, so it is done once."""
    check_name(name, annotation(key))
    full = f"{namespace}/{name}"
    fields = PodFields(object=annotation(key), group=annotation(key), subgroup=annotation(TASK))
    return Membership(
        full, None, subgroup=task, preemptible=preemptible, owner=Reference(GROUP_KIND, full), group=name, fields=fields
    )


@lru_cache(maxsize=8192)
def _of_owner(namespace: str, owner: str, minimum: int, preemptible: bool) -> Membership:
    # Zero asks for nothing: each of its pods for itself, which a minimum of one is too.
    return Membership(f"{namespace}/podgroup-{owner}", max(minimum, 1), preemptible=preemptible)


def _near(found: Membership, annotations: Mapping[str, str]) -> Membership:
    """Return the group with the topology that its controller would copy from the pod: hard, unless it says soft."""
    mode, tier = annotations.get(TOPOLOGY_MODE, HARD).lower(), annotations.get(TOPOLOGY_TIER)
    if mode not in MODES:
        raise FieldError(annotation(TOPOLOGY_MODE), one_of(annotations[TOPOLOGY_MODE], MODES))
    highest = _count(tier, annotation(TOPOLOGY_TIER)) if tier is not None else None
    required = highest if mode == HARD else None
    return replace(found, topology_required=required, topology_preferred=NEAREST, topology=TREE)


def _count(text: str, field: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and int(text) < 2**31):
        raise FieldError(field, f"found {shown(text)}, allowed is {COUNT_ALLOWED}, in quotes")
    return int(text)
