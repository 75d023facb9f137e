"""Volcano's Queue (`scheduling.volcano.sh/v1beta1`): its weight, what it deserves, what is kept for it, its bounds."""

import re
from collections.abc import Mapping

from phalanx.dialects.mistakes import FieldError, Mistakes, check_name, one_of
from phalanx.dialects.queue_terms import read_parent
from phalanx.dialects.timestamps import moment
from phalanx.dialects.volcano import objects as api
from phalanx.dialects.volcano.amounts import read_amounts
from phalanx.dialects.volcano.groups import DEFAULT_QUEUE, VERSION
from phalanx.dialects.volcano.pods import GROUP
from phalanx.model.axis import CPU, GPU, MEMORY
from phalanx.model.events import QueueSeen
from phalanx.model.keys import annotation
from phalanx.model.quantity import shown, written
from phalanx.model.queue import UNLIMITED, WEIGHT_ONE, Queue, Terms

QUEUE_KIND = f"Queue.{GROUP}"
ROOT = "root"
OPEN, CLOSED, CLOSING, UNKNOWN = STATES = ("Open", "Closed", "Closing", "Unknown")
#: Governed in every queue, whether or not it names them: a queue that says no more than its weight divides these.
ALWAYS = (CPU, MEMORY, GPU)

_HIERARCHY, _WEIGHTS = "volcano.sh/hierarchy", "volcano.sh/hierarchy-weights"
_NUMBER = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?")
_STRATEGIES = ("fifo", "traverse")


def read_queue(queue: api.Queue) -> QueueSeen:
    """Return the queue, or raise the first mistake in it."""
    meta, spec = queue.metadata, queue.spec or api.QueueSpec()
    check_name(meta.name, "metadata.name")
    if spec.dequeue_strategy not in {None, "", *_STRATEGIES}:
        raise FieldError("spec.dequeueStrategy", one_of(spec.dequeue_strategy, _STRATEGIES))
    _check_hierarchy(meta.annotations or {})
    status = queue.status if isinstance(queue.status, Mapping) else {}
    found = Queue(
        name=meta.name,
        parent=_parent(meta.name, spec.parent or None),
        priority=spec.priority or 0,
        terms=_terms(meta.name, spec),
        reclaimable=spec.reclaimable is not False,
        hold=_hold(spec, status),
        companions=_COMPANIONS,
        created=moment(meta.creation_timestamp, "metadata.creationTimestamp", Mistakes(strict=True)) or 0.0,
        uid=meta.uid or "",
        kind=QUEUE_KIND,
    )
    return QueueSeen(found, VERSION, meta.generation or 0, status)


def _check_hierarchy(annotations: Mapping[str, str]) -> None:
    """Refuse what Volcano's webhook refuses: as many weights above zero as there are steps of the path."""
    path, weights = annotations.get(_HIERARCHY, ""), annotations.get(_WEIGHTS, "")
    if not (path or weights):
        return
    found = weights.split("/")
    if len(found) != len(path.split("/")):
        said = f"found {shown(weights)}, allowed are as many weights as {_HIERARCHY} has steps"
        raise FieldError(annotation(_WEIGHTS), said)
    for weight in found:
        if not (_NUMBER.fullmatch(weight) and float(weight) > 0):
            raise FieldError(annotation(_WEIGHTS), f"found {shown(weight)}, allowed is a number above 0")


def _parent(name: str, said: str | None) -> str | None:
    """Return the queue above: every queue but the root is below the root."""
    parent = read_parent(said, name, "spec.parent")
    if name == ROOT:
        if parent is not None:
            raise FieldError("spec.parent", f"found {shown(parent)}, allowed is none: {ROOT} is above all others")
        return None
    return parent or ROOT


def _terms(name: str, spec: api.QueueSpec) -> dict[str, Terms]:
    """Return what the queue owns of each resource: what it deserves, or where it says nothing its guarantee."""
    bound = read_amounts(spec.capability, "spec.capability")
    deserved = read_amounts(spec.deserved, "spec.deserved")
    kept = read_amounts((spec.guarantee or api.Guarantee()).resource, "spec.guarantee.resource")
    for resource, amount in kept.items():
        _at_most(amount, deserved.get(resource), resource, "spec.guarantee.resource", "spec.deserved")
        _at_most(amount, bound.get(resource), resource, "spec.guarantee.resource", "spec.capability")
    for resource, amount in deserved.items():
        _at_most(amount, bound.get(resource), resource, "spec.deserved", "spec.capability")
    always = () if name == ROOT else ALWAYS
    return {
        resource: Terms(
            quota=deserved.get(resource, kept.get(resource, 0)),
            limit=bound.get(resource, UNLIMITED),
            weight=(spec.weight or 1) * WEIGHT_ONE,
            reserved=kept.get(resource, 0),
        )
        for resource in sorted({*always, *bound, *deserved, *kept})
    }


def _at_most(amount: int, most: int | None, resource: str, path: str, other: str) -> None:
    if most is not None and amount > most:
        raise FieldError(
            f"{path}[{resource}]",
            f"found {written(amount, resource)}, allowed is at most {written(most, resource)}, as {other} says",
        )


def _hold(spec: api.QueueSpec, status: Mapping[str, object]) -> str | None:
    """Return why nothing may start in the queue. One that no controller has opened yet is open."""
    state = status.get("state")
    if state not in {None, "", OPEN}:
        return f"status.state: {shown(state)}, and only an {OPEN} queue takes new work"
    affinity = spec.affinity or api.QueueAffinity()
    for name, groups in (
        ("nodeGroupAffinity", affinity.node_group_affinity),
        ("nodeGroupAntiAffinity", affinity.node_group_anti_affinity),
    ):
        if groups is not None and groups.required:
            return f"spec.affinity.{name}.requiredDuringSchedulingIgnoredDuringExecution: not honoured by this version"
    return None


_COMPANIONS = (
    Queue(ROOT, kind=QUEUE_KIND),
    Queue(DEFAULT_QUEUE, ROOT, terms=_terms(DEFAULT_QUEUE, api.QueueSpec()), kind=QUEUE_KIND),
)
