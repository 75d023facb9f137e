"""Our own Queue (`scheduling.phalanx.dev`): what a node of the queue tree owns."""

from collections.abc import Mapping
from typing import Any, get_args

from phalanx.dialects.mistakes import (
    RESOURCE_ALLOWED,
    FieldError,
    Mistakes,
    check_name,
    is_resource,
    one_of,
    under,
)
from phalanx.dialects.native.queue_objects import Queue as Written
from phalanx.dialects.native.queue_objects import QueueSpec
from phalanx.dialects.queue_terms import read_parent, read_runtime, read_weight
from phalanx.dialects.timestamps import moment
from phalanx.model.events import QueueSeen
from phalanx.model.quantity import QuantityError, capacity, shown
from phalanx.model.queue import UNLIMITED, WEIGHT_ONE, Placement, Queue, Terms

GROUP = "scheduling.phalanx.dev"
VERSION = f"{GROUP}/v1alpha1"
KIND = "Queue"

UNLIMITED_WORD = "unlimited"
TERMS = ("quota", "limit", "weight")
PLACEMENTS: tuple[Placement, ...] = get_args(Placement)
#: Who may name the queue: anybody in its namespaces, or of those who has the verb `use` on it.
ANYBODY, GRANTED = ACCESSES = ("anybody", "granted")
#: The verb on a Queue that `access: granted` asks for.
USE = "use"


def read_queue(queue: Written) -> QueueSeen:
    """Return the queue, or raise the first mistake in it."""
    meta, spec = queue.metadata, queue.spec or QueueSpec()
    check_name(meta.name, "metadata.name")
    found = Queue(
        name=meta.name,
        parent=read_parent(spec.parent, meta.name, "spec.parent"),
        priority=spec.priority or 0,
        terms=_resources(spec.resources or {}),
        borrowing=spec.borrowing is not False,
        consolidation=spec.consolidation is not False,
        preempt_min_runtime=read_runtime(spec.preempt_min_runtime, "spec.preemptMinRuntime"),
        reclaim_min_runtime=read_runtime(spec.reclaim_min_runtime, "spec.reclaimMinRuntime"),
        namespaces=_namespaces(spec.namespaces),
        granted=_access(spec.access) == GRANTED,
        placement=_placement(spec.placement),
        created=moment(meta.creation_timestamp, "metadata.creationTimestamp", Mistakes(strict=True)) or 0.0,
        uid=meta.uid or "",
    )
    status = queue.status if isinstance(queue.status, dict) else {}
    return QueueSeen(found, VERSION, meta.generation or 0, status)


def _resources(given: Mapping[str, Any]) -> dict[str, Terms]:
    terms = {}
    for name, values in sorted(given.items()):
        path = under("spec.resources", name)
        if not is_resource(name):
            raise FieldError(path, f"found {shown(name)}, allowed is {RESOURCE_ALLOWED}")
        terms[name] = _terms(values, name, path)
    return terms


def _terms(values: Any, name: str, path: str) -> Terms:
    if not isinstance(values, dict | None):
        raise FieldError(path, f"found {shown(values)}, allowed is a map of {', '.join(TERMS)}")
    said = {key: value for key, value in (values or {}).items() if value is not None}
    for key in said:
        if key not in TERMS:
            raise FieldError(under(path, str(key)), f"unknown, allowed is {', '.join(TERMS)}")
    quota = _amount(said["quota"], name, f"{path}.quota") if "quota" in said else 0
    limit = _amount(said["limit"], name, f"{path}.limit") if "limit" in said else UNLIMITED
    weight = read_weight(said["weight"], f"{path}.weight") if "weight" in said else WEIGHT_ONE
    if quota > limit:
        raise FieldError(
            f"{path}.quota",
            f"found {shown(said['quota'])}, allowed is at most the limit, which is {shown(said['limit'])}",
        )
    return Terms(quota, limit, weight)


def _amount(value: object, name: str, field: str) -> int:
    if value == UNLIMITED_WORD:
        return UNLIMITED
    try:
        return capacity(value, name)
    except QuantityError as error:
        raise FieldError(field, f"{error}, or the word {UNLIMITED_WORD}") from None


def _namespaces(listed: list[str] | None) -> frozenset[str] | None:
    if listed is None:
        return None
    if not listed:
        raise FieldError("spec.namespaces", "found none, allowed is at least one; left out, it means any")
    for index, name in enumerate(listed):
        field = f"spec.namespaces[{index}]"
        check_name(name, field)
        if name in listed[:index]:
            raise FieldError(field, f"found {shown(name)} again, allowed is each namespace once")
    return frozenset(listed)


def _access(word: str | None) -> str:
    if word is not None and word not in ACCESSES:
        raise FieldError("spec.access", one_of(word, ACCESSES))
    return word or ANYBODY


def _placement(word: str | None) -> Placement | None:
    found = next((one for one in PLACEMENTS if one == word), None)
    if word is not None and found is None:
        raise FieldError("spec.placement", one_of(word, PLACEMENTS))
    return found
