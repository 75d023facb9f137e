"""What stands in a Queue's status, and what must be sent so that it does. Nothing here talks to anybody."""

from collections.abc import Mapping
from typing import Any

from phalanx.kube.queue_figures import QueueFigures
from phalanx.model.axis import Int
from phalanx.model.quantity import written
from phalanx.model.reference import Reference
from phalanx.world.queues import Queues

READY = "Ready"
MESSAGE_MAX = 1024
#: The keys that are ours to write; `usage` has a pace of its own.
AMOUNTS = ("allocated", "requested", "share")

Status = dict[str, Any]


def amounts_of(figures: QueueFigures, row: int) -> Status:
    """Return the figures of a queue that is in order, as canonical quantities."""
    table = figures.table

    def shown(array: Int) -> dict[str, str]:
        return {name: written(amount, name) for name, amount in zip(table.resources, array[row].tolist(), strict=True)}

    values = (table.allocated, table.requested, figures.share)
    return {
        **{name: shown(array) for name, array in zip(AMOUNTS, values, strict=True)},
        "pending": int(figures.pending[row]),
    }


def reason_of(queues: Queues, thing: Reference) -> str:
    """Return the one word for what is wrong with an object that is set aside."""
    if thing not in queues.seen:
        return "Invalid"
    queue = queues.seen[thing].queue
    same_name = [one.queue for one in queues.seen.values() if one.queue.name == queue.name]
    if min(same_name, key=lambda one: (one.created, one.kind)) is not queue:
        return "Duplicate"
    parents: dict[str | None, str | None] = {one.queue.name: one.queue.parent for one in queues.seen.values()}
    unreadable = {thing.full_name for thing in queues.refused}
    if queue.parent not in parents and queue.parent not in unreadable:
        return "MissingParent"
    passed, at = {queue.name}, queue.parent
    while at is not None and at not in passed:
        passed.add(at)
        at = parents.get(at)
    return "Cycle" if at == queue.name else "ParentSetAside"


def condition(old: Mapping[str, Any], problem: tuple[str, str] | None, generation: int, now: str) -> Status:
    """Return the condition `Ready`: the reason and the sentence of a problem, or None where all is well."""
    reason, message = problem or ("InOrder", "")
    status = "False" if problem else "True"
    since = old.get("lastTransitionTime") if old.get("status") == status else None
    return {
        "type": READY, "status": status, "reason": reason, "message": message[:MESSAGE_MAX],
        "observedGeneration": generation, "lastTransitionTime": since or now,
    }  # fmt: skip


def ready_of(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the condition that stands there now; empty when there is none."""
    return next((one for one in _conditions(status) if one.get("type") == READY), {})


def with_ready(status: Mapping[str, Any], ready: Status) -> list[Mapping[str, Any]]:
    """Return the conditions with ours in its place; others' stay."""
    return [*(one for one in _conditions(status) if one.get("type") != READY), ready]


def _conditions(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = status.get("conditions")
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return what turns the old into the new by the rules of a merge patch: a key that must go is null."""
    patch: dict[str, Any] = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            inner = merge_patch(before, value)
            if inner:
                patch[name] = inner
        elif name not in old or before != value:
            patch[name] = value
    return patch
