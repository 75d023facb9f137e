"""The fields of our own Queue object. A field that is not here is refused: a slip would leave a quota ungoverned."""

from typing import Any

from msgspec import Struct

from phalanx.dialects.core import objects


class QueueSpec(Struct, gc=False, rename="camel", forbid_unknown_fields=True):
    """What a Queue says."""

    parent: str | None = None
    priority: objects.Int32 | None = None
    #: By resource name; checked by hand, so that a message can name the very field.
    resources: dict[str, Any] | None = None
    borrowing: bool | None = None
    consolidation: bool | None = None
    preempt_min_runtime: str | None = None
    reclaim_min_runtime: str | None = None
    namespaces: list[str] | None = None
    access: str | None = None
    placement: str | None = None


class Queue(Struct, gc=False):
    """A Queue. Its status is ours, and is looked at by whoever wrote it."""

    metadata: objects.Versioned
    spec: QueueSpec | None = None
    status: Any = None
