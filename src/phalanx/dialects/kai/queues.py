"""KAI's Queue (`scheduling.run.ai/v2`): the same tree as ours, in other units and with other defaults."""

from decimal import ROUND_FLOOR, Decimal

from phalanx.dialects.kai import objects as api
from phalanx.dialects.mistakes import FieldError, Mistakes, check_name
from phalanx.dialects.queue_terms import read_parent, read_runtime, read_weight
from phalanx.dialects.timestamps import moment
from phalanx.model.axis import AMOUNT_MAX, CPU, GPU, MEMORY
from phalanx.model.events import QueueSeen
from phalanx.model.quantity import shown
from phalanx.model.queue import UNLIMITED, WEIGHT_ONE, Queue, Terms

GROUP = "scheduling.run.ai"
QUEUE_VERSION = f"{GROUP}/v2"
QUEUE_KIND = f"Queue.{GROUP}"

#: Field -> (our resource, smallest units in one): GPUs are counted in devices, cpu in millicores, memory in megabytes.
_RESOURCES = {"gpu": (GPU, 1000), "cpu": (CPU, 1), "memory": (MEMORY, 10**6)}
#: Both `quota` and `limit` say it so.
_UNLIMITED = -1
_PRIORITY = 100


def read_queue(queue: api.Queue) -> QueueSeen:
    """Return the queue, or raise the first mistake in it."""
    meta, spec = queue.metadata, queue.spec
    check_name(meta.name, "metadata.name")
    if spec.resources is None:
        raise FieldError("spec.resources", "missing")
    found = Queue(
        name=meta.name,
        # KAI takes the empty word for none.
        parent=read_parent(spec.parent_queue or None, meta.name, "spec.parentQueue"),
        priority=_PRIORITY if spec.priority is None else spec.priority,
        terms={ours: _terms(getattr(spec.resources, field), field, units) for field, (ours, units) in _ordered()},
        preempt_min_runtime=read_runtime(spec.preempt_min_runtime, "spec.preemptMinRuntime"),
        reclaim_min_runtime=read_runtime(spec.reclaim_min_runtime, "spec.reclaimMinRuntime"),
        created=moment(meta.creation_timestamp, "metadata.creationTimestamp", Mistakes(strict=True)) or 0.0,
        uid=meta.uid or "",
        kind=QUEUE_KIND,
        parent_field="spec.parentQueue",
    )
    status = queue.status if isinstance(queue.status, dict) else {}
    return QueueSeen(found, QUEUE_VERSION, meta.generation or 0, status)


def _ordered() -> list[tuple[str, tuple[str, int]]]:
    return sorted(_RESOURCES.items(), key=lambda item: item[1][0])


def _terms(given: api.QueueResource | None, name: str, units: int) -> Terms:
    """Return the terms of a resource. KAI's zero values hold: what is left out owns nothing and may use nothing."""
    said, path = given or api.QueueResource(), f"spec.resources.{name}"
    return Terms(
        quota=_amount(said.quota, units, f"{path}.quota"),
        limit=_amount(said.limit, units, f"{path}.limit"),
        weight=_weight(said.over_quota_weight, f"{path}.overQuotaWeight"),
    )


def _weight(value: object, field: str) -> int:
    if value is None:
        return 0
    # Siblings that all say -1 divide as if all said 1.
    return WEIGHT_ONE if value == -1 else read_weight(value, field, exact=False)


def _amount(value: object, units: int, field: str) -> int:
    """Return a number of KAI's units in smallest ones, rounded down."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FieldError(field, f"found {shown(value)}, allowed is a number, or -1 for unlimited")
    if value == _UNLIMITED:
        return UNLIMITED
    if not 0 <= value <= AMOUNT_MAX:
        raise FieldError(field, f"found {shown(value)}, allowed is zero or more, or -1 for unlimited")
    amount = int((Decimal(repr(value)) * units).to_integral_value(ROUND_FLOOR))
    if amount > AMOUNT_MAX:
        raise FieldError(field, f"found {shown(value)}, allowed is at most 2^53 of the smallest unit")
    return amount
